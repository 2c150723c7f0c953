// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Pieces of equal work along the merge path. A piece's size does not depend on the number of threads, so neither do the results.
#include "tulle/spmv/steps.hpp"

namespace tulle::spmv {
namespace {

constexpr offset_t piece_steps = offset_t{1} << 14;   // 200 KB of matrix in double: well above the cost of starting a piece

template <class V, class M>
V dot(const CsrView<M>& a, offset_t begin, offset_t end, const V* x)
{
    V sum = 0;
    for (offset_t k = begin; k < end; ++k) sum += static_cast<V>(a.value[k]) * x[a.col[k]];
    return sum;
}

// Finishes the rows that end inside the piece; returns what it has of the next one.
template <class V, class M>
V multiply_piece(const CsrView<M>& a, prim::MergePoint from, prim::MergePoint to, const Vectors<V>& v)
{
    offset_t k = from.nonzero;
    for (offset_t i = from.row; i < to.row; ++i) {
        v.y[i] = scaled(v.alpha, dot(a, k, a.row_begin[i + 1], v.x), v.beta, v.y + i);
        k = a.row_begin[i + 1];
    }
    return dot(a, k, to.nonzero, v.x);
}

}  // namespace

offset_t steps_per_piece(const CpuQueue&) { return piece_steps; }

template <class V, class M>
void multiply_split(const CpuQueue& q, const CsrView<M>& a, const Workspace<V, M>& work, const Vectors<V>& v)
{
    const offset_t pieces = work.carry.size();
    const prim::MergePoint* point = work.point.data();
    V* carry = const_cast<V*>(work.carry.data());
#pragma omp parallel for num_threads(q.threads) schedule(dynamic)
    for (offset_t p = 0; p < pieces; ++p) carry[p] = multiply_piece(a, point[p], point[p + 1], v);
    for (offset_t p = 0; p < pieces; ++p)
        if (point[p + 1].row < a.rows) v.y[point[p + 1].row] += v.alpha * carry[p];
}

template void multiply_split(const CpuQueue&, const CsrView<float>&, const Workspace<float, float>&, const Vectors<float>&);
template void multiply_split(const CpuQueue&, const CsrView<double>&, const Workspace<double, double>&, const Vectors<double>&);
template void multiply_split(const CpuQueue&, const CsrView<float>&, const Workspace<double, float>&, const Vectors<double>&);

}  // namespace tulle::spmv
