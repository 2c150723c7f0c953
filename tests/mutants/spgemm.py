"""Mutations of SpGEMM."""
from mutants import mutant

ORACLE = "*SpgemmOn.MatchesTheOracle/cuda*"
BITS = "*SpgemmRefill.MergesLists/cuda*"
LISTED = "*SumsOfListedProducts*/cuda*"
SEEDS = [1, 2, 3]


def spgemm(name, file, old, new, filter=ORACLE, **more):
    return mutant("spgemm: " + name, file, old, new, test="spgemm", filter=filter, seeds=more.pop("seeds", SEEDS), **more)


MUTANTS = [
    spgemm("older GPUs: every table is said to fit", "src/spgemm/cuda/block_memory.hpp", "return bytes + static_bytes <= cuda::device_limits(q.device).block_bytes;", "return bytes > 0 && q.device >= 0;", filter="*OlderGpus*/cuda*", seeds=[1]),
    spgemm("older GPUs: a narrow window skips columns", "src/spgemm/adaptive/cuda/fill_dense.cu", "done < f.width; done += Window)", "done < f.width; done += wide_window)", filter="*OlderGpus*/cuda*", seeds=[1]),
    spgemm("older GPUs: bitmaps larger than a block may have", "src/spgemm/cuda/block_memory.hpp", "round_up(offset_t{cols}, offset_t{32}), room}", "round_up(offset_t{cols}, offset_t{32}), offset_t{most}}", filter="*OlderGpus*/cuda*", seeds=[1]),
    spgemm("a full table where half was promised", "src/spgemm/adaptive/groups.hpp", "return nonzeros <= 1024 ? NumericKernel::hash1024", "return nonzeros <= 1025 ? NumericKernel::hash1024", filter="SpgemmGroups.*"),
    spgemm("equal rows of B counted, others not", "src/spgemm/adaptive/cuda/rows.cuh", "return runs_b && k > begin && col[k - 1] == col[k] - 1 && is_like(runs_b[col[k]]);", "return runs_b && k > begin && col[k - 1] == col[k] - 1;"),
    spgemm("short: products of the first row of B only", "src/spgemm/adaptive/cuda/short_rows.cuh", "const int mine = active ? owner[31 - __clz(static_cast<int>(heads & ((2u << lane) - 1)))] : 0;", "const int mine = active ? owner[0] : 0;"),
    spgemm("short: peers of other slices join", "src/spgemm/adaptive/cuda/short_rows.cuh", "return __match_any_sync(all_lanes, static_cast<unsigned>(col) * slices + slice);", "return __match_any_sync(all_lanes, static_cast<unsigned>(col) * slices);"),
    spgemm("hash: sorted by all levels but the last", "src/spgemm/adaptive/cuda/fill_hashed.cu", "for (int level = 1; level <= levels; ++level)", "for (int level = 1; level < levels; ++level)"),
    spgemm("ranked: rows of a run take the first one's values", "src/spgemm/adaptive/cuda/add_rows.cuh", "factors[min(r, rows - 1) * nonzeros_a + k]", "factors[k]"),
    spgemm("places: repeated rows of B have places of their own", "src/spgemm/adaptive/cuda/add_rows.cuh", "const int last = warp_running_sum(repeat ? 0 : length);", "const int last = warp_running_sum(length);", filter="*RunsOfRows/cuda*", seeds=[1]),
    spgemm("places: the last entry of a window is left out", "src/spgemm/adaptive/cuda/add_products.cuh", "static_cast<int>(f.index[at + n]) <= f.last", "static_cast<int>(f.index[at + n]) < f.last", filter="*KnowsNarrowAndWidePlaces/cuda*", seeds=[1]),
    spgemm("places: wide ones at odd halves reach into the next row", "src/spgemm/reuse/places.hpp", "is_wide(nonzeros) ? 2 * places + 1 : places;", "is_wide(nonzeros) ? 2 * places : places;", filter="*KnowsNarrowAndWidePlaces/cpu", seeds=[1]),
    spgemm("places: the budget forgets C and the plan", "src/spgemm/spgemm.cpp", "budget - std::min(budget, taken)", "budget", filter="*CountsWhatIsKept*/cpu", seeds=[1]),
    spgemm("listed: the sum is not handed on to the next products", "src/spgemm/reuse/cuda/add_listed.cu", "sum = e == 0 ? r.sum : V(-0.0);", "sum = V(-0.0);", filter=LISTED, seeds=[1]),
    spgemm("listed: two warps write an entry", "src/spgemm/reuse/cuda/add_listed.cu", "(e == 0 ? !r.foreign : all)", "(e == 0 || all)", filter=LISTED, seeds=[1, 2, 3, 4], build="sim-tsan"),
    spgemm("listed: a warp ends before its last entry does", "src/spgemm/reuse/cuda/add_listed.cu", "r.open && !r.foreign && k < list.products;", "r.open && !r.foreign && k < 0;", filter=LISTED, seeds=[1]),
    spgemm("listed: a warp goes on behind its last entry", "src/spgemm/reuse/cuda/add_listed.cu", "add_batch<1>(list, k, false, t, r, value);", "add_batch<1>(list, k, true, t, r, value);", filter=LISTED, seeds=[1, 2, 3, 4], build="sim-tsan"),
    spgemm("listed: an entry begins with the last product of the one before", "src/spgemm/reuse/cuda/add_listed.cu", "t.last[e - 1] + 1", "t.last[e - 1]", filter=LISTED, seeds=[1]),
    spgemm("listed: the last product of rows sorted together is not the last of its entry", "src/spgemm/reuse/cuda/list_products.cu", "i + 1 == chunk.products || entry[i + 1] != entry[i]", "i + 1 < chunk.products && entry[i + 1] != entry[i]", filter="*HoweverManyAtATime/cuda*", seeds=[1]),
    spgemm("listed: rows at a time count products from the first", "src/spgemm/reuse/cuda/list_products.cu", "b.row_begin[a.col[k]] + chunk.first + i - before[k];", "b.row_begin[a.col[k]] + i - before[k];", filter="*HoweverManyAtATime/cuda*", seeds=[1]),
    spgemm("cpu: numbers of A and B exchanged in the list", "src/spgemm/reuse/cpu/listed.cpp", "product[end[where[b.col[l]]]++] = listed(k, l);", "product[end[where[b.col[l]]]++] = listed(l, k);", filter="*SumsOfListedProducts*/cpu1", seeds=[1]),
    spgemm("refill: an entry between the parts of a long row is left out", "src/spgemm/reuse/cuda/refill.cu", "first = number % parts * entries;", "first = number % parts * (entries + 1);", filter="*LongRowsOfCInParts/cuda*", seeds=[1]),
    spgemm("refill: a column of C is drawn in another place", "src/spgemm/adaptive/cuda/fill_ranked.cu", "atomicOr(&s.word[at / 32].bits, 1u << at % 32);", "atomicOr(&s.word[at / 32].bits, 1u << at % 31);", filter="*RunsOfRows/cuda*", seeds=[1]),
    spgemm("cpu: marks of the row before count", "src/spgemm/adaptive/cpu/accumulators.hpp", "if (mark[col] == row) return false;", "if (mark[col] >= 0) return false;", filter="SpgemmOnCpu.LeavesRowsUnsorted*", seeds=[1]),
    spgemm("cpu: refills leave their sums behind", "src/spgemm/adaptive/cpu/fill.cpp", "value[k] = std::exchange(sums.value[std::clamp(col[k], 0, b.cols - 1)], V(-0.0));", "value[k] = sums.value[std::clamp(col[k], 0, b.cols - 1)];", filter="*RunsOfRows/cpu1", seeds=[1]),
    spgemm("dense: the window's last column left out", "src/spgemm/adaptive/cuda/fill_dense.cu", "const offset_t low = below(begin), high = below(begin + Window);", "const offset_t low = below(begin), high = below(begin + Window - 1);"),
    spgemm("nsparse: rows that do not fit are not done again", "src/spgemm/nsparse/cuda/count.cu", "if (last.rows > 0) count_failed(", "if (last.rows > 1000) count_failed("),
    spgemm("chunks: offsets not shifted", "src/spgemm/adaptive/cuda/fill.cu", "if (i < n) to[i] = from[i] - base;", "if (i < n) to[i] = from[i];", filter="*SmallBudgetsMeanManyChunks/cuda*", seeds=[1]),
    spgemm("cpu: rows behind the first of a run not counted", "src/spgemm/adaptive/cpu/count_nonzeros.cpp", "for (int r = 0; r < (runs_a ? unpack(runs_a[i]).length : 1); ++r)", "for (int r = 0; r < 1; ++r)", filter="*MatchesTheOracle/cpu", seeds=[1]),
    spgemm("a run reaches into the next one", "src/matrix/equal_rows.hpp", "if (length == 0 || begin - row_begin[row - 1] != length) return false;", "if (length == 0) return false;", filter="Runs.*", seeds=[1]),
    spgemm("scan: one part too many", "src/spgemm/team/cuda/scan_split_candidates.cu", "partition::fair_position(total, p, count - 1)", "partition::fair_position(total, p, count)", filter="SpgemmCuts.*", seeds=[1]),
    spgemm("facts are dropped that kernels look at", "src/spgemm/adaptive/groups.hpp", "return (f >= NumericKernel::single_small && f <= NumericKernel::run_huge) || f >= NumericKernel::hash1024;", "return f >= NumericKernel::hash1024;", filter="*SpgemmRefill.GivesTheBitsOfAFirstFill/cuda*"),
    spgemm("team: columns that stay go to the wrong place", "src/spgemm/team/prepare.cpp", "copy(q, stays, mine.data() + (begin - part.begin), end - begin);", "copy(q, stays, mine.data(), end - begin);", filter="*DealsRowsOutAgain*/cuda_sim", seeds=[1]),
    spgemm("team: new values of A do not reach a member", "src/spgemm/team/prepare.cpp", "a.value + m.filled.begin, m.value.data(), m.filled.nonzeros());", "a.value, m.value.data(), m.filled.nonzeros());", filter="*TakesNewValues/cuda_sim", seeds=[1]),
    spgemm("delta: bad rows are not counted again", "src/spgemm/deltasparse/cuda/count.cu", "again > 0)", "again > 1000)", filter="*RowsThatCollide*/cuda*", seeds=[1]),
    spgemm("delta: the sum stands where the range is still read", "src/spgemm/deltasparse/cuda/count.cu", "cells + 2);", "cells);", filter="*RowsWithoutProducts*/cuda*", build="sim-tsan", seeds=[1, 2]),
    spgemm("delta: rows alike are hashed however dense they are", "src/spgemm/deltasparse/deltasparse.cpp", "if (is_dense(mean, sizes.cols, sizes.dense_share)) group", "if (false) group", filter="DeltaGroups.*", seeds=[1]),
    spgemm("delta: what the caller asks for is not done", "src/spgemm/deltasparse/deltasparse.cpp", "return grouping == Grouping::learned ? group_pays(features)", "return grouping != Grouping::plain ? group_pays(features)", filter="DeltaGroups.*", seeds=[1]),
    spgemm("delta: the last digit is not sorted", "src/spgemm/deltasparse/cuda/sort.cu", "for (int pass = 0; pass < passes; ++pass)", "for (int pass = 0; pass < passes - 1; ++pass)", filter="*RowsAlike*/cuda*", seeds=[1]),
    spgemm("delta: the last column of a range is left out", "src/spgemm/deltasparse/cuda/fill_rows.cu", "const offset_t here = min(offset_t{Window}, range.last + 1 - begin);", "const offset_t here = min(offset_t{Window}, range.last - begin);", filter="*RowsAlike*/cuda*", seeds=[1]),
    spgemm("delta: no barrier between clearing and adding", "src/spgemm/deltasparse/cuda/fill_rows.cu", "    if (threadIdx.x == 0) *t.entries = 0;\n    __syncthreads();", "    if (threadIdx.x == 0) *t.entries = 0;", filter="*RowsAlike*/cuda*"),
    spgemm("hash: lanes with the same column do not wait for their turn", "src/spgemm/adaptive/cuda/fill_hashed.cu", "if (slot >= 0 && turn == k) t.sum[slot]", "if (slot >= 0 && k == 0) t.sum[slot]", build="sim-tsan", seeds=[1, 2]),
    spgemm("hash: no barrier between rows of B", "src/spgemm/adaptive/cuda/fill_hashed.cu", "if (length > 0) __syncthreads(); ", "if (length > 5000) __syncthreads(); ", build="sim-tsan", seeds=[1, 2]),
    spgemm("lists: every product is an entry", "src/spgemm/adaptive/cuda/merge_lists.cuh", "const bool is_new = best >> list_bits != column;", "const bool is_new = true;", filter=BITS),
    spgemm("lists: an unfinished entry is written", "src/spgemm/adaptive/cuda/merge_lists.cuh", "const int ready = best < list_end ? collected - 1 : collected;", "const int ready = collected;", filter=BITS),
    spgemm("lists: nothing behind a list of one", "src/spgemm/adaptive/cuda/merge_lists.cuh", "if (lane % Slice == 0) t.col[to + length] = max_index;", "if (lane % Slice == 0 && length > 1) t.col[to + length] = max_index;", filter=BITS),
    spgemm("lists: more lanes at a time than there is room for", "src/spgemm/adaptive/cuda/merge_lists.cuh", "mine.end_slot - base <= slots ||", "mine.end_slot - base <= 2 * slots ||", filter=BITS, build="sim-asan"),
    spgemm("lists: no wait for what was brought", "src/spgemm/adaptive/cuda/merge_lists.cuh", "    wait_for_copies<0>();\n    __syncwarp();", "    __syncwarp();", filter=BITS),
    spgemm("pieces: a piece ends where another row begins", "src/spgemm/adaptive/cuda/merge_lists.cuh", "team_rank<32>() < 31 && next_row == row;", "team_rank<32>() < 31;", filter=BITS),
    spgemm("pieces: a cut of two lists is one", "src/spgemm/adaptive/cuda/cut_rows.cu", "if (k < list && below % cut_every == 0", "if (k < first && below % cut_every == 0", filter=BITS),
    spgemm("pieces: cuts of other lists counted by half", "src/spgemm/adaptive/cuda/cut_rows.cu", "before += pieces_in(below);", "before += below / cut_every;", filter=BITS),
    spgemm("pieces: each begins where it ends", "src/spgemm/adaptive/cuda/cut_rows.cu", "place[piece] = end - mine;", "place[piece] = end;", filter=BITS),
    spgemm("columns first: no barrier before they are sorted", "src/spgemm/adaptive/cuda/fill_hashed.cu", "[&](index_t col) { insert<Slots>(key, col); });\n    __syncthreads();", "[&](index_t col) { insert<Slots>(key, col); });", filter="*LongRowsOfCInParts/cuda*"),
    spgemm("columns first: written without their padding", "src/spgemm/adaptive/cuda/fill_hashed.cu", "+ k] = sorted[padded(k)];", "+ k] = sorted[k];", filter="*LongRowsOfCInParts/cuda*", seeds=[1]),
    spgemm("columns first: values forgotten", "src/spgemm/adaptive/cuda/fill.cu", "        fill_columns(f, filler);\n        refill_group(f, filler);", "        fill_columns(f, filler);", filter="*LongRowsOfCInParts/cuda*", seeds=[1]),
    spgemm("groups side by side: nobody waits for them", "src/device/cuda/forked_streams.cu", "        (void)cudaStreamWaitEvent(queues_[0].stream, event, 0);\n", "", filter=BITS),
    spgemm("refill: the longest rows end with the first part of every warp", "src/spgemm/reuse/cuda/refill.cu", "first += offset_t{parts} * entries", "first += offset_t{100000} * entries", filter=ORACLE),
    spgemm("wide columns: the last words are left out", "src/spgemm/adaptive/cuda/fill_dense.cu", "const int stretch = (used + warps - 1) / warps,", "const int stretch = used / warps,"),
    spgemm("facts of long rows are those of rows with ranks", "src/spgemm/adaptive/cuda/fill.cu", "in_list - ranked : ranks + in_list - long_rows", "in_list - ranked : in_list - long_rows", filter="*FewRowsKeepFewFacts/cuda*", seeds=[1]),
    spgemm("at once: the last of the long rows is not counted", "src/spgemm/adaptive/cuda/count_nonzeros.cu", "k < *listed;", "k + 1 < *listed;"),
    spgemm("bitmap: the last word is not cleared", "src/spgemm/adaptive/cuda/count_nonzeros.cu", "team_fill<Team>(word, used, 0u);", "team_fill<Team>(word, used - 1, 0u);"),
    spgemm("the first block tells the totals, not the last", "src/spgemm/adaptive/cuda/analyse.cu", "if (*before == static_cast<int>(gridDim.x) - 1) tell", "if (*before == 0) tell"),
    spgemm("groups begin where they end", "src/spgemm/adaptive/cuda/place_rows.cu", "return warp_running_sum(mine) - mine;", "return warp_running_sum(mine);", build="sim-asan"),
    spgemm("refill: ranks of another C reach beyond the row", "src/spgemm/adaptive/cuda/fill_ranked.cu", "min(rank_of(s, col), s.nonzeros - 1)", "rank_of(s, col)", filter="*AnotherCs*/cuda*", build="sim-asan", seeds=[1]),
]
