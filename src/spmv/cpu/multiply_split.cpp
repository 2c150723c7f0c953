// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Pieces of equal work along the merge path. A piece's size does not depend on the number of threads, so neither do the
// results.
#include "spmv/cpu/merge_interval.hpp"

namespace tulle::inline TULLE_ABI::spmv {

offset_t steps_per_piece(const CpuQueue&) { return cpu_piece_steps; }

template <class V, class M>
void multiply_split(const CpuQueue& q, const CsrView<M>& a, int lanes, const Workspace<V, M>& work, const Vectors<V>& v)
{
    const offset_t pieces = work.carry.size();
    const prim::MergePoint* point = work.point.data();
    V* carry = const_cast<V*>(work.carry.data());
    const auto multiply = [&, sums = lanes == 8 ? 8 : 2](offset_t p) {
        carry[p] = multiply_interval(a, {}, point[p], point[p + 1], sums, v);
    };
    if (pieces == 1) multiply(0);  // without a parallel region
    else {
#pragma omp parallel for num_threads(q.threads) schedule(dynamic)
        for (offset_t p = 0; p < pieces; ++p) multiply(p);
    }
    for (offset_t p = 0; p < pieces; ++p)
        if (point[p + 1].row < a.rows) v.y[point[p + 1].row] += v.alpha * carry[p];
}

template void multiply_split(const CpuQueue&, const CsrView<float>&, int, const Workspace<float, float>&,
                             const Vectors<float>&);
template void multiply_split(const CpuQueue&, const CsrView<double>&, int, const Workspace<double, double>&,
                             const Vectors<double>&);
template void multiply_split(const CpuQueue&, const CsrView<float>&, int, const Workspace<double, float>&,
                             const Vectors<double>&);

}  // namespace tulle::inline TULLE_ABI::spmv
