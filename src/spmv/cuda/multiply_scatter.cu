// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Kernels that add into y wherever an entry says, with atomic additions: first y = beta y, then the products.
#include "device/cuda/kernel.cuh"

#include "spmv/steps.hpp"

namespace tulle::inline TULLE_ABI::spmv {
namespace {

constexpr int threads_per_block = 256;
constexpr int lanes_per_row = 8;  // of the matrix as it is stored; a row of a mesh has 5 to 80 entries
constexpr unsigned all_lanes = 0xffffffffu;

template <class V>
__global__ void __launch_bounds__(threads_per_block) scale_kernel(V beta, V* y, offset_t n)
{
    const offset_t i = global_thread();
    if (i < n) y[i] = beta == V(0) ? V(0) : beta * y[i];
}

// A slice of lanes per stored row i: entry (i, j) adds to y[j].
//   grid: ceil(rows * lanes / threads)      shared memory: none      y: atomically
template <class V, class M>
__global__ void __launch_bounds__(threads_per_block) multiply_scatter_kernel(CsrView<M> a, Vectors<V> v)
{
    const offset_t row = global_thread() / lanes_per_row;
    if (row >= a.rows) return;
    const V factor = v.alpha * v.x[row];
    const offset_t end = a.row_begin[row + 1];
    for (offset_t k = a.row_begin[row] + threadIdx.x % lanes_per_row; k < end; k += lanes_per_row)
        atomicAdd(v.y + a.col[k], static_cast<V>(a.value[k]) * factor);
}

// One entry per lane; neighbouring lanes in the same row add up first, and the last lane of each run adds to y.
//   grid: ceil(nonzeros / threads)      shared memory: none      y: atomically
template <class V, class M>
__global__ void __launch_bounds__(threads_per_block) multiply_entries_kernel(CooView<M> a, Vectors<V> v)
{
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const offset_t k = global_thread();
    const bool inside = k < a.nonzeros;
    const index_t row = inside ? a.row[k] : -1;
    V sum = inside ? static_cast<V>(a.value[k]) * v.x[a.col[k]] : V(0);

    const index_t row_before = __shfl_up_sync(all_lanes, row, 1);
    const unsigned begins = __ballot_sync(all_lanes, lane == 0 || row_before != row);
    const int run_begin = 31 - __clz(static_cast<int>(begins & (all_lanes >> (31 - lane))));
    for (int distance = 1; distance < 32; distance *= 2) {
        const V other = __shfl_up_sync(all_lanes, sum, distance);
        if (lane - distance >= run_begin) sum += other;
    }
    const bool run_ends = lane == 31 || (begins >> (lane + 1) & 1u) != 0;
    if (inside && run_ends) atomicAdd(v.y + row, v.alpha * sum);
}

// A slice of lanes per row of A: entry (i, j) of a block adds to y[j].
//   grid: ceil(rows * lanes / threads)      shared memory: none      y: atomically
template <class V, class M>
__global__ void __launch_bounds__(threads_per_block)
    multiply_blocks_transposed_kernel(BlockedEllView<M> a, Vectors<V> v)
{
    const offset_t row = global_thread() / lanes_per_row;
    if (row >= a.rows) return;
    const offset_t first_slot = row / a.block * a.width;
    const V factor = v.alpha * v.x[row];
    for (offset_t k = threadIdx.x % lanes_per_row; k < offset_t{a.width} * a.block; k += lanes_per_row) {
        const offset_t slot = first_slot + k / a.block;
        const offset_t col = offset_t{a.block_col[slot]} * a.block + k % a.block;
        if (a.block_col[slot] >= 0 && col < a.cols)
            atomicAdd(v.y + col,
                      static_cast<V>(a.value[(slot * a.block + row % a.block) * a.block + k % a.block]) * factor);
    }
}

template <class V>
void scale(const CudaQueue& q, offset_t n, const Vectors<V>& v)
{
    launch(q, one_thread_each(n, threads_per_block), scale_kernel<V>, v.beta, v.y, n);
}

}  // namespace

template <class V>
Buffer<V> make_private_sums(const CudaQueue&, index_t)
{
    return {};
}  // atomics need no room

template <class V, class M>
void multiply_scatter(const CudaQueue& q, const CsrView<M>& a, const Workspace<V, M>&, const Vectors<V>& v)
{
    scale(q, a.cols, v);
    launch(q, one_thread_each(offset_t{a.rows} * lanes_per_row, threads_per_block), multiply_scatter_kernel<V, M>, a,
           v);
}

template <class V, class M>
void multiply_entries(const CudaQueue& q, const CooView<M>& a, const Workspace<V, M>&, const Vectors<V>& v)
{
    scale(q, a.rows, v);
    launch(q, one_thread_each(a.nonzeros, threads_per_block), multiply_entries_kernel<V, M>, a, v);
}

template <class V, class M>
void multiply_blocks_transposed(const CudaQueue& q, const BlockedEllView<M>& a, const Workspace<V, M>&,
                                const Vectors<V>& v)
{
    scale(q, a.cols, v);
    launch(q, one_thread_each(offset_t{a.rows} * lanes_per_row, threads_per_block),
           multiply_blocks_transposed_kernel<V, M>, a, v);
}

template Buffer<float> make_private_sums(const CudaQueue&, index_t);
template Buffer<double> make_private_sums(const CudaQueue&, index_t);
template void multiply_scatter(const CudaQueue&, const CsrView<float>&, const Workspace<float, float>&,
                               const Vectors<float>&);
template void multiply_scatter(const CudaQueue&, const CsrView<double>&, const Workspace<double, double>&,
                               const Vectors<double>&);
template void multiply_scatter(const CudaQueue&, const CsrView<float>&, const Workspace<double, float>&,
                               const Vectors<double>&);
template void multiply_entries(const CudaQueue&, const CooView<float>&, const Workspace<float, float>&,
                               const Vectors<float>&);
template void multiply_entries(const CudaQueue&, const CooView<double>&, const Workspace<double, double>&,
                               const Vectors<double>&);
template void multiply_entries(const CudaQueue&, const CooView<float>&, const Workspace<double, float>&,
                               const Vectors<double>&);
template void multiply_blocks_transposed(const CudaQueue&, const BlockedEllView<float>&, const Workspace<float, float>&,
                                         const Vectors<float>&);
template void multiply_blocks_transposed(const CudaQueue&, const BlockedEllView<double>&,
                                         const Workspace<double, double>&, const Vectors<double>&);
template void multiply_blocks_transposed(const CudaQueue&, const BlockedEllView<float>&,
                                         const Workspace<double, float>&, const Vectors<double>&);

}  // namespace tulle::inline TULLE_ABI::spmv
