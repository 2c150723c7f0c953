// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Rows dealt to threads in pieces of equal work; each row is added up by one thread in an order that depends on the row alone.
#include <array>

#include "tulle/base/constant.hpp"
#include "tulle/spmv/steps.hpp"

namespace tulle::spmv {
namespace {

// The row's products in `Sums` sums side by side, so that an addition need not wait for the one before it.
template <int Sums, class V>
V dot(const CsrView<V>& a, offset_t begin, offset_t end, const V* x)
{
    std::array<V, Sums> sum{};
    offset_t k = begin;
    for (; k + Sums <= end; k += Sums)
        for (int s = 0; s < Sums; ++s) sum[static_cast<std::size_t>(s)] += a.value[k + s] * x[a.col[k + s]];
    for (; k < end; ++k) sum[0] += a.value[k] * x[a.col[k]];
    for (std::size_t s = 1; s < Sums; ++s) sum[0] += sum[s];
    return sum[0];
}

template <int Sums, class V>
void multiply_piece(const CsrView<V>& a, offset_t first, offset_t last, const Vectors<V>& v)
{
    for (offset_t i = first; i < last; ++i)
        v.y[i] = scaled(v.alpha, dot<Sums>(a, a.row_begin[i], a.row_begin[i + 1], v.x), v.beta, v.y + i);
}

}  // namespace

template <class V>
void multiply_rows(const CpuQueue& q, const CsrView<V>& a, int lanes, const Vectors<V>& v)
{
    const offset_t work = a.rows + a.nonzeros;
    const auto row_at = [&](int part) { return prim::merge_point(a.row_begin, a.rows, a.nonzeros, work / q.threads * part + work % q.threads * part / q.threads).row; };
    with_constant<1, 2, 4>(lanes, [&](auto sums) {
#pragma omp parallel for num_threads(q.threads) schedule(static)
        for (int t = 0; t < q.threads; ++t) {
            multiply_piece<sums()>(a, row_at(t), row_at(t + 1), v);
        }
    });
}

template void multiply_rows(const CpuQueue&, const CsrView<float>&, int, const Vectors<float>&);
template void multiply_rows(const CpuQueue&, const CsrView<double>&, int, const Vectors<double>&);

}  // namespace tulle::spmv
