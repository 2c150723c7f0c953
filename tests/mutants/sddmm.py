"""Mutations of SDDMM and of sparse attention."""
from mutants import mutant

BATTERY = "*SddmmOn.IsExactForIntegers/cuda*"
ATTENTION = "*AttentionOn.IsTheSoftmax*/cuda*"


def sddmm(name, file, old, new, filter=BATTERY, **more):
    return mutant("sddmm: " + name, file, old, new, test="sddmm", filter=filter, seeds=more.pop("seeds", [1, 2, 3]), **more)


MUTANTS = [
    sddmm("early: X is read while the kernel ahead writes it", "src/sddmm/cuda/sample.cu", "    wait_for_earlier_kernels();\n", "", filter="*SddmmChainOn*"),
    sddmm("early: Q is read while the kernel ahead writes it", "src/sddmm/cuda/attend.cu", "    wait_for_earlier_kernels();\n", "", filter="*SddmmChainOn*"),
    sddmm("early: new values pass for settled", "src/sddmm/sddmm.cpp", "    s.settled = false;\n", "", filter="*SddmmChainOn*", build="sim-asan"),
    sddmm("a batch in several rows takes the first one's row of X", "src/sddmm/cuda/dots.cuh", "if (!same_row) here", "if (false) here"),
    sddmm("sums are exchanged over too few lanes", "src/sddmm/cuda/dots.cuh", "for (; distance > 0; distance /= 2) sum[0] +=", "for (; distance > 1; distance /= 2) sum[0] +="),
    sddmm("lanes give away what they should keep", "src/sddmm/cuda/dots.cuh", "given = upper ? sum[i] : sum[i + half]", "given = upper ? sum[i + half] : sum[i]"),
    sddmm("unaligned rows are loaded as packs", "src/sddmm/cuda/dots.cuh", "m.col == 1 && k % Pack<V>::size == 0 &&", "m.col == 1 &&"),
    sddmm("beta of zero reads c", "src/sddmm/cuda/sample.cu", "o.beta == 0 ? product : product + o.beta * widen(o.c[p])", "product + o.beta * widen(o.c[p])"),
    sddmm("values of A are no factor", "src/sddmm/cuda/sample.cu", "o.value ? o.alpha * (dot * widen(o.value[p]))", "o.value ? o.alpha * dot"),
    sddmm("results beyond the last", "src/sddmm/cuda/sample.cu", "if (p >= nonzeros || lane", "if (p > nonzeros || lane", filter="*SddmmEndsOn*/cuda*:" + BATTERY),
    sddmm("cpu: the last nonzeros of a row", "src/sddmm/cpu/row_dots.hpp", "for (; p < end; ++p) {", "for (; p + 1 < end; ++p) {", filter="*IsExactForIntegers/cpu"),
    sddmm("cpu: columns after the last vector", "src/sddmm/cpu/row_dots.hpp", "for (index_t t = j; t < k; ++t) rest", "for (index_t t = j; t + 1 < k; ++t) rest", filter="*IsExactForIntegers/cpu"),
    sddmm("attention: sums are not scaled to the new base", "src/sddmm/cuda/attend.cu", "r.sum[c] *= scale;", "r.sum[c] *= S(1);", filter="*AttentionOn.ScoresMayBeFar*/cuda*"),
    sddmm("attention: scores of lanes with the same count twice", "src/sddmm/cuda/attend.cu", "slice_sum<32>(counts ? weight : S(0))", "slice_sum<32>(weight)", filter=ATTENTION),
    sddmm("attention: teams are not added up", "src/sddmm/cuda/attend.cu", "for (int distance = Team; distance < 32; distance *= 2)\n#pragma unroll", "for (int distance = Team; distance < 16; distance *= 2)\n#pragma unroll", filter=ATTENTION),
    sddmm("attention: parts of a long row are not scaled to the same base", "src/sddmm/cuda/attend.cu", "            move_base(largest, part);\n", "", filter="*AttentionOn.*/cuda*"),
    sddmm("attention: a part of a long row is left out", "src/sddmm/cuda/attend.cu", "for (int w = 1; w < warps_per_block; ++w) {", "for (int w = 2; w < warps_per_block; ++w) {", filter=ATTENTION),
    sddmm("attention: empty rows are divided by nothing", "src/sddmm/cuda/attend.cu", "empty ? Sum<V>(0) : r.sum", "false ? Sum<V>(0) : r.sum", filter="*EqualScores*/cuda*"),
    sddmm("attention, cpu: the largest score is not kept", "src/sddmm/cpu/attend.cpp", "    r.largest = largest;\n}", "}", filter="*AttentionOn.*/cpu"),
    # large strides, huge indices
    sddmm("strides: packs of Y in 32 bits", "src/sddmm/cuda/dots.cuh", "load_pack(y.data + col[i] * y.row + j)", "load_pack(y.data + static_cast<index_t>(col[i] * y.row) + j)", filter="*SddmmLimitsOn*/cuda*", seeds=[1]),
    sddmm("strides: numbers of Y in 32 bits", "src/sddmm/cuda/dots.cuh", "widen(y.data[col[i] * y.row + j * y.col])", "widen(y.data[static_cast<index_t>(col[i] * y.row + j * y.col)])", filter="*SddmmLimitsOn*/cuda*", seeds=[1]),
    sddmm("strides: cpu, rows of Y in 32 bits", "src/sddmm/cpu/row_dots.hpp", "rows[i] = y.data + columns[i] * y.row;", "rows[i] = y.data + static_cast<index_t>(columns[i] * y.row);", filter="*SddmmLimitsOn*/cpu*", seeds=[1]),
    sddmm("strides: attention, rows of V in 32 bits", "src/sddmm/cuda/attend.cu", "const V* from = v.data + row * v.row + j * v.col;", "const V* from = v.data + static_cast<index_t>(row * v.row + j * v.col);", filter="*SddmmLimitsOn*/cuda*", seeds=[1]),
    sddmm("strides: attention, rows of H in 32 bits", "src/sddmm/cuda/attend.cu", "o.h.data[row * o.h.row + j * o.h.col] =", "o.h.data[static_cast<index_t>(row * o.h.row + j * o.h.col)] =", filter="*SddmmLimitsOn*/cuda*", seeds=[1]),
    sddmm("attention: minus infinity is a base", "src/sddmm/cuda/attend.cu", "const S base = largest == minus_infinity<S>() ? S(0) : largest;", "const S base = largest;", filter="*ScoresOfMinusInfinity*/cuda*", seeds=[1]),
    sddmm("attention: parts of the next row are left before those of this one are joined", "src/sddmm/cuda/attend.cu", "for (int c = 0; c < Runs * run_length; ++c) r.sum[c] += part.sum[c];\n        }\n    __syncthreads();", "for (int c = 0; c < Runs * run_length; ++c) r.sum[c] += part.sum[c];\n        }", filter="*AttentionOn.ScoresMayBeFar*/cuda*", build="sim-tsan", seeds=[1, 2]),
]
