// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Row by row; each thread has rows with about as many nonzeros, and short rows count too.
#include <array>

#include "tulle/base/constant.hpp"
#include "tulle/prim/merge_path.hpp"
#include "tulle/spmv/steps.hpp"

namespace tulle::spmv {
namespace {

// The row's products in `Sums` sums side by side, so that an addition need not wait for the one before it.
template <int Sums, class V, class M, class C>
V dot(const M* value, const C* col, offset_t length, const V* x)
{
    std::array<V, Sums> sum{};
    offset_t k = 0;
    for (; k + Sums <= length; k += Sums)
        for (int s = 0; s < Sums; ++s) sum[static_cast<std::size_t>(s)] += static_cast<V>(value[k + s]) * x[col[k + s]];
    for (; k < length; ++k) sum[0] += static_cast<V>(value[k]) * x[col[k]];
    for (std::size_t s = 1; s < Sums; ++s) sum[0] += sum[s];
    return sum[0];
}

template <int Sums, class V, class M>
void multiply_piece(const CsrView<M>& a, const Narrow& narrow, offset_t first, offset_t last, const Vectors<V>& v)
{
    const bool wide = narrow.row_begin.empty();
    for (offset_t i = first; i < last; ++i) {
        const offset_t begin = a.row_begin[i], length = a.row_begin[i + 1] - begin;
        const V* x = v.x + (narrow.base.empty() ? 0 : narrow.base.data()[i]);
        const V sum = wide ? dot<Sums>(a.value + begin, a.col + begin, length, x) : dot<Sums>(a.value + begin, narrow.col.data() + begin, length, x);
        v.y[i] = scaled(v.alpha, sum, v.beta, v.y + i);
    }
}

}  // namespace

template <class M>
Narrow make_narrow(const CpuQueue& q, const CsrView<M>& a)
{
    Narrow n{Buffer<std::int32_t>(q, offset_t{a.rows} + 1), Buffer<std::uint16_t>(q, a.nonzeros), {}};
    if (a.cols > columns_of_16_bits) n.base = Buffer<index_t>(q, a.rows);
    n.row_begin.data()[a.rows] = static_cast<std::int32_t>(a.nonzeros);
#pragma omp parallel for num_threads(q.threads) schedule(static)
    for (index_t i = 0; i < a.rows; ++i) {
        const offset_t begin = a.row_begin[i], end = a.row_begin[i + 1];
        const index_t from = n.base.empty() || begin == end ? 0 : a.col[begin];
        n.row_begin.data()[i] = static_cast<std::int32_t>(begin);
        if (!n.base.empty()) n.base.data()[i] = from;
        for (offset_t k = begin; k < end; ++k) n.col.data()[k] = static_cast<std::uint16_t>(a.col[k] - from);
    }
    return n;
}

template <class V, class M>
void multiply_rows(const CpuQueue& q, const CsrView<M>& a, int lanes, const Narrow& narrow, const Vectors<V>& v)
{
    const offset_t work = a.rows + a.nonzeros;
    const auto row_at = [&](int part) { return prim::merge_point(a.row_begin, a.rows, a.nonzeros, work / q.threads * part + work % q.threads * part / q.threads).row; };
    with_constant<1, 2, 4>(lanes, [&](auto sums) {
#pragma omp parallel for num_threads(q.threads) schedule(static)
        for (int t = 0; t < q.threads; ++t) multiply_piece<sums()>(a, narrow, row_at(t), row_at(t + 1), v);
    });
}

template Narrow make_narrow(const CpuQueue&, const CsrView<float>&);
template Narrow make_narrow(const CpuQueue&, const CsrView<double>&);
template void multiply_rows(const CpuQueue&, const CsrView<float>&, int, const Narrow&, const Vectors<float>&);
template void multiply_rows(const CpuQueue&, const CsrView<double>&, int, const Narrow&, const Vectors<double>&);
template void multiply_rows(const CpuQueue&, const CsrView<float>&, int, const Narrow&, const Vectors<double>&);

}  // namespace tulle::spmv
