// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A pass on a GPU: every block writes its sums, and the last block to arrive adds those in their order and calls
// finish(). The grid depends on n alone, so the bits do not depend on the GPU.
#pragma once

#include "device/cuda/kernel.cuh"
#include "vector/pass.hpp"

namespace tulle::inline TULLE_ABI::vector {

// Sum over the block, to thread 0. `room`: a number per warp.
__device__ inline double sum_of_block(double value, double* room)
{
    const double sum = slice_sum<32>(value);
    if (threadIdx.x % 32 == 0) room[threadIdx.x / 32] = sum;
    __syncthreads();
    double total = 0;
    if (threadIdx.x == 0)
        for (int w = 0; w < threads_of_block / 32; ++w) total += room[w];
    __syncthreads();
    return total;
}

// Writes the sums of this block; whether it was the last one.
template <int Count>
__device__ bool arrive_with(const double* sum, const PassSpace& space, double* room, int* is_last)
{
    for (int s = 0; s < Count; ++s) {
        const double total = sum_of_block(sum[s], room);
        if (threadIdx.x == 0) space.partial[static_cast<offset_t>(blockIdx.x) * Count + s] = total;
    }
    if (threadIdx.x == 0) *is_last = arrive(space.arrived) == static_cast<int>(gridDim.x) - 1;
    __syncthreads();
    return *is_last != 0;
}

//   grid: blocks_for(n)      shared memory: a number per warp      vectors: every entry once      scalars: by finish()
template <class Op>
__global__ void __launch_bounds__(threads_of_block) pass_kernel(offset_t n, Op op, PassSpace space)
{
    const bool on = op.load();
    const offset_t step = static_cast<offset_t>(gridDim.x) * threads_of_block;
    if constexpr (Op::sums == 0) {
        if (!on) return;
        for (offset_t i = global_thread(); i < n; i += step) op.at(i);
    } else {
        TULLE_SHARED(double, room, threads_of_block / 32);
        TULLE_SHARED(int, is_last, 1);
        double sum[Op::sums] = {};
        for (offset_t i = global_thread(); on && i < n; i += step) {
            const Sums<Op::sums> share = op.at(i);
            for (int s = 0; s < Op::sums; ++s) sum[s] += share.of[s];
        }
        if (!arrive_with<Op::sums>(sum, space, room, is_last)) return;
        for (int s = 0; s < Op::sums; ++s) {
            sum[s] = 0;
            for (unsigned b = threadIdx.x; b < gridDim.x; b += threads_of_block)
                sum[s] += space.partial[static_cast<offset_t>(b) * Op::sums + s];
            sum[s] = sum_of_block(sum[s], room);
        }
        if (threadIdx.x == 0) {
            *space.arrived = 0;  // for the next pass
            op.finish(on, sum);
        }
    }
}

//   grid: one thread
template <class Op>
__global__ void scalar_step_kernel(Op op)
{
    op.finish(op.load(), nullptr);
}

template <class Op>
void pass(const CudaQueue& q, offset_t n, const Op& op, const PassSpace& space)
{
    launch(q, {blocks_for(n), threads_of_block}, pass_kernel<Op>, n, op, space);
}

template <class Op>
void scalar_step(const CudaQueue& q, const Op& op)
{
    launch(q, {1, 1}, scalar_step_kernel<Op>, op);
}

}  // namespace tulle::inline TULLE_ABI::vector
