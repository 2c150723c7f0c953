// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Blocked-ELL, a slice of lanes per row: the lanes stride over the columns of all blocks of the row.
#include "device/cuda/kernel.cuh"

#include "spmv/steps.hpp"

namespace tulle::inline TULLE_ABI::spmv {
namespace {

constexpr int threads_per_block = 256;
constexpr int lanes_per_row = 8;  // eight doubles are a sector and a half of memory; blocks are 4 to 32 wide

// This lane's share of a row; padding and columns beyond the matrix are left out, and x is not read there.
template <class V, class M>
__device__ V dot_strided(const BlockedEllView<M>& a, offset_t row, int lane, const V* __restrict__ x)
{
    V sum = 0;
    const offset_t first_slot = row / a.block * a.width;
    for (offset_t k = lane; k < offset_t{a.width} * a.block; k += lanes_per_row) {
        const offset_t slot = first_slot + k / a.block;
        const offset_t col = offset_t{a.block_col[slot]} * a.block + k % a.block;
        if (a.block_col[slot] >= 0 && col < a.cols)
            sum += static_cast<V>(a.value[(slot * a.block + row % a.block) * a.block + k % a.block]) * x[col];
    }
    return sum;
}

//   grid: ceil(rows * lanes / threads)      shared memory: none      y: every row written once
template <class V, class M>
__global__ void __launch_bounds__(threads_per_block) multiply_blocks_kernel(BlockedEllView<M> a, Vectors<V> v)
{
    const int lane = static_cast<int>(threadIdx.x) % lanes_per_row;
    const offset_t row = global_thread() / lanes_per_row;
    const V sum = slice_sum<lanes_per_row>(row < a.rows ? dot_strided(a, row, lane, v.x) : V(0));
    if (row < a.rows && lane == 0) v.y[row] = scaled(v.alpha, sum, v.beta, v.y + row);
}

}  // namespace

template <class V, class M>
void multiply_blocks(const CudaQueue& q, const BlockedEllView<M>& a, const Vectors<V>& v)
{
    launch(q, one_thread_each(offset_t{a.rows} * lanes_per_row, threads_per_block), multiply_blocks_kernel<V, M>, a, v);
}

template void multiply_blocks(const CudaQueue&, const BlockedEllView<float>&, const Vectors<float>&);
template void multiply_blocks(const CudaQueue&, const BlockedEllView<double>&, const Vectors<double>&);
template void multiply_blocks(const CudaQueue&, const BlockedEllView<float>&, const Vectors<double>&);

}  // namespace tulle::inline TULLE_ABI::spmv
