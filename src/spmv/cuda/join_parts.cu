// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What parts send each other, and what becomes of it. One thread per entry or row; the heads of a cut row are so few
// that one thread adds them.
#include "device/cuda/kernel.cuh"
#include "spmv/team/steps.hpp"

namespace tulle::inline TULLE_ABI::spmv {
namespace {

template <class V>
__global__ void pack_entries_kernel(const V* __restrict__ x, const index_t* __restrict__ at, offset_t n,
                                    V* __restrict__ to)
{
    const offset_t k = global_thread();
    if (k < n) to[k] = x[at[k]];
}

template <class V>
__global__ void add_heads_kernel(const V* __restrict__ head, index_t n, V* __restrict__ y)
{
    V total = *y;
    for (index_t k = 0; k < n; ++k) total += head[k];
    *y = total;
}

template <class V>
__global__ void fold_lines_kernel(const V* __restrict__ sum, const offset_t* __restrict__ first, index_t rows, V alpha,
                                  V beta, V* __restrict__ y)
{
    const offset_t i = global_thread();
    if (i >= rows) return;
    V total = sum[first[i]];
    for (offset_t s = first[i] + 1; s < first[i + 1]; ++s) total += sum[s];
    y[i] = scaled(alpha, total, beta, y + i);
}

template <class V>
__global__ void sum_parts_kernel(PartialSums<V> parts, V alpha, V beta, V* __restrict__ y)
{
    const offset_t i = global_thread();
    if (i < parts.n) y[i] = scaled(alpha, parts.sum(i), beta, y + i);
}

}  // namespace

template <class V>
void pack_entries(const CudaQueue& q, const V* x, const index_t* at, offset_t n, V* to)
{
    launch(q, one_thread_each(n), pack_entries_kernel<V>, x, at, n, to);
}

template <class V>
void add_heads(const CudaQueue& q, const V* head, index_t n, V* y)
{
    launch(q, {1, 1}, add_heads_kernel<V>, head, n, y);
}

template <class V>
void fold_lines(const CudaQueue& q, const V* sum, const offset_t* first, index_t rows, V alpha, V beta, V* y)
{
    launch(q, one_thread_each(rows), fold_lines_kernel<V>, sum, first, rows, alpha, beta, y);
}

template <class V>
void sum_parts(const CudaQueue& q, const PartialSums<V>& parts, V alpha, V beta, V* y)
{
    launch(q, one_thread_each(parts.n), sum_parts_kernel<V>, parts, alpha, beta, y);
}

template void pack_entries(const CudaQueue&, const float*, const index_t*, offset_t, float*);
template void pack_entries(const CudaQueue&, const double*, const index_t*, offset_t, double*);
template void add_heads(const CudaQueue&, const float*, index_t, float*);
template void add_heads(const CudaQueue&, const double*, index_t, double*);
template void fold_lines(const CudaQueue&, const float*, const offset_t*, index_t, float, float, float*);
template void fold_lines(const CudaQueue&, const double*, const offset_t*, index_t, double, double, double*);
template void sum_parts(const CudaQueue&, const PartialSums<float>&, float, float, float*);
template void sum_parts(const CudaQueue&, const PartialSums<double>&, double, double, double*);

}  // namespace tulle::inline TULLE_ABI::spmv
