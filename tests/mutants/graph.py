"""Mutations of products over semirings and of graph algorithms."""
from mutants import mutant


def graph(name, file, old, new, filter):
    return mutant("graph: " + name, file, old, new, test="graph", filter=filter, seeds=[1])


MUTANTS = [
    graph("marks of a row stay", "src/graph/products.cpp", "for (offset_t p = begin; p < end; ++p) marks.marked[mask.col[p]] = 0;", "for (offset_t p = begin + 1; p < end; ++p) marks.marked[mask.col[p]] = 0;", "MaskedProduct.*"),
    graph("complement: marks of the mask stay", "src/graph/products.cpp", "++p) place[mask_.col[p]] = -1;\n    }", "++p) place[mask_.col[p]] = -2;\n    }", "MaskedProduct.*"),
    graph("a later product replaces the sum", "src/graph/products.cpp", "has[at] ? S::add(sum[at], product) : product", "product", "MaskedProduct.*"),
    graph("rows that are not sorted are searched", "src/graph/products.cpp", "return b.sorted &&", "return", "MaskedProduct.SearchesLongRows"),
    graph("a search leaves out duplicates", "src/graph/products.cpp", "for (; r < row_end && b.col[r] == mask.col[p]; ++r) add", "if (r < row_end && b.col[r] == mask.col[p]) add", "MaskedProduct.*"),
    graph("plus_second takes the first", "src/graph/semirings.hpp", "static constexpr V times(V, V b) { return b; }", "static constexpr V times(V b, V) { return b; }", "SemiringProduct.*"),
    graph("triangles: an edge of equal lists counts twice", "src/graph/cpu/triangles.cpp", "end - first == length && u >= v", "end - first == length && u > v + 1", "Triangles.*"),
    graph("triangles: marks stay", "src/graph/cpu/triangles.cpp", "mark[lists.col[p]] = 0;", "mark[lists.col[p]] &= 1;", "Triangles.*"),
    graph("triangles: entries above the diagonal need no mirror image", "src/graph/cpu/undirected.cpp", "return symmetric && surplus == 0;", "return symmetric;", "Triangles.*"),
    graph("triangles: a directed graph passes", "src/graph/cpu/triangles.cpp", "    require_undirected(q, edges, a.rows);\n", "", "Triangles.*"),
    graph("rank: what dangles is lost", "src/graph/ops.hpp", "return {{change < 0 ? -change : change, dangles[i] * v}};", "return {{change < 0 ? -change : change, 0 * v}};", "PageRank.*"),
    graph("paths: negative weights pass", "src/graph/ops.hpp", "if (!(a.value[p] >= 0) ||", "if (!(a.value[p] >= -2) ||", "ShortestPaths.*"),
    graph("cores: self loops are neighbours", "src/graph/cores.cpp", "(edges.has(v, v) ? 1 : 0)", "(edges.has(v, v) ? 0 : 0)", "CoreNumbers.*"),
    graph("cores: places of two vertices are not exchanged", "src/graph/cores.cpp", "std::swap(at(place_, v), at(place_, other));", "at(place_, v) = to;", "CoreNumbers.*"),
    graph("paths: the largest parent", "src/graph/paths.cpp", "std::sort(next_.begin(), next_.end());", "std::sort(next_.rbegin(), next_.rend());", "BreadthFirst.*"),
    graph("paths: words of the last level stay", "src/graph/paths.cpp", "        fresh_.remove(next_);\n", "", "BreadthFirst.*"),
    graph("rank: unequal weights do not matter", "src/graph/cpu/rank_by_pattern.cpp", "return v == *first;", "return v >= 0 * *first;", "PageRank.*"),
    graph("rank: what vertices without edges have is lost", "src/graph/cpu/rank_by_pattern.cpp", "here.edge_share[i] == 0 ? v : 0", "here.edge_share[i] < 0 ? v : 0", "PageRank.*"),
    graph("ops: entries of one matrix alone multiply too", "src/graph/matrix_ops.hpp", "if (either || (from_a && from_b))", "if (either || (from_a || from_b))", "*GraphOpsOn*"),
    graph("ops: what was assigned over stays", "src/graph/matrix_ops.hpp", "outside[i] == 0 || to < 0 :", "outside[i] == 0 || to < 1 :", "*GraphOpsOn*"),
    graph("ops: columns of a Kronecker product are counted by rows", "src/graph/matrix_ops.hpp", "a.col[p] * b_cols + b.col[r]", "a.col[p] * b_rows + b.col[r]", "*GraphOpsOn*"),
    graph("ops: a column may be named twice", "src/graph/matrix_ops.cpp", "require<ValueError>(at < 0, [&]", "require<ValueError>(at < n, [&]", "*GraphOpsOn*"),
    graph("ops: a push adds products of the next row", "src/graph/matrix_ops.hpp", "l < products && row[l] == row[k]; ++l)", "l < products && row[l] <= row[k] + 1; ++l)", "*GraphOpsOn*"),
    graph("ops: a pull with columns that x does not have", "src/graph/matrix_ops.hpp", "if (place[a.col[p]] < 0) continue;", "if (place[a.col[p]] < -1) continue;", "*GraphOpsOn*"),
    graph("ops: indices of a sparse vector may be equal", "src/graph/matrix_ops.hpp", "index[k - 1] < index[k])", "index[k - 1] <= index[k])", "*GraphOpsOn*"),
    graph("components: the larger name", "src/graph/paths.cpp", "[static_cast<std::size_t>(std::max(u, v))] = std::min(u, v);", "[static_cast<std::size_t>(std::min(u, v))] = std::max(u, v);", "Components.*"),
    graph("select: an infinite factor meets places without an entry", "src/graph/cpu/multiply_select.cpp", "blocks.is_made() && std::isfinite(factor)", "blocks.is_made()", "Select.*"),
    graph("select: entries of a block in the wrong place", "src/graph/cpu/bcsr.hpp", "+ b.col[p] % block_cols] +=", "+ (b.col[p] + 1) % block_cols] +=", "Select.*"),
    graph("select: entries above the threshold of the last block only", "src/graph/cpu/dense_row.hpp", "above_ += total<offset_t>(count);", "above_ = total<offset_t>(count);", "Select.*"),
    graph("select: the sum of a row is taken as known although values are negative", "src/graph/cpu/multiply_select.cpp", "others += !(m.value[p] >= 0 &&", "others += !(m.value[p] >= -1000 &&", "Select.*"),
    graph("select: sums of rows of B are not multiplied", "src/graph/cpu/multiply_select.cpp", "static_cast<double>(a.value[p]) * of_b_.data()[a.col[p]]", "of_b_.data()[a.col[p]]", "Select.*"),
    graph("select: a list that ends at the threshold serves a lower cutoff", "src/graph/cpu/dense_row.hpp", "if (cutoff < listed_from_) collect(cutoff);", "if (listed_from_ == ~Key{0}) collect(cutoff);", "Select.*"),
    graph("order: nobody joins", "src/graph/order.cpp", "if (gain > best) best", "if (gain > best + all_) best", "Order.*"),
    graph("cluster: the order is not undone", "src/graph/cluster.cpp", "at(place, order[k]) = static_cast<index_t>(k);", "place[k] = static_cast<index_t>(k + 0 * order.size());", "*ClusterOn*"),
    graph("select: a cutoff that nothing may equal", "src/graph/cpu/multiply_select.cpp", "key_of(work.sum[j]) >= cutoff", "key_of(work.sum[j]) > cutoff", "*SelectOn*"),
    graph("select: sums of entries that go stay", "src/graph/cpu/multiply_select.cpp", "        else work.sum[j] = V(0);\n", "", "*SelectOn*"),
    graph("select: nothing is recovered", "src/graph/select.hpp", "above < rule.recover && row.mass(rule.threshold) < enough", "above < 0 && row.mass(rule.threshold) < enough", "*SelectOn*"),
    graph("select: the last bit of the k-th largest is lost", "src/graph/cuda/select_rows.cu", "bit > 0; bit >>= 1)", "bit > 1; bit >>= 1)", "*SelectOn.KeepsWhatTheRuleSays/cuda_sim"),
    graph("select: rows of a chunk are counted from 0", "src/graph/select.cpp", "rule.first_row = first;", "rule.first_row = 0 * first;", "*SelectOn*"),
    graph("cluster: chaos without the number of entries", "src/graph/cpu/inflate.cpp", "return (largest - squares) * static_cast<double>(row.size());", "return (largest - squares) * 0.0;", "*ClusterOn*"),
    graph("cluster: no self loops", "src/graph/cluster.cpp", "if (!has_self) add(i, largest);", "", "*ClusterOn*"),
    graph("levels: a push from every level", "src/graph/cuda/search.cu", "level[u] != last) return;", "level[u] < 0) return;", "GraphsOnAGpu.AreThose*"),
    graph("triangles on a GPU: every edge in both directions", "src/graph/ops.hpp", "degree(v) < degree(u) : v < u;", "degree(v) < degree(u) : v <= u;", "GraphsOnAGpu.Triangles*"),
    graph("components: names are not shortened or compared", "src/graph/ops.hpp", "return {{next[v] != before[v] ? 1.0 : 0.0}};", "return {{0.0}};", "GraphsOnAGpu.AreThose*"),
    # second rounds, narrow types
    graph("inflate: the largest of the first 32 entries", "src/graph/cuda/inflate.cu", "for (offset_t p = begin; p < end; p += warp) most = max", "for (offset_t p = begin; p < end && p < begin + 1; p += warp) most = max", "*RowsLongerThanAWarp/cuda*"),
    graph("inflate: the first 32 entries of a row", "src/graph/cuda/inflate.cu", "for (offset_t p = begin; p < end; p += warp) value[p] =", "for (offset_t p = begin; p < end && p < begin + 1; p += warp) value[p] =", "*RowsLongerThanAWarp/cuda*"),
    graph("select: a second block overwrites the first", "src/graph/cpu/multiply_select.cpp", "Block& block = mine.back();", "Block& block = mine.front();", "Select.KeepsManyBlocksOfRows"),
    graph("select: a threshold of 64 bits is rounded down", "src/graph/select.hpp", "if (static_cast<double>(cut) < s.threshold) cut", "if (false) cut", "*ThresholdsBetweenFloats*"),
]
