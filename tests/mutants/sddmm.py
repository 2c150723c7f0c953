"""Mutations of SDDMM and of sparse attention."""
from mutants import mutant

BATTERY = "*SddmmOn.IsExactForIntegers/cuda*"
TILES = "*TilesOfEveryShape/cuda*"
TENSOR = "*SddmmTensorOn*/cuda*"
ATTENTION = "*AttentionOn.IsTheSoftmax*/cuda*"


def sddmm(name, file, old, new, filter=BATTERY, **more):
    return mutant("sddmm: " + name, file, old, new, test="sddmm", filter=filter, seeds=more.pop("seeds", [1, 2, 3]), **more)


MUTANTS = [
    sddmm("early: X is read while the kernel ahead writes it", "src/sddmm/cuda/sample.cu", "    wait_for_earlier_kernels();\n", "", filter="*SddmmChainOn*"),
    sddmm("early: Q is read while the kernel ahead writes it", "src/sddmm/cuda/attend.cu", "    wait_for_earlier_kernels();\n", "", filter="*SddmmChainOn*"),
    sddmm("early: new values pass for settled", "src/sddmm/sddmm.cpp", "    s.settled = false;\n", "", filter="*SddmmChainOn*", build="sim-asan"),
    sddmm("a batch that ends in another row passes for one row's", "src/sddmm/cuda/dots.cuh", "same_row = row[0] == row[batch<Lanes> - 1]", "same_row = row[0] == row[1]"),
    sddmm("ahead: a batch that ends in another row passes for one row's", "src/sddmm/cuda/dots.cuh", "__all_sync(0xffffffffu, row[0] == row[batch<Lanes> - 1])", "__all_sync(0xffffffffu, row[0] == row[1])"),
    sddmm("a batch in several rows takes the first one's row of X", "src/sddmm/cuda/dots.cuh", "if (!same_row) here", "if (false) here"),
    sddmm("ahead: a batch in several rows takes the first one's row of X", "src/sddmm/cuda/dots.cuh", "here[s][OneRow ? 0 : i]", "here[s][0]"),
    sddmm("sums are exchanged over too few lanes", "src/sddmm/cuda/dots.cuh", "for (; distance > 0; distance /= 2) sum[0] +=", "for (; distance > 1; distance /= 2) sum[0] +="),
    sddmm("lanes give away what they should keep", "src/sddmm/cuda/dots.cuh", "given = upper ? sum[i] : sum[i + half]", "given = upper ? sum[i + half] : sum[i]"),
    sddmm("unaligned rows are loaded as packs", "src/sddmm/cuda/dots.cuh", "m.col == 1 && k % Pack<V>::size == 0 &&", "m.col == 1 &&"),
    sddmm("beta of zero reads c", "src/sddmm/cuda/dots.cuh", "o.beta == 0 ? product : product + o.beta * widen(o.c[p])", "product + o.beta * widen(o.c[p])"),
    sddmm("values of A are no factor", "src/sddmm/cuda/dots.cuh", "o.value ? o.alpha * (dot * widen(o.value[p]))", "o.value ? o.alpha * dot"),
    sddmm("results beyond the last", "src/sddmm/cuda/sample.cu", "if (p >= nonzeros || lane", "if (p > nonzeros || lane", filter="*SddmmEndsOn*/cuda*:" + BATTERY),
    sddmm("cpu: the last nonzeros of a row", "src/sddmm/cpu/row_dots.hpp", "for (; p < end; ++p) {", "for (; p + 1 < end; ++p) {", filter="*IsExactForIntegers/cpu"),
    sddmm("cpu: columns after the last vector", "src/sddmm/cpu/row_dots.hpp", "for (index_t t = j; t < k; ++t) rest", "for (index_t t = j; t + 1 < k; ++t) rest", filter="*IsExactForIntegers/cpu"),
    sddmm("attention: sums are not scaled to the new base", "src/sddmm/cuda/running.cuh", "r.sum[c] *= scale;", "r.sum[c] *= S(1);", filter="*AttentionOn.ScoresMayBeFar*/cuda*"),
    sddmm("attention: scores of lanes with the same count twice", "src/sddmm/cuda/attend.cu", "slice_sum<32>(counts ? weight : S(0))", "slice_sum<32>(weight)", filter=ATTENTION),
    sddmm("attention: teams are not added up", "src/sddmm/cuda/attend.cu", "for (int distance = Team; distance < 32; distance *= 2)\n#pragma unroll", "for (int distance = Team; distance < 16; distance *= 2)\n#pragma unroll", filter=ATTENTION),
    sddmm("attention: parts of a long row are not scaled to the same base", "src/sddmm/cuda/attend.cu", "            move_base(largest, part);\n", "", filter="*AttentionOn.*/cuda*"),
    sddmm("attention: a part of a long row is left out", "src/sddmm/cuda/attend.cu", "for (int w = 1; w < warps_per_block; ++w) {", "for (int w = 2; w < warps_per_block; ++w) {", filter=ATTENTION),
    sddmm("attention: empty rows are divided by nothing", "src/sddmm/cuda/attend.cu", "empty ? Sum<V>(0) : r.sum", "false ? Sum<V>(0) : r.sum", filter="*EqualScores*/cuda*"),
    sddmm("attention, cpu: the largest score is not kept", "src/sddmm/cpu/attend.cpp", "    r.largest = largest;\n}", "}", filter="*AttentionOn.*/cpu"),
    # tiles
    sddmm("tiles: a stage is asked for again while it is read", "src/sddmm/cuda/sample_tiles.cu", "        __syncthreads();  // this stage is asked for again, or holds sums\n", "", filter=TILES, build="sim-tsan", seeds=[1]),
    sddmm("tiles: sums are taken before they are all there", "src/sddmm/cuda/sample_tiles.cu", "= sum[i][j];\n    __syncthreads();", "= sum[i][j];", filter=TILES, build="sim-tsan", seeds=[1]),
    sddmm("tiles: the third and later turns of columns are in the wrong stage", "src/sddmm/cuda/sample_tiles.cu", "left -= columns_at_once<S>, turn ^= 1", "left -= columns_at_once<S>, turn = 1", filter=TILES, seeds=[1]),
    sddmm("tiles: lines from the 33rd on take the marks of others", "src/sddmm/cuda/sample_tiles.cu", "std::uint64_t{has[1]} << 32 | has[0]", "std::uint64_t{has[0]} << 32 | has[0]", filter=TILES, seeds=[1]),
    sddmm("tiles: rows and columns of a place exchanged", "src/sddmm/cuda/tiles.cuh", "return spot / tile_side * sums_line + spot % tile_side;", "return spot % tile_side * sums_line + spot / tile_side;", filter=TILES, seeds=[1]),
    sddmm("tiles: the last tile's nonzeros are not counted", "src/sddmm/cuda/make_tiles.cu", "is_last ? nonzeros : tile[blockIdx.x + 1].begin", "is_last ? mine.begin : tile[blockIdx.x + 1].begin", filter=TILES, seeds=[1]),
    sddmm("tiles: X is read while the kernel ahead writes it", "src/sddmm/cuda/sample_tiles.cu", "    wait_for_earlier_kernels();\n", "", filter="*SddmmChainOn*", seeds=[1]),
    sddmm("tiles: a thread's second turn of nonzeros is left out", "src/sddmm/cuda/tiles.cuh", "for (std::uint32_t first = threadIdx.x; first < tile.count;) {", "for (std::uint32_t first = threadIdx.x; first < Threads && first < tile.count;) {", filter=TILES, seeds=[1]),
    # tiles on tensor cores
    sddmm("tensor: a stage is written while it is read", "src/sddmm/cuda/sample_tensor_tiles.cu", "        __syncthreads();  // this stage is there, and nobody reads the other one\n", "        if (left == o.k) __syncthreads();\n", filter=TENSOR, build="sim-tsan", seeds=[1]),
    sddmm("tensor: sums are left where others still read a stage", "src/sddmm/cuda/sample_tensor_tiles.cu", "    __syncthreads();  // nobody reads a stage any more\n", "", filter=TENSOR, build="sim-tsan", seeds=[1]),
    sddmm("tensor: sums are taken before they are all there", "src/sddmm/cuda/sample_tensor_tiles.cu", "    put_sums(sum, sums);\n    __syncthreads();", "    put_sums(sum, sums);", filter=TENSOR, build="sim-tsan", seeds=[1]),
    sddmm("tensor: third parts are left out", "src/sddmm/cuda/sample_tensor_tiles.cu", "constexpr int most_order = 2;", "constexpr int most_order = 1;", filter=TENSOR, seeds=[1]),
    sddmm("tensor: a second turn of columns is added to nothing", "src/sddmm/cuda/sample_tensor_tiles.cu", "sum[m][t][c] += some[t][c];", "sum[m][t][c] = some[t][c];", filter=TENSOR, seeds=[1]),
    sddmm("tensor: numbers without exact parts pass", "src/sddmm/cuda/sample_tensor_tiles.cu", "if (p == 0 && least < 2 * least_split<V> - 1)", "if (false)", filter=TENSOR, seeds=[1]),
    sddmm("tensor: sums that are not finite stay", "src/sddmm/cuda/sample_tensor_tiles.cu", "if (dot - dot == 0) put_sampled(o, place, dot);", "if (true) put_sampled(o, place, dot);", filter=TENSOR, seeds=[1]),
    sddmm("tensor: again, another row", "src/sddmm/cuda/sample_tensor_tiles.cu", "tile.row + spot / tile_side, tile.col", "tile.row + spot % tile_side, tile.col", filter=TENSOR, seeds=[1]),
    sddmm("tensor: lines of X without a nonzero are read", "src/sddmm/cuda/sample_tensor_tiles.cu", "has |= (of_tile[", "has |= 1u << i | (of_tile[", filter="*IsExactForIntegers/cuda*:*TensorOn*/cuda*", build="sim-asan", seeds=[1]),
    sddmm("tensor: X is read while the kernel ahead writes it", "src/sddmm/cuda/sample_tensor_tiles.cu", "    wait_for_earlier_kernels();\n", "", filter="*SddmmChainOn*", seeds=[1]),
    sddmm("tensor: strides, rows in 32 bits", "src/sddmm/cuda/sample_tensor_tiles.cu", "next(m.data + (first_row + my_line()) * m.row +", "next(m.data + static_cast<index_t>((first_row + my_line()) * m.row) +", filter="*SddmmLimitsOn*/cuda*", seeds=[1]),
    # large strides, huge indices
    sddmm("strides: packs of Y in 32 bits", "src/sddmm/cuda/dots.cuh", "there[i] = load_pack(y.data + col[i] * y.row + j", "there[i] = load_pack(y.data + static_cast<index_t>(col[i] * y.row) + j", filter="*SddmmLimitsOn*/cuda*", seeds=[1]),
    sddmm("strides: packs of Y ahead in 32 bits", "src/sddmm/cuda/dots.cuh", "there[s][i] = load_pack(y.data + col[i] * y.row + j", "there[s][i] = load_pack(y.data + static_cast<index_t>(col[i] * y.row) + j", filter="*SddmmLimitsOn*/cuda*", seeds=[1]),
    sddmm("strides: numbers of Y in 32 bits", "src/sddmm/cuda/dots.cuh", "widen(y.data[col[i] * y.row + j * y.col])", "widen(y.data[static_cast<index_t>(col[i] * y.row + j * y.col)])", filter="*SddmmLimitsOn*/cuda*", seeds=[1]),
    sddmm("strides: cpu, rows of Y in 32 bits", "src/sddmm/cpu/row_dots.hpp", "rows[i] = y.data + columns[i] * y.row;", "rows[i] = y.data + static_cast<index_t>(columns[i] * y.row);", filter="*SddmmLimitsOn*/cpu*", seeds=[1]),
    sddmm("strides: attention, rows of V in 32 bits", "src/sddmm/cuda/running.cuh", "const V* from = v.data + row * v.row + j * v.col;", "const V* from = v.data + static_cast<index_t>(row * v.row + j * v.col);", filter="*SddmmLimitsOn*/cuda*", seeds=[1]),
    sddmm("strides: attention, rows of H in 32 bits", "src/sddmm/cuda/attend.cu", "o.h.data[row * o.h.row + j * o.h.col] =", "o.h.data[static_cast<index_t>(row * o.h.row + j * o.h.col)] =", filter="*SddmmLimitsOn*/cuda*", seeds=[1]),
    sddmm("attention: an alpha of zero reads Q, K and A", "src/sddmm/sddmm.cpp", "    if (alpha == 0) o.depth = 0, o.value = nullptr;", "   ", filter="*WithoutAlphaRowsAreMeans*", seeds=[1]),
    sddmm("attention: minus infinity is a base", "src/sddmm/cuda/running.cuh", "const S base = largest == minus_infinity<S>() ? S(0) : largest;", "const S base = largest;", filter="*ScoresOfMinusInfinity*/cuda*", seeds=[1]),
    sddmm("attention: parts of the next row are left before those of this one are joined", "src/sddmm/cuda/attend.cu", "for (int c = 0; c < Runs * run_length; ++c) r.sum[c] += part.sum[c];\n        }\n    __syncthreads();", "for (int c = 0; c < Runs * run_length; ++c) r.sum[c] += part.sum[c];\n        }", filter="*AttentionOn.ScoresMayBeFar*/cuda*", build="sim-tsan", seeds=[1, 2]),
    # scores stored between two kernels
    sddmm("stored: scores are read while the kernel ahead writes them", "src/sddmm/cuda/weigh.cu", "    wait_for_earlier_kernels();\n", "", filter="*SddmmChainOn*"),
    sddmm("stored: the last piece of a long row is left out", "src/sddmm/cuda/weigh.cu", "for (int p = 0; p < share.pieces; ++p) {\n        const PartEnd", "for (int p = 0; p + 1 < share.pieces; ++p) {\n        const PartEnd", filter="*AttentionOn.AllocatesNothing*/cuda*"),
    sddmm("stored: parts are not scaled to the same base", "src/sddmm/cuda/weigh.cu", "const S scale = std::exp(end.largest - base);", "const S scale = 1;", filter="*AttentionOn.*/cuda*"),
    sddmm("stored: counters of pieces do not begin anew", "src/device/cuda/comes_last.cuh", "if (before == slices - 1) *arrived = 0;", "", filter="*AttentionOn.AllocatesNothing*/cuda*"),
    sddmm("stored: a part is joined before all have come", "src/device/cuda/comes_last.cuh", "    return before == slices - 1;", "    return before == slices - 2;", filter="*AttentionOn.AllocatesNothing*/cuda*"),
    sddmm("stored: rows end where the shortest of the warp does", "src/sddmm/cuda/weigh.cu", "slice_max<32>(length)", "slice_min<32>(length)", filter="*AttentionOn.*/cuda*"),
    sddmm("stored: a row as long as a piece is written by nobody", "src/sddmm/cuda/weigh.cu", "if (end - begin > stored.longest) return {};", "if (end - begin >= stored.longest) return {};", filter="*SddmmEndsOn.Attention*/cuda*", seeds=[1, 2, 3, 4, 5]),
    sddmm("stored: rows of V that are not aligned are loaded as runs", "src/sddmm/cuda/weigh.cu", "m.col == 1 && width % run_length == 0 &&", "m.col == 1 &&", filter=ATTENTION, seeds=[1, 2, 3, 4, 5]),
    sddmm("stored: more columns of V than there is room for", "src/sddmm/sddmm.cpp", "if (s.choice.policy.stored && v.cols <= s.scores.columns)", "if (s.choice.policy.stored)", filter="*AttentionOn.AllocatesNothing*/cuda*", build="sim-asan"),
    sddmm("stored: strides, rows of H in 32 bits", "src/sddmm/cuda/weigh.cu", "C* to = h.data + row * h.row + j * h.col;", "C* to = h.data + static_cast<index_t>(row * h.row + j * h.col);", filter="*SddmmLimitsOn*/cuda*", seeds=[1]),
]
