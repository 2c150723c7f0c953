// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What parts send each other, and what becomes of it.
#include "prim/cpu/pieces.hpp"
#include "spmv/team/steps.hpp"

namespace tulle::inline TULLE_ABI::spmv {
namespace {

template <class F>
void each(const CpuQueue& q, offset_t n, const F& work)
{
    prim::each_piece(q, prim::piece_per_thread(q, n), [&](offset_t, offset_t begin, offset_t end) {
        for (offset_t i = begin; i < end; ++i) work(i);
    });
}

}  // namespace

template <class V>
void pack_entries(const CpuQueue& q, const V* x, const index_t* at, offset_t n, V* to)
{
    each(q, n, [=](offset_t k) { to[k] = x[at[k]]; });
}

template <class V>
void add_heads(const CpuQueue&, const V* head, index_t n, V* y)
{
    for (index_t k = 0; k < n; ++k) *y += head[k];
}

template <class V>
void fold_lines(const CpuQueue& q, const V* sum, const offset_t* first, index_t rows, V alpha, V beta, V* y)
{
    each(q, rows, [=](offset_t i) {
        V total = sum[first[i]];
        for (offset_t s = first[i] + 1; s < first[i + 1]; ++s) total += sum[s];
        y[i] = scaled(alpha, total, beta, y + i);
    });
}

template <class V>
void sum_parts(const CpuQueue& q, const PartialSums<V>& parts, V alpha, V beta, V* y)
{
    each(q, parts.n, [=](offset_t i) { y[i] = scaled(alpha, parts.sum(i), beta, y + i); });
}

template void pack_entries(const CpuQueue&, const float*, const index_t*, offset_t, float*);
template void pack_entries(const CpuQueue&, const double*, const index_t*, offset_t, double*);
template void add_heads(const CpuQueue&, const float*, index_t, float*);
template void add_heads(const CpuQueue&, const double*, index_t, double*);
template void fold_lines(const CpuQueue&, const float*, const offset_t*, index_t, float, float, float*);
template void fold_lines(const CpuQueue&, const double*, const offset_t*, index_t, double, double, double*);
template void sum_parts(const CpuQueue&, const PartialSums<float>&, float, float, float*);
template void sum_parts(const CpuQueue&, const PartialSums<double>&, double, double, double*);

}  // namespace tulle::inline TULLE_ABI::spmv
