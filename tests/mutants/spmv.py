"""Mutations of the kernels with preparation: streams, groups, slices, narrow rows, dots, and of the survey before them."""
from mutants import mutant


def kernel(name, file, old, new, test, **more):
    return mutant(name, file, old, new, filter=f"*SpmvKernelsOn.{test}/cuda*", **more)


CHAIN = "*SpmvChainOn.*/cuda*"

MUTANTS = [
    mutant("slices: doubles that are not floats are kept as floats", "src/spmv/cuda/make_sell.cu", "    if (!all) atomicOr(others, 1);\n", "", filter="*SlicesOfFloats*"),
    mutant("early: rows read x while the kernel ahead writes it", "src/spmv/cuda/multiply_rows.cu", "    wait_for_earlier_kernels();\n", "", filter=CHAIN),
    mutant("early: slices read x while the kernel ahead writes it", "src/spmv/cuda/multiply_sell.cu", "        wait_for_earlier_kernels();\n", "", filter=CHAIN),
    mutant("early: a new pattern passes for settled", "src/spmv/spmv.cpp", "    s.settled = false;\n    carry_values(s);", "    carry_values(s);", filter=CHAIN, build="sim-asan"),
    mutant("direct: addresses known of another device", "src/spmv/direct.cpp", "if (known.device != device) known = {.device = device};", "known.device = device;", filter="*TakesNoVectorOfAnotherDevice*", build="sim-asan"),
    kernel("stream: no barrier before rows are added up", "src/spmv/cuda/multiply_stream.cu", "    load_products(a, block.begin, count, v.x, product);\n    __syncthreads();",
           "    load_products(a, block.begin, count, v.x, product);", "StreamTakes*"),
    kernel("stream: a block takes a nonzero too many", "src/spmv/cuda/multiply_stream.cu", "row_begin[end] - row_begin[row] <= most_nonzeros", "row_begin[end] - row_begin[row] <= most_nonzeros + 1", "StreamTakesGiants*"),
    kernel("stream: the last piece of a row is not waited for", "src/spmv/cuda/multiply_stream.cu", "arrive(arrived + first) == pieces - 1", "arrive(arrived + first) == pieces - 2", "StreamTakesGiants*"),
    kernel("stream: the counter is not set back", "src/spmv/cuda/multiply_stream.cu", "        arrived[first] = 0;                                       // for the next run\n", "", "StreamTakesGiants*"),
    kernel("stream: long rows of a block left out", "src/spmv/cuda/multiply_stream.cu", "if (warp_lane == owner) written.put", "if (warp_lane == owner + 32) written.put", "StreamTakesLong*"),
    kernel("groups: rows of the same length pass for equal", "src/spmv/cuda/make_groups.cu", "differs = col[begin + k] != col[before + k];", "differs = false;", "NewValuesReachEveryKernel"),
    kernel("groups: a run is counted from its word's first row", "src/spmv/cuda/make_groups.cu", "while (bits == 0) bits = word[--w];", "if (bits == 0) bits = 1;", "GroupsCover*"),
    kernel("groups: the last block does not wait for the others", "src/spmv/cuda/make_groups.cu", "arrive(arrived) == static_cast<int>(gridDim.x) - 1", "arrive(arrived) == 0", "GroupsCover*"),
    kernel("groups: heads of warps before are not counted", "src/spmv/cuda/make_groups.cu", "for (int w = 0; w < warp; ++w) at += heads_of[w];", "", "GroupsCover*"),
    kernel("groups: chunks of a thread begin where its first does", "src/spmv/cuda/make_groups.cu", "        at += here;\n", "", "GroupsCover*"),
    kernel("groups: rows behind the last begin groups", "src/spmv/cuda/make_groups.cu", "first + t < rows && place", "place", "GroupsCover*"),
    kernel("survey: one turn of rows only", "src/spmv/cuda/survey.cu", "first < a.rows; first += blocks * threads_per_block", "first < a.rows; first += a.rows", "KnowsRows*"),
    kernel("survey: warps of a block overwrite each other's counts", "src/spmv/cuda/survey.cu", "if (threadIdx.x % 32 == 0 && sum != 0) atomicAdd(to, sum);", "if (threadIdx.x % 32 == 0 && sum != 0) *to = sum;", "KnowsRows*"),
    kernel("groups: the last column is left out", "src/spmv/cuda/multiply_groups.cu", "for (int k = lane; k < length; k += Lanes * ahead)", "for (int k = lane; k < length - 1; k += Lanes * ahead)", "Groups*"),
    kernel("slices: places behind a row's end take part", "src/spmv/cuda/multiply_sell.cu", "span.ragged ? length_of(row_begin, row) : span.end - span.begin", "span.end - span.begin", "PaddingDoesNotSpreadNan"),
    mutant("slices: two bytes where four are needed", "src/spmv/sell.hpp", "width < 65536 ? SellKind::bytes2", "width < 65537 + 65536 ? SellKind::bytes2", filter="*SpmvKernelsOn.SlicesKeep*/cuda*"),
    mutant("slices of a CPU: the tail takes part", "src/spmv/cpu/multiply_sell.cpp", "if (!span.ragged) return ~std::uint32_t{0};", "if (k >= 0) return ~std::uint32_t{0};", filter="*SpmvKernelsOn.PaddingDoesNotSpreadNan/cpu*"),
    mutant("choice on a CPU: the typical lanes, whatever was measured", "src/spmv/policy.cpp", "< cost_of(costs, row, usual) ? best : usual", "< cost_of(costs, row, usual) ? usual : usual", filter="ChooseSpmv.TakesGathersOnly*", seeds=[1]),
    mutant("choice on a CPU: any difference decides", "src/spmv/policy.cpp", "constexpr double worthwhile_gain = 1.05;", "constexpr double worthwhile_gain = 1.0;", filter="ChooseSpmv.StaysWith*", seeds=[1]),
    mutant("choice on a CPU: a plain loop loses to any gain in a trial", "src/spmv/policy.cpp", "constexpr double gain_over_plain = 1.1;", "constexpr double gain_over_plain = 1.0;", filter="ChooseSpmv.AClearlyFaster*", seeds=[1]),
    mutant("choice on a CPU: one piece is split", "src/spmv/policy.cpp", "row.rows + row.nonzeros > cpu_piece_steps", "row.rows + row.nonzeros > 0", filter="ChooseSpmv.StreamsOrSplits*", seeds=[1]),
    mutant("one thread opens a parallel region", "src/prim/cpu/pieces.hpp", "    if (q.threads == 1) return call_piece(work, 0);\n", "", test="prim", filter="Pieces.*", seeds=[1]),
    mutant("rows of the old values are kept with new ones", "src/spmv/spmv.cpp", "fill_sell(q, rows_of(s), s.work.sell);\n    });\n    keep_rows(s);\n", "fill_sell(q, rows_of(s), s.work.sell);\n    });\n", filter="*UpdatesValuesWithoutNewAnalysis/cpu*", seeds=[1]),
    mutant("threads: the first run of a turn counts", "src/spmv/thread_trial.hpp", "if (run_ > 0) seconds_of_", "if (run_ != 1) seconds_of_", filter="ThreadTrial.*", seeds=[1]),
    mutant("threads: what is slower is kept", "src/spmv/thread_trial.hpp", "median(seconds_of_[1]) * gain_for_all < median(seconds_of_[0])", "median(seconds_of_[1]) * gain_for_all > median(seconds_of_[0])", filter="ThreadTrial.*", seeds=[1]),
    mutant("choice on a CPU: a long row is split wherever it lies", "src/spmv/policy.cpp", "if (row.largest_part > 0) return", "if (row.largest_part < 0) return", filter="ChooseSpmv.SplitsRowsOnly*", seeds=[1]),
    mutant("threads: a new answer is believed as long as an old one", "src/spmv/thread_trial.hpp", "4 * next_rest_) : first_rest", "4 * next_rest_) : longest_rest", filter="ThreadTrial.*", seeds=[1]),
    mutant("parts: cuts that are slower are kept", "src/spmv/part_balance.hpp", "longest * gain > longest_before_", "longest > 2 * longest_before_", filter="PartBalance.*", seeds=[1]),
    mutant("parts: the first run of a round counts", "src/spmv/part_balance.hpp", "if (run_ > 0)", "if (run_ >= 0)", filter="PartBalance.*", seeds=[1]),
    mutant("parts: what the parts before took is not taken off", "src/spmv/part_balance.hpp", "(target - before) / seconds[part]", "target / seconds[part]", filter="CutByTimes.*", seeds=[1]),
    mutant("offsets of 32 bits: the last one is missing", "src/spmv/cpu/multiply_rows.cpp", "for (offset_t i = 0; i <= a.rows; ++i) to[i]", "for (offset_t i = 0; i < a.rows; ++i) to[i]", filter="ShortOffsets.*", seeds=[1]),
    mutant("a part begins with the row that holds its first step", "src/spmv/cpu/multiply_rows.cpp", "< share - step_of(row)) ++row;", "< share - step_of(row)) row += 0;", filter="ChooseSpmv.KnowsTheLargest*", seeds=[1]),
    mutant("a single call on a CPU: columns of the matrix's width pass", "src/spmv/cpu/columns.cpp", "largest < static_cast<std::uint32_t>(cols)", "largest <= static_cast<std::uint32_t>(cols)", filter="SpmvOnCpu.*", seeds=[1]),
    mutant("a single call on a CPU: only whole blocks of columns are in range", "src/spmv/cpu/columns.cpp", "        largest = greater_of(largest, static_cast<std::uint32_t>(col[k]));\n", "", filter="SpmvOnCpu.*", seeds=[1]),
    mutant("a single call on a CPU: a row that begins below the last one is a fault", "src/spmv/cpu/checked_rows.cpp", "descends<O>(last_, col[begin]);", "descends<O>(last_, col[begin]) && begin < 0;", filter="SpmvOnCpu.*", seeds=[1]),
    mutant("a single call on a CPU: blocks of columns are not compared with each other", "src/spmv/cpu/checked_rows.cpp", "std::max(begin_, seen - 1)", "std::max(begin_, seen)", filter="SpmvOnCpu.*", seeds=[1]),
    mutant("a single call on a CPU: offsets are not checked", "src/spmv/cpu/checked_rows.cpp", "end < row || end > stop_", "end < row && end > stop_", filter="SpmvOnCpu.*", seeds=[1]),
    mutant("a single call on a CPU: offsets of 32 bits are widened first", "src/spmv/at_once.hpp", "if (const auto* a = std::get_if<Csr32View<M>>(&given)) return", "if (const auto* a = std::get_if<Csr32View<M>>(&given); a == nullptr) return", filter="SpmvOnCpu.ASingle*", seeds=[1]),
    mutant("a single call on a CPU: repeated columns pass", "src/spmv/cpu/columns.hpp", "return a.unique ? Order::strict : Order::ascending;", "return Order::ascending;", filter="SpmvOnCpu.*", seeds=[1]),
    kernel("narrow: columns from zero instead of the row's first", "src/spmv/cuda/multiply_rows.cu", "if (sizeof(C) == 2 && a.base != nullptr) x += a.base[row];", "", "Narrow*"),
    kernel("dots: the last block does not wait for the others", "src/spmv/cuda/dots.cuh", "arrive(dots.arrived) == static_cast<int>(gridDim.x) - 1", "arrive(dots.arrived) == 0", "MakesDots*"),
    kernel("survey: columns of the matrix's width pass", "src/spmv/cuda/survey.cu", "wrong += c < 0 || c >= a.cols;", "wrong += c < 0 || c > a.cols;", "FindsWhatIsWrong*"),
    kernel("survey: repeated columns pass", "src/spmv/cuda/survey.cu", "strict ? col[k] <= col[k - 1] : col[k] < col[k - 1]", "col[k] < col[k - 1]", "FindsWhatIsWrong*"),
]
