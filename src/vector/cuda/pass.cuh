// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A pass on a GPU: every block writes its sums, and the last block to arrive adds those in their order and calls
// finish(). The grid depends on n alone, so the bits do not depend on the GPU.
#pragma once

#include "device/cuda/kernel.cuh"
#include "vector/pass.hpp"

namespace tulle::inline TULLE_ABI::vector {

constexpr int warps_of_block = threads_of_block / 32;

// Sums over the block: thread s has sum s, for s < Count. `room`: Count numbers per warp.
template <int Count>
__device__ double sums_of_block(const double* sum, double* room)
{
    for (int s = 0; s < Count; ++s) {
        const double of_warp = slice_sum<32>(sum[s]);
        if (threadIdx.x % 32 == 0) room[s * warps_of_block + threadIdx.x / 32] = of_warp;
    }
    __syncthreads();
    double total = 0;
    if (threadIdx.x < Count)
        for (int w = 0; w < warps_of_block; ++w) total += room[threadIdx.x * warps_of_block + w];
    __syncthreads();
    return total;
}

// Writes the sums of this block; whether it was the last one.
template <int Count>
__device__ bool arrive_with(const double* sum, const PassSpace& space, double* room, int* is_last)
{
    const double total = sums_of_block<Count>(sum, room);
    if (threadIdx.x < 32) {
        if (threadIdx.x < Count) space.partial[threadIdx.x * static_cast<offset_t>(gridDim.x) + blockIdx.x] = total;
        __syncwarp();
        if (threadIdx.x == 0) *is_last = arrive(space.arrived) == static_cast<int>(gridDim.x) - 1;
    }
    __syncthreads();
    return *is_last != 0;
}

constexpr int entries_at_once = 4;

// The entries i, i + step, … that a thread has at once, loaded before any of them is used where they can be told apart.
template <class Op, class Take>
__device__ void some_entries(const Op& op, offset_t i, offset_t step, offset_t n, Take&& take)
{
    if constexpr (Fetches<Op>) {
        decltype(op.fetch(i)) loaded[entries_at_once] = {};
#pragma unroll
        for (int u = 0; u < entries_at_once; ++u)
            if (i + u * step < n) loaded[u] = op.fetch(i + u * step);
#pragma unroll
        for (int u = 0; u < entries_at_once; ++u)
            if (i + u * step < n) take(i + u * step, loaded[u]);
    } else if (i < n) take(i);
}

// The work of this thread, a call of take() for each entry. In order, or from the end: what the kernel before has
// touched last is still in the L2 then.
template <class Op, class Take>
__device__ void each_entry(const Op& op, offset_t n, Take&& take)
{
    const offset_t step = static_cast<offset_t>(gridDim.x) * threads_of_block,
                   round = (Fetches<Op> ? entries_at_once : 1) * step;
    offset_t first = global_thread();
    if constexpr (begins_at_end<Op>()) {
        while (first + round < n) first += round;
        for (; first >= 0; first -= round) some_entries(op, first, step, n, take);
    } else {
        for (; first < n; first += round) some_entries(op, first, step, n, take);
    }
}

//   grid: blocks_for(n)      shared memory: sums per warp      vectors: every entry once      scalars: by finish()
template <class Op>
__global__ void __launch_bounds__(threads_of_block) pass_kernel(offset_t n, Op op, PassSpace space)
{
    const bool on = op.load();
    if constexpr (Op::sums == 0) {
        if (on) each_entry(op, n, [&](auto... entry) { op.at(entry...); });
    } else {
        TULLE_SHARED(double, room, Op::sums* warps_of_block);
        TULLE_SHARED(int, is_last, 1);
        double sum[Op::sums] = {};
        if (on)
            each_entry(op, n, [&](auto... entry) {
                const Sums<Op::sums> share = op.at(entry...);
                for (int s = 0; s < Op::sums; ++s) sum[s] += share.of[s];
            });
        if (!arrive_with<Op::sums>(sum, space, room, is_last)) return;
        for (int s = 0; s < Op::sums; ++s) {
            sum[s] = 0;
            for (unsigned b = threadIdx.x; b < gridDim.x; b += threads_of_block)
                sum[s] += space.partial[s * static_cast<offset_t>(gridDim.x) + b];
        }
        const double total = sums_of_block<Op::sums>(sum, room);
        if (threadIdx.x < Op::sums) room[threadIdx.x] = total;
        __syncthreads();
        if (threadIdx.x == 0) {
            *space.arrived = 0;  // for the next pass
            op.finish(on, room);
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
