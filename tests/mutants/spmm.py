"""Mutations of SpMM's products."""
from mutants import mutant

BATTERY = "*SpmmPanelsOn.MultiplyTheBattery/cuda*"
CUT = "*CutLongPanels/cuda*"
ROWS = "*SpmmRowsOn.InAnyLanesAndLines/cuda*"
LINES = "*LinesHoldEveryNonzeroOnce/cuda*"
SCALE = "*SpmmScaleOn.EveryPolicy*/cuda*"
TOGETHER = "*SpmmRowsOn.WithTheSameColumns*/cpu*"
TILES = "*SpmmTilesOn.AndRestAreTheProduct/cuda*"
CHAIN = "*SpmmChainOn.*/cuda*"
FULL = "*SpmmFullPrecisionOn.*/cuda*"
CLUSTERS = "*ShareLongRowsAmongClusters/cuda*"
MANY = "*SpmmRowsOn.OfManyPieces/cuda*"


def spmm(name, file, old, new, filter=BATTERY, **more):
    return mutant("spmm: " + name, file, old, new, test=more.pop("test", "spmm"), filter=filter, seeds=more.pop("seeds", [1]), **more)


MUTANTS = [
    spmm("early: B is read while the kernel ahead writes it", "src/spmm/cuda/panels.cuh", "    wait_for_earlier_kernels();  // tiles", "    // tiles", filter=CHAIN),
    spmm("early: rows read B while the kernel ahead writes it", "src/spmm/cuda/multiply_rows.cu", "    wait_for_earlier_kernels();\n    Sum<V> sum[run_length] = {};\n    if (reads_runs(o, j)) add_row<true>", "    Sum<V> sum[run_length] = {};\n    if (reads_runs(o, j)) add_row<true>", filter=CHAIN),
    spmm("early: new values pass for settled", "src/spmm/spmm.cpp", "    s.settled = false;\n", "", filter=CHAIN),
    spmm("panels: numbers that are not finite go unnoticed", "src/spmm/cuda/panels.cuh", "(none[2] + none[3]) != 0)", "(none[2] + none[3]) > 0)", filter="*KeepWhatIsNotFinite*/cuda*"),
    spmm("panels: no barrier before a stage is read", "src/spmm/cuda/panels.cuh", "        wait_for_copies<S::depth - 2>();\n        __syncthreads(); ", "        wait_for_copies<S::depth - 2>(); ", seeds=[1, 2, 3]),
    spmm("panels: a stage is read before it is there", "src/spmm/cuda/panels.cuh", "        wait_for_copies<S::depth - 2>();\n", "        wait_for_copies<S::depth - 1>();\n", seeds=[1, 2, 3]),
    spmm("panels: lists are asked for too late", "src/spmm/cuda/multiply_panels.cu", "if (step % lists.stages == 0) lists.ask", "if (step % lists.stages == 1) lists.ask", filter=CUT, seeds=[1, 2, 3]),
    spmm("panels: a slab takes another's tile", "src/spmm/cuda/multiply_panels.cu", "static_cast<unsigned>(__popc((*this)[chunk].slabs & ((1u << slab) - 1)))", "static_cast<unsigned>(slab)"),
    spmm("panels: chunks beyond the last", "src/spmm/cuda/multiply_panels.cu", "if (chunk + i / pieces < unit.end) copy_async", "if (chunk + i / pieces <= unit.end) copy_async"),
    spmm("panels: columns of tf32 as those of f16", "src/spmm/cuda/panel_tiles.cuh", "return t / 4 * 32 + (lane % 4 * 2 + c) * 4 + t % 4;", "return t * 8 + lane % 4 * 2 + c;"),
    spmm("panels: the first unit to come adds up", "src/spmm/cuda/multiply_panels.cu", "is_last[0] = arrive(arrived) == unit.pieces - 1;", "is_last[0] = arrive(arrived) == 0;", filter=CUT),
    spmm("panels: units are counted on from the run before", "src/spmm/cuda/multiply_panels.cu", "if (is_last[0]) *arrived = 0; ", "if (is_last[0] && arrived == nullptr) *arrived = 0; ", filter=CUT),
    spmm("panels: rows of C in the order of panels", "src/spmm/cuda/panels.cuh", "p.row != nullptr ? p.row[position] : position", "position", filter="*TakeNewValues/cuda*"),
    spmm("panels: new values stay outside", "src/spmm/spmm.cpp", "        fill_panels(q, s.rows(), s.work.panels);\n        fill_tiles", "        fill_tiles", filter="*TakeNewValues/cuda*"),
    spmm("dense: sums are handed over before all blocks run", "src/spmm/cuda/multiply_dense.cu", "    wait_for_cluster();\n    if (has_sums)\n", "    if (has_sums)\n", filter="*SplitDense*/cuda*"),
    spmm("dense: sums are added up before all are there", "src/spmm/cuda/multiply_dense.cu", "    arrive_in_cluster();\n    wait_for_cluster();\n    const PairWriter", "    const PairWriter", filter="*SplitDense*/cuda*", seeds=[1, 2, 3]),
    spmm("dense: a group too few is added", "src/spmm/cuda/multiply_dense.cu", "group < S::groups - 1; ++group)", "group < S::groups - 2; ++group)", filter="*SplitDense*/cuda*"),
    spmm("dense: a warp of a wide block has the columns of another", "src/spmm/cuda/panels.cuh", "% S::across * (S::warp_columns / 8)", "% S::across / 2 * (S::warp_columns / 8)", filter=CLUSTERS),
    spmm("policy: panels for a single long row", "src/spmm/policy.cpp", "most_of_a_row = 1.0 / 3", "most_of_a_row = 3", filter="SpmmPolicy*"),
    spmm("dense: another block's share", "src/spmm/cuda/multiply_dense.cu", "const int number = part * share + i;\n        use(number", "const int number = i;\n        use(number", filter="*SplitDense*/cuda*"),
    spmm("dense: the first of several clusters to come adds up", "src/spmm/cuda/multiply_dense.cu", "is_last[0] = arrive(arrived) == blocks - 1;", "is_last[0] = arrive(arrived) == 0;", filter=CLUSTERS),
    spmm("dense: clusters are counted on from the run before", "src/spmm/cuda/multiply_dense.cu", "if (is_last[0]) *arrived = 0;", "if (is_last[0] && arrived == nullptr) *arrived = 0;", filter=CLUSTERS),
    spmm("dense: all clusters have the columns of the first", "src/spmm/cuda/multiply_dense.cu", "split = blockIdx.x & ((1u << splits_shift) - 1),", "split = blockIdx.x & ((1u << shift) - 1),", filter=CLUSTERS),
    spmm("dense: every stage has the rows of B of the first", "src/spmm/cuda/panels.cuh", "return ask_in_order(source.row(first, 0), to);", "return ask_in_order(source.row(0, 0), to);", filter="*SplitDense*/cuda*"),
    spmm("dense: tiles of a stage in the wrong order", "src/spmm/cuda/panels.cuh", "from + i * slabs * 32);", "from + i * 32);", filter="*SplitDense*/cuda*"),
    spmm("dense: room for the sums of one cluster", "src/spmm/spmm.cpp", "return {panels * policy.clusters * panel_rows,", "return {panels * panel_rows,", filter=CLUSTERS),
    spmm("full precision: a product of a small part is left out", "src/spmm/cuda/panels.cuh", "T::multiply(sums.small[t + i], a.small, {upper.big[i], lower.big[i]});", "static_cast<void>(i);", filter=FULL),
    spmm("full precision: small parts of subnormal numbers lose bits", "src/spmm/cuda/panel_tiles.cuh", "constexpr float small_scale = 0x1p13f;", "constexpr float small_scale = 1;", filter="*SplitNumbersOfAnySize/cuda*"),
    spmm("full precision: what overflows is added up from rounded numbers", "src/spmm/cuda/panel_tiles.cuh", "factor(Split number) { return number.value; }", "factor(Split number) { return Tile<float>::factor(number.value); }", filter="*SplitNumbersOfAnySize/cuda*"),
    spmm("full precision: columns of doubles as those of f16", "src/spmm/cuda/panel_tiles.cuh", "return t / 2 * 16 + (lane % 4 * 2 + c) * 2 + t % 2;", "return t * 8 + lane % 4 * 2 + c;", filter=FULL),
    spmm("full precision: pairs of sums of an eight", "src/spmm/cuda/multiply_dense.cu", "return neighbours ? t % 2 : i;", "return i;", filter=FULL),
    spmm("full precision: tensor cores for any layout of B", "src/spmm/spmm.cpp", "if (has_pieces(o)) return multiply_dense_in_full", "return multiply_dense_in_full", filter=FULL),
    spmm("full precision: lines are asked for and ignored", "src/spmm/spmm.cpp", "(s->features.tensor || !options.piece)", "s->settled == false", filter=FULL),
    spmm("panels: columns by number, not by slabs", "src/spmm/cpu/make_panels.cpp", "return key_of(x) < key_of(y);", "return x.col < y.col;", filter="SpmmPanels.GroupColumns*"),
    spmm("tiles: no barrier before a tile is read", "src/spmm/cuda/multiply_tiles.cu", "        wait_for_copies<depth - 2>();\n        __syncthreads(); ", "        wait_for_copies<depth - 2>(); ", filter=TILES, seeds=[1, 2, 3]),
    spmm("tiles: a tile is read before it is there", "src/spmm/cuda/multiply_tiles.cu", "        wait_for_copies<depth - 2>();\n", "        wait_for_copies<depth - 1>();\n", filter=TILES, seeds=[1, 2, 3]),
    spmm("tiles: numbers that are not finite go unnoticed", "src/spmm/cuda/multiply_tiles.cu", "nothing != 0.0f", "nothing > 0.0f", filter="*SpmmTilesOn.KeepWhatIsNotFinite*/cuda*"),
    spmm("tiles: zeros count as stored", "src/spmm/cuda/multiply_tiles.cu", "if (!(tiles.present[(first + slot) * tile_side + row] >> col & 1u)) continue;", "if (row < 0) continue;", filter="*SpmmTilesOn.KeepWhatIsNotFinite*/cuda*"),
    spmm("tiles: rows of C in the order of tiles", "src/spmm/cuda/multiply_tiles.cu", "add_pair(o, pairs, tiles.row[position],", "add_pair(o, pairs, position,", filter=TILES),
    spmm("tiles: leading panels are counted", "src/spmm/cuda/multiply_tiles.cu", "(tiles.first_panel + panel) * tile_side + slab", "panel * tile_side + slab", filter="*SpmmTilesOn.TakeAnyShare/cuda*"),
    spmm("tiles: the tiles' product replaces the rest's", "src/spmm/cuda/multiply_tiles.cu", "*to = {{old.value[0] + o.alpha * scaled(left),", "*to = {{o.alpha * scaled(left),", filter=TILES),
    spmm("tiles: an entry in a tile is in the rest as well", "src/spmm/cpu/make_tiles.cpp", "            if (dense[k]) continue;\n", "", filter="SpmmTiles.HoldEveryNonzeroOnce"),
    spmm("tiles: a panel has tiles that do not gain", "src/spmm/cpu/mark_tiles.cpp", "if (more <= rule.gain) tiles = 0;", "if (more <= 0) tiles = 0;", filter="SpmmTiles.AreDenseWhereTheyGain"),
    spmm("tiles: as dense as delta is enough", "src/spmm/cpu/mark_tiles.cpp", "dense[k] = nonzeros > rule.least;", "dense[k] = nonzeros >= rule.least;", filter="SpmmTiles.AreDenseWhereTheyGain"),
    spmm("tiles: new values stay outside", "src/spmm/spmm.cpp", "        fill_tiles(q, s.rows(), s.work.tiles);\n", "", filter="*SpmmTilesOn.TakeNewValues*/cuda*"),
    spmm("rows: the first piece to come adds up", "src/device/cuda/comes_last.cuh", "    return before == slices - 1;", "    return before == 0;", filter=ROWS),
    spmm("rows: pieces are counted on from the run before", "src/device/cuda/comes_last.cuh", "if (before == slices - 1) *arrived = 0;", "if (before == slices) *arrived = 0;", filter=ROWS),
    spmm("rows: lanes leave their sums after they are counted", "src/device/cuda/comes_last.cuh", "    __syncwarp(mine);\n    int before = 0;", "    int before = 0;", filter=ROWS, seeds=[1, 2, 3]),
    spmm("rows: only the first piece of a long row", "src/spmm/cuda/multiply_rows.cu", "= left[(p + i) * apart];", "= left[p * apart];", filter=ROWS),
    spmm("rows: a group of pieces leaves the sums of its first", "src/spmm/cuda/multiply_rows.cu", "if (j < o.n) *left(first) = {{whole[0], whole[1], whole[2], whole[3]}};", "", filter=MANY),
    spmm("rows: groups of pieces are counted with those of the first group", "src/spmm/cuda/multiply_rows.cu", "first = 0, counter = 1, apart", "first = 0, counter = 0, apart", filter=MANY, seeds=[1, 2, 3]),
    spmm("shared rows: every slice takes the first's nonzeros", "src/spmm/cuda/multiply_rows.cu", "add_share<true>(a, begin + slice % slices, end,", "add_share<true>(a, begin, end,", filter=ROWS),
    spmm("shared rows: the last nonzeros of a row are left out", "src/spmm/cuda/multiply_rows.cu", "if (i * apart < left) b[i] = load_run", "if ((i + 1) * apart < left) b[i] = load_run", filter=ROWS),
    spmm("shared rows: sums of warps are read before they are there", "src/spmm/cuda/multiply_rows.cu", "    __syncthreads();\n    if (warp > 0 || lane >= Width) return;", "    if (warp > 0 || lane >= Width) return;", filter=ROWS, seeds=[1, 2, 3]),
    spmm("shared rows: a plan whose pieces are given adds up as it likes", "src/spmm/spmm.cpp", "    policy.lanes = s.options.lanes.value_or(lanes_of_columns(s.features.n));\n", "", filter="*TakeTheCallersLines/cuda*"),
    spmm("rows: sums go on into the next row", "src/spmm/cuda/multiply_rows.cu", "for (int c = 0; c < run_length; ++c) sum[c] = 0;", "for (int c = 0; c < 0; ++c) sum[c] = 0;", filter=ROWS),
    spmm("rows: empty rows at the end of a line", "src/spmm/cuda/multiply_rows.cu", "!cut && row <= last; ++row", "!cut && row < last; ++row", filter=ROWS),
    spmm("rows: a row takes what is the next one's", "src/spmm/cuda/multiply_rows.cu", "if (from + i >= k && from + i < to)", "if (from + i >= k)", filter=ROWS),
    spmm("rows: a row ends where the one before did", "src/spmm/cuda/multiply_rows.cu", "next_end = end_of(row + 2);", "next_end = end_of(row + 1);", filter=ROWS),
    spmm("rows: the nonzero loaded once more is added", "src/spmm/cuda/multiply_rows.cu", "if (from + i >= k && from + i < to)", "if (from + i < to)", filter=ROWS),
    spmm("cpu: rows together take the values of the first", "src/spmm/cpu/row_blocks.hpp", "scale[r] = static_cast<S>(value[k + r * length]);", "scale[r] = static_cast<S>(value[k]);", filter=TOGETHER),
    spmm("cpu: rows together are written to the first", "src/spmm/cpu/row_blocks.hpp", "put_block<Vectors, Count>(o, row + r, j, sum[0][r], streams);", "put_block<Vectors, Count>(o, row, j, sum[0][r], streams);", filter=TOGETHER),
    spmm("cpu: the second part of columns is that of the first", "src/spmm/cpu/row_blocks.hpp", "j + Vectors / 2 * Count, streams);", "j, streams);", filter=TOGETHER),
    spmm("cpu: rows together whose first columns are the same", "src/spmm/cpu/row_blocks.hpp", "return std::memcmp(a.col + before, a.col + begin, static_cast<std::size_t>(length) * sizeof(index_t)) == 0;", "return true;", filter=TOGETHER),
    spmm("lines: a long row joins those before it", "src/spmm/cuda/cut_rows.cu", "row == 0 || pieces(row) > 0 || ", "row == 0 || ", filter=LINES),
    spmm("lines: as many pieces as it takes", "src/spmm/cuda/cut_rows.cu", "wanted < most_pieces ? wanted : offset_t{most_pieces}", "wanted", filter=LINES),
    spmm("lines: a row of just the length is cut", "src/spmm/cuda/cut_rows.cu", "(length(row) + piece - 1) / piece;", "length(row) / piece + 1;", filter=LINES),
    spmm("lines: slots of the row before", "src/spmm/cuda/cut_rows.cu", "pieces * (line_unit + 1)", "pieces * line_unit + 1", filter=LINES),
    spmm("scale: rows without factors, one entry at a time", "src/spmm/cuda/operands.cuh", "sum = RowFactor<V, C>(o, row)(sum);", "", filter=SCALE),
    spmm("scale: rows without factors, four entries at a time", "src/spmm/cuda/operands.cuh", "o.alpha * scaled(sum[c])", "o.alpha * sum[c]", filter=SCALE),
    spmm("scale: factors in the order of panels", "src/spmm/cuda/panels.cuh", "const RowFactor<V, C> scaled(o, row);", "const RowFactor<V, C> scaled(o, position);", filter=SCALE),
    spmm("scale: tiles without factors", "src/spmm/cuda/multiply_tiles.cu", "o.alpha * scaled(left)", "o.alpha * left", filter=SCALE),
    spmm("scale: split dense panels without factors", "src/spmm/cuda/multiply_dense.cu", "Narrow<Entry>::from(o.alpha * scaled(left))", "Narrow<Entry>::from(o.alpha * left)", filter=SCALE),
    spmm("scale: vectors of a CPU without factors", "src/spmm/cpu/row_blocks.hpp", "sum[v] *= o.row_scale[row];", "sum[v] *= 1;", filter="*SpmmScaleOn*/cpu*"),
    spmm("scale: any factor is taken", "src/spmm/row_scale.hpp", "std::frexp(factor, &exponent) == 0.5f", "std::frexp(factor, &exponent) != 0", filter="*SpmmScaleOn.WrongFactors*/cpu*"),
    spmm("scale: members of a team have the first rows' factors", "src/spmm/team/team.cpp", "all.subspan(static_cast<std::size_t>(m.part.first_line),", "all.subspan(0,", test="spmm_multi", filter="*RowsHaveTheirFactors*"),
    spmm("narrow: 65520 counts as below 65536", "src/matrix/narrow_steps.hpp", "bits + (std::uint64_t{1} << (51 - HalfRange<V>::fraction_bits))", "bits", test="matrix", filter="*NarrowOn.ScalesRowsThatNeedIt/cpu*"),
    spmm("narrow: small values do not count", "src/matrix/narrow.cpp", "least >= Range::least && most <= Range::most", "most <= Range::most", test="matrix", filter="*NarrowOn.ScalesRowsThatNeedIt/cpu*"),
    spmm("narrow: rows for columns", "src/matrix/narrow.cpp", "by_columns ? a.col : row.data()", "row.data()", test="matrix", filter="*NarrowOn.ScalesColumns*/cpu*"),
    spmm("beta of zero reads C", "src/spmm/cuda/operands.cuh", "o.beta == 0 ? o.alpha * sum : o.alpha * sum + o.beta * widen(*to)", "o.alpha * sum + o.beta * widen(*to)", filter="*ReadsCOnly*/cuda*"),
    spmm("a slice of columns goes to the first ones", "src/spmm/spmm.cpp", "Operands<V, C> o = all.columns(j, at_once);", "Operands<V, C> o = all.columns(0, at_once);", filter="*AnyColumnsAndLayout/cuda*"),
    spmm("columns of B beyond the last are turned", "src/spmm/cuda/turn_columns.cu", "if (i + r < rows && j + x < n) to[", "if (i + r < rows) to[", filter="*AnyColumnsAndLayout/cuda*"),
    spmm("cpu: the last nonzero of rows", "src/spmm/cpu/row_blocks.hpp", "for (; k < length; ++k) add(sum[0], k);", "for (; k + 1 < length; ++k) add(sum[0], k);", filter="*IsExactForIntegers/cpu"),
    spmm("cpu: columns that fill no block", "src/spmm/cpu/row_blocks.hpp", "for (; j < o.n; ++j)", "for (; j + 1 < o.n; ++j)", filter="*TakeColumnsInBlocks/cpu"),
    spmm("f16: ties go up", "include/tulle/float16.hpp", "magnitude + 0xfffu + (magnitude >> 13 & 1u)", "magnitude + 0x1000u", test="base", filter="Numbers16*"),
    spmm("cpu: the last row of a tile that asks ahead", "src/spmm/cpu/row_blocks.hpp", "multiply_tile<RegisterBytes, true>(a, first, last, o, streams);", "multiply_tile<RegisterBytes, true>(a, first, last - 1, o, streams);", filter="*SpmmRowsOn.TakeColumnsInBlocks/cpu*"),
    spmm("cpu: no thread takes the shared pieces of rows", "src/spmm/cpu/multiply_rows.cpp", "multiply_pieces(piece, piece + 1);", "multiply_pieces(piece, piece);", filter="*SpmmRowsOn*/cpu*"),
    spmm("narrow: powers beyond float", "src/matrix/narrow.cpp", "lowest_power, highest_power);", "lowest_power, 900);", test="matrix", filter="*NarrowOn.ScalesRowsThatNeedIt/cpu*"),
    spmm("narrow: as many powers as rows where columns are scaled", "src/matrix/narrow.cpp", "by_columns ? a.cols : a.rows, options.scaling);", "a.rows, options.scaling);", test="matrix", filter="*NarrowOn.ScalesColumns*/cpu*"),
    spmm("strides: pieces of B at any distance", "src/spmm/steps.hpp", "== 0 && step <= max_index;", "== 0;", filter="*WholePieces*/cuda*", build="sim-asan", seeds=[631994100]),
]
