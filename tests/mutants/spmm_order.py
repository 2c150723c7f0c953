"""Mutations of the row orders of SpMM: clustering on CPU and GPU, encodings, packing, panels, tiles, the choice."""
from mutants import mutant



def order(name, file, old, new, test, **more):
    return mutant("order: " + name, file, old, new, test="spmm_order", filter=f"*{test}*", **more)


DEFINED = "BsaIsTheSequentialDefinition*:*BlocksGained*:*BsaOfMany*:*EncodesThePapers"

MUTANTS = [
    order("bsa: as alike as alpha is enough", "src/spmm/order/encoding.hpp", "return s > alpha * (x.mass + y.mass - s);", "return s >= alpha * (x.mass + y.mass - s);", DEFINED + ":*NeverExceedsOne"),
    order("bsa: more shared than there is", "src/spmm/order/encoding.hpp", "const double s = shared < smaller ? shared : smaller;", "const double s = shared;", "NeverExceedsOne"),
    order("bsa: the released dispersion for the paper's", "src/spmm/order/keys.hpp", "which == Dispersion::paper ?", "which == Dispersion::released ?", "*EncodesThePapers*"),
    order("cpu bsa: rows before the one that joined are asked again", "src/spmm/cpu/cluster_rows.cpp", "if (other > p && cluster[other] < 0)", "if (other != p && cluster[other] < 0)", "*BlocksGained*/cpu:*BsaIs*/cpu"),
    order("cpu bsa: gained blocks bring nobody", "src/spmm/cpu/cluster_rows.cpp", "                gained(b->block);\n", "                if (sum_ == b->count) gained(b->block);\n", DEFINED),
    order("cpu bsa: too much left out of the lists", "src/spmm/cpu/cluster_rows.cpp", "const double spare = alpha * safety *", "const double spare = 2 * alpha * safety *", DEFINED),
    order("gpu bsa: rows behind a join are not compared again", "src/spmm/cuda/cluster_rows.cu", "        join(p, x, portion + first, cluster, lane);\n        free &= ~((2u << first) - 1u);", "        join(p, x, portion + first, cluster, lane);\n        free &= hits & ~((2u << first) - 1u);", "OrderOn*cuda*"),
    order("gpu bsa: a portion is looked at before it is decided", "src/spmm/cuda/cluster_rows.cu", "if (decided < end) decided = wait_for(p, cluster, end, lane);", "if (decided < end) decided = wait_for(p, cluster, portion, lane);", "OrderOn*cuda*"),
    order("gpu bsa: counters are not cleared", "src/spmm/cuda/cluster_rows.cu", "    for (index_t b = lane; b < p.e.all_blocks; b += lanes) x.count[b] = 0;\n", "", "OrderOn*cuda*"),
    order("gpu encoding: a repeated column counts twice", "src/spmm/cuda/encode_rows.cu", "count += col[k] != last;", "++count;", "*UnsortedColumns*cuda*"),
    order("gpu minhash: lanes do not meet", "src/spmm/cuda/order_keys.cu", "if (other >= 0) first.look_at(hash, static_cast<index_t>(other));", "if (other >= 0 && distance < 0) first.look_at(hash, static_cast<index_t>(other));", "OrderOn*cuda*"),
    order("pack: the worst row first", "src/spmm/cpu/pack_rows.cpp", "const offset_t score = 3 * offset_t{overlap_.data()[row]} - length;", "const offset_t score = length - 3 * offset_t{overlap_.data()[row]};", "*OrdersGatherLess/cpu"),
    order("sample: some panels are all", "src/spmm/order/sample.cpp", "{grown(found.cost.pairs, by_entries),", "{found.cost.pairs,", "*SomePanelsStandForAll/cuda*"),
    order("gpu count: always the first panels", "src/spmm/cuda/count_panels.cu", "(panel != nullptr ? panel[k] : k) * height", "k * height", "*SomePanelsStandForAll/cuda*"),
    order("gpu count: a repeated column counts twice", "src/spmm/cuda/count_panels.cu", "mine += k == begin || s.a.col[k] != s.a.col[k - 1];", "++mine;", "*PanelCostIsWhatItSays/cuda*"),
    order("gpu count: a slab that comes later is not noted", "src/spmm/cuda/count_panels.cu", "        if ((found & bit) == 0) atomicOr(table + at, Slot{bit});\n", "", "*PanelCostIsWhatItSays/cuda*"),
    order("gpu count: slots are taken for one's own", "src/spmm/cuda/count_panels.cu", "        if (found >> mask_bits != key >> mask_bits) continue;\n", "", "*PanelCostIsWhatItSays/cuda*"),
    order("gpu count: the table is looked at before it is full", "src/spmm/cuda/count_panels.cu", "static_cast<unsigned long long>(mine));\n    __syncthreads();", "static_cast<unsigned long long>(mine));", "*PanelCostIsWhatItSays/cuda*", seeds=[1, 2, 3]),
    order("count: the last tile is forgotten", "src/spmm/panel_counts.hpp", "    end_tile();\n    cost.panels", "    cost.panels", "*PanelCostIsWhatItSays*"),
    order("choice: a GPU orders as slowly as a core", "src/spmm/order/choose.cpp", "(gpu ? gpu_prices : cpu_prices)", "(gpu ? cpu_prices : gpu_prices)", "OrderChoice.TakesWhatPaid*"),
    order("choice: an order that only breaks even", "src/spmm/order/choose.cpp", "candidates[c].total(calls) < candidates[best].total(calls)", "candidates[c].total(calls) <= candidates[best].total(calls)", "OrderChoice*"),
]
