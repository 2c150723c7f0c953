// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Columns of B to rows, through squares in shared memory, so that both sides are read and written in whole lines.
#include "device/cuda/kernel.cuh"

#include "base/math.hpp"
#include "spmm/steps.hpp"

namespace tulle::inline TULLE_ABI::spmm {
namespace {

constexpr int side = 32, threads_per_block = 256, lines = threads_per_block / side;

// One square a block.
//   grid: ceil(rows / 32) * ceil(n / 32)      shared memory: 32 x 33 numbers      to: every number once
template <class V>
__global__ void __launch_bounds__(threads_per_block)
    turn_columns_kernel(const V* __restrict__ b, offset_t leading, index_t rows, index_t n, offset_t strips,
                        V* __restrict__ to)
{
    TULLE_SHARED(V, square, side * (side + 1));
    const int x = static_cast<int>(threadIdx.x) % side, y = static_cast<int>(threadIdx.x) / side;
    const offset_t i = blockIdx.x % strips * side, j = blockIdx.x / strips * side;
    for (int c = y; c < side; c += lines)
        if (i + x < rows && j + c < n) square[c * (side + 1) + x] = b[i + x + (j + c) * leading];
    __syncthreads();
    for (int r = y; r < side; r += lines)
        if (i + r < rows && j + x < n) to[(i + r) * n + j + x] = square[x * (side + 1) + r];
}

}  // namespace

template <class V>
void turn_columns(const CudaQueue& q, const V* b, offset_t leading, index_t rows, index_t n, V* to)
{
    const offset_t strips = ceil_div(rows, index_t{side});
    launch(q, {strips * ceil_div(n, index_t{side}), threads_per_block}, turn_columns_kernel<V>, b, leading, rows, n,
           strips, to);
}

template void turn_columns(const CudaQueue&, const float*, offset_t, index_t, index_t, float*);
template void turn_columns(const CudaQueue&, const double*, offset_t, index_t, index_t, double*);
template void turn_columns(const CudaQueue&, const Float16*, offset_t, index_t, index_t, Float16*);
template void turn_columns(const CudaQueue&, const Bfloat16*, offset_t, index_t, index_t, Bfloat16*);

}  // namespace tulle::inline TULLE_ABI::spmm
