// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Kernels that add into y wherever an entry says: every thread has a y of its own; they are added in thread order at
// the end.
#include <omp.h>

#include <algorithm>

#include "spmv/steps.hpp"

namespace tulle::inline TULLE_ABI::spmv {
namespace {

// work(first, last, sums): adds the products of the items first … last-1 to sums[0 … outputs-1].
template <class V, class Work>
void scatter(const CpuQueue& q, offset_t items, index_t outputs, V* sums, const Vectors<V>& v, Work&& work)
{
    const offset_t threads = q.threads, n = outputs;
#pragma omp parallel num_threads(q.threads)
    {
#pragma omp for schedule(static)
        for (offset_t t = 0; t < threads; ++t) {
            std::fill_n(sums + t * n, n, V(0));
            work(items / threads * t + items % threads * t / threads,
                 items / threads * (t + 1) + items % threads * (t + 1) / threads, sums + t * n);
        }
#pragma omp for schedule(static)
        for (offset_t i = 0; i < n; ++i) {
            V sum = 0;
            for (offset_t t = 0; t < threads; ++t) sum += sums[t * n + i];
            v.y[i] = scaled(v.alpha, sum, v.beta, v.y + i);
        }
    }
}

template <class V, class M>
V* sums_of(const Workspace<V, M>& work)
{
    return const_cast<V*>(work.private_sums.data());
}

}  // namespace

template <class V>
Buffer<V> make_private_sums(const CpuQueue& q, index_t outputs)
{
    return Buffer<V>(q, offset_t{outputs} * q.threads);
}

template <class V, class M>
void multiply_scatter(const CpuQueue& q, const CsrView<M>& a, const Workspace<V, M>& work, const Vectors<V>& v)
{
    scatter(q, a.nonzeros, a.cols, sums_of(work), v, [&](offset_t first, offset_t last, V* sums) {
        if (first == last) return;
        index_t i =
            static_cast<index_t>(std::upper_bound(a.row_begin, a.row_begin + a.rows + 1, first) - a.row_begin - 1);
        for (offset_t k = first; k < last; ++i)
            for (const offset_t end = std::min(last, a.row_begin[i + 1]); k < end; ++k)
                sums[a.col[k]] += static_cast<V>(a.value[k]) * v.x[i];
    });
}

template <class V, class M>
void multiply_entries(const CpuQueue& q, const CooView<M>& a, const Workspace<V, M>& work, const Vectors<V>& v)
{
    scatter(q, a.nonzeros, a.rows, sums_of(work), v, [&](offset_t first, offset_t last, V* sums) {
        for (offset_t k = first; k < last; ++k) sums[a.row[k]] += static_cast<V>(a.value[k]) * v.x[a.col[k]];
    });
}

template <class V, class M>
void multiply_blocks_transposed(const CpuQueue& q, const BlockedEllView<M>& a, const Workspace<V, M>& work,
                                const Vectors<V>& v)
{
    scatter(q, a.slots(), a.cols, sums_of(work), v, [&](offset_t first, offset_t last, V* sums) {
        for (offset_t slot = first; slot < last; ++slot) {
            if (a.block_col[slot] < 0) continue;
            const index_t row = static_cast<index_t>(slot / a.width) * a.block, col = a.block_col[slot] * a.block;
            const index_t height = std::min(a.block, a.rows - row), width = std::min(a.block, a.cols - col);
            const M* value = a.value + slot * a.block * a.block;
            for (index_t r = 0; r < height; ++r)
                for (index_t c = 0; c < width; ++c)
                    sums[col + c] += static_cast<V>(value[offset_t{r} * a.block + c]) * v.x[row + r];
        }
    });
}

template Buffer<float> make_private_sums(const CpuQueue&, index_t);
template Buffer<double> make_private_sums(const CpuQueue&, index_t);
template void multiply_scatter(const CpuQueue&, const CsrView<float>&, const Workspace<float, float>&,
                               const Vectors<float>&);
template void multiply_scatter(const CpuQueue&, const CsrView<double>&, const Workspace<double, double>&,
                               const Vectors<double>&);
template void multiply_scatter(const CpuQueue&, const CsrView<float>&, const Workspace<double, float>&,
                               const Vectors<double>&);
template void multiply_entries(const CpuQueue&, const CooView<float>&, const Workspace<float, float>&,
                               const Vectors<float>&);
template void multiply_entries(const CpuQueue&, const CooView<double>&, const Workspace<double, double>&,
                               const Vectors<double>&);
template void multiply_entries(const CpuQueue&, const CooView<float>&, const Workspace<double, float>&,
                               const Vectors<double>&);
template void multiply_blocks_transposed(const CpuQueue&, const BlockedEllView<float>&, const Workspace<float, float>&,
                                         const Vectors<float>&);
template void multiply_blocks_transposed(const CpuQueue&, const BlockedEllView<double>&,
                                         const Workspace<double, double>&, const Vectors<double>&);
template void multiply_blocks_transposed(const CpuQueue&, const BlockedEllView<float>&, const Workspace<double, float>&,
                                         const Vectors<double>&);

}  // namespace tulle::inline TULLE_ABI::spmv
