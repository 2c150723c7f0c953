"""Mutations of the row orders of SpMM: clustering on CPU and GPU, encodings, packing, panels, tiles, the choice."""
from mutants import mutant

SPMM = "tulle/spmm/"


def order(name, file, old, new, test, **more):
    return mutant("order: " + name, SPMM + file, old, new, test="spmm_order", filter=f"*{test}*", **more)


DEFINED = "BsaIsTheSequentialDefinition*:*BlocksGained*:*BsaOfMany*:*EncodesThePapers"

MUTANTS = [
    order("bsa: as alike as alpha is enough", "order_encoding.hpp", "return s > alpha * (x.mass + y.mass - s);", "return s >= alpha * (x.mass + y.mass - s);", DEFINED + ":*NeverExceedsOne"),
    order("bsa: more shared than there is", "order_encoding.hpp", "const double s = shared < smaller ? shared : smaller;", "const double s = shared;", "NeverExceedsOne"),
    order("bsa: the released dispersion for the paper's", "order_keys.hpp", "which == Dispersion::paper ?", "which == Dispersion::released ?", "*EncodesThePapers*"),
    order("cpu bsa: rows before the one that joined are asked again", "cpu/cluster_rows.cpp", "if (other > p && cluster[other] < 0)", "if (other != p && cluster[other] < 0)", "*BlocksGained*/cpu:*BsaIs*/cpu"),
    order("cpu bsa: gained blocks bring nobody", "cpu/cluster_rows.cpp", "                gained(b->block);\n", "                if (sum_ == b->count) gained(b->block);\n", DEFINED),
    order("cpu bsa: too much left out of the lists", "cpu/cluster_rows.cpp", "const double spare = alpha * safety *", "const double spare = 2 * alpha * safety *", DEFINED),
    order("gpu bsa: rows behind a join are not compared again", "cuda/cluster_rows.cu", "        join(p, x, portion + first, cluster, lane);\n        free &= ~((2u << first) - 1u);", "        join(p, x, portion + first, cluster, lane);\n        free &= hits & ~((2u << first) - 1u);", "OrderOn*cuda*"),
    order("gpu bsa: a portion is looked at before it is decided", "cuda/cluster_rows.cu", "if (decided < end) decided = wait_for(p, cluster, end, lane);", "if (decided < end) decided = wait_for(p, cluster, portion, lane);", "OrderOn*cuda*"),
    order("gpu bsa: counters are not cleared", "cuda/cluster_rows.cu", "    for (index_t b = lane; b < p.e.all_blocks; b += lanes) x.count[b] = 0;\n", "", "OrderOn*cuda*"),
    order("gpu encoding: a repeated column counts twice", "cuda/encode_rows.cu", "count += col[k] != last;", "++count;", "*UnsortedColumns*cuda*"),
    order("gpu minhash: lanes do not meet", "cuda/order_keys.cu", "if (other >= 0) first.look_at(hash, static_cast<index_t>(other));", "if (other >= 0 && distance < 0) first.look_at(hash, static_cast<index_t>(other));", "OrderOn*cuda*"),
    order("pack: the worst row first", "cpu/pack_rows.cpp", "const offset_t score = 3 * offset_t{overlap_.data()[row]} - length;", "const offset_t score = length - 3 * offset_t{overlap_.data()[row]};", "*OrdersGatherLess/cpu"),
    order("sample: some panels are all", "order_sample.cpp", "{grown(found.pairs, by_nonzeros),", "{found.pairs,", "*SomePanelsStandForAll/cuda*"),
    order("sample: columns of other rows", "order_sample.cpp", "row_begin.data()[row.data()[position[static_cast<std::size_t>(i)]]]);", "row_begin.data()[position[static_cast<std::size_t>(i)]]);", "*SomePanelsStandForAll/cuda*"),
    order("choice: a GPU orders as slowly as a core", "order_choice.cpp", "(gpu ? gpu_prices : cpu_prices)", "(gpu ? cpu_prices : gpu_prices)", "OrderChoice.TakesWhatPaid*"),
    order("choice: an order that only breaks even", "order_choice.cpp", "candidates[c].total(calls) < candidates[best].total(calls)", "candidates[c].total(calls) <= candidates[best].total(calls)", "OrderChoice*"),
]
