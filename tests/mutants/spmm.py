"""Mutations of SpMM's products."""
from mutants import mutant

CUDA = "tulle/spmm/cuda/"
CPU = "tulle/spmm/cpu/"
BATTERY = "*SpmmPanelsOn.MultiplyTheBattery/cuda*"
CUT = "*CutLongPanels/cuda*"
LANES = "*RowsOfAnyLanes/cuda*"


def spmm(name, file, old, new, filter=BATTERY, **more):
    return mutant("spmm: " + name, file, old, new, test=more.pop("test", "spmm"), filter=filter, seeds=more.pop("seeds", [1]), **more)


MUTANTS = [
    spmm("panels: numbers that are not finite go unnoticed", CUDA + "multiply_panels.cu", "wild = wild || value - value != 0.0f;", "wild = wild || value - value > 0.0f;", filter="*KeepWhatIsNotFinite*/cuda*"),
    spmm("panels: no barrier before a stage is read", CUDA + "multiply_panels.cu", "const bool wild = __syncthreads_or(lay_down<Columns>(held, stage)) != 0;", "const bool wild = lay_down<Columns>(held, stage);", seeds=[1, 2, 3]),
    spmm("panels: a slab takes another's tile", CUDA + "multiply_panels.cu", "__popc(tiles.slabs & ((1u << slab) - 1))", "slab"),
    spmm("panels: values of lanes above are skipped", CUDA + "multiply_panels.cu", "value += __popc(word);", "value += __popc(word & below);"),
    spmm("panels: the first unit to come adds up", CUDA + "multiply_panels.cu", "is_last[0] = arrive(arrived) == unit.pieces - 1;", "is_last[0] = arrive(arrived) == 0;", filter=CUT),
    spmm("panels: units are counted on from the run before", CUDA + "multiply_panels.cu", "if (is_last[0]) *arrived = 0; ", "if (is_last[0] && arrived == nullptr) *arrived = 0; ", filter=CUT),
    spmm("panels: rows of C in the order of panels", CUDA + "multiply_panels.cu", "p.row != nullptr ? p.row[first_row + row] : first_row + row", "first_row + row", filter="*TakeNewValues/cuda*"),
    spmm("panels: new values stay outside", "tulle/spmm/spmm.cpp", "if (!panels.value.empty()) carry_values", "if (panels.value.empty()) carry_values", filter="*TakeNewValues/cuda*"),
    spmm("panels: columns by number, not by slabs", CPU + "make_panels.cpp", "return gray_rank(x.used_by) < gray_rank(y.used_by);", "return x.col < y.col;", filter="SpmmPanels.GroupColumns*"),
    spmm("rows: long rows are written whole as well", CUDA + "multiply_rows.cu", "if (end - begin > longest) return;", "if (longest < 0) return;", filter=LANES),
    spmm("rows: only the first piece of a long row", CUDA + "multiply_rows.cu", "sum += partial[offset_t{cut.first + p} * o.n + j];", "sum += p == 0 ? partial[offset_t{cut.first} * o.n + j] : 0;", filter=LANES),
    spmm("beta of zero reads C", CUDA + "operands.cuh", "o.beta == 0 ? o.alpha * sum : o.alpha * sum + o.beta * widen(*to)", "o.alpha * sum + o.beta * widen(*to)", filter="*ReadsCOnly*/cuda*"),
    spmm("a slice of columns goes to the first ones", "tulle/spmm/spmm.cpp", "Operands<V, C> o = all.columns(j, at_once);", "Operands<V, C> o = all.columns(0, at_once);", filter="*AnyColumnsAndLayout/cuda*"),
    spmm("columns of B beyond the last are turned", CUDA + "turn_columns.cu", "if (i + r < rows && j + x < n) to[", "if (i + r < rows) to[", filter="*AnyColumnsAndLayout/cuda*"),
    spmm("cpu: the last nonzero of even rows", CPU + "multiply_rows.cpp", "    for (; k + 1 < end; k += 2) {\n        const S first", "    for (; k + 2 < end; k += 2) {\n        const S first", filter="*IsExactForIntegers/cpu"),
    spmm("f16: ties go up", "tulle/base/float16.hpp", "magnitude + 0xfffu + (magnitude >> 13 & 1u)", "magnitude + 0x1000u", test="base", filter="Numbers16*"),
]
