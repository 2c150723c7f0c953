// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// dot(y, x) and dot(y, y) on the way: every thread adds up what it writes, every block writes two numbers, and the last
// block to finish adds those in their order. The same bits every time.
#pragma once

#include <type_traits>

#include "device/cuda/kernel.cuh"
#include "spmv/steps.hpp"

namespace tulle::inline TULLE_ABI::spmv {

// What a thread has written so far. Nothing is kept and no code is made where On is false.
template <bool On, class V>
struct Written {
    V xy = 0, yy = 0;

    // Writes row i of y.
    __device__ void put(const Vectors<V>& v, offset_t row, V sum)
    {
        const V y = scaled(v.alpha, sum, v.beta, v.y + row);
        v.y[row] = y;
        if constexpr (On) {
            xy += y * v.x[row];
            yy += y * y;
        }
    }
};

// Sum over the block, to thread 0. `room`: a number per warp.
template <int Threads, class V>
__device__ V block_sum(V value, V* room)
{
    const V sum = slice_sum<32>(value);
    if (threadIdx.x % 32 == 0) room[threadIdx.x / 32] = sum;
    __syncthreads();
    V total = 0;
    if (threadIdx.x == 0)
        for (int w = 0; w < Threads / 32; ++w) total += room[w];
    __syncthreads();
    return total;
}

// All threads of all blocks call it, once.
template <int Threads, bool On, class V>
__device__ void finish(const Written<On, V>& written, const Dots<V>& dots)
{
    if constexpr (On) {
        TULLE_SHARED(V, room, Threads / 32);
        TULLE_SHARED(int, is_last, 1);
        const V xy = block_sum<Threads>(written.xy, room), yy = block_sum<Threads>(written.yy, room);
        if (threadIdx.x == 0) {
            dots.partial[2 * blockIdx.x] = xy;
            dots.partial[2 * blockIdx.x + 1] = yy;
            is_last[0] = arrive(dots.arrived) == static_cast<int>(gridDim.x) - 1;
        }
        __syncthreads();
        if (!is_last[0]) return;
        V all_xy = 0, all_yy = 0;
        for (unsigned b = threadIdx.x; b < gridDim.x; b += Threads) {
            all_xy += dots.partial[2 * b];
            all_yy += dots.partial[2 * b + 1];
        }
        all_xy = block_sum<Threads>(all_xy, room);
        all_yy = block_sum<Threads>(all_yy, room);
        if (threadIdx.x == 0) {
            dots.result[0] = all_xy;
            dots.result[1] = all_yy;
            *dots.arrived = 0;  // for the next run
        }
    }
}

// go(std::true_type) or go(std::false_type). Kernels with dots are compiled where matrix and vectors are of one type.
template <class V, class M, class F>
void with_or_without_dots(const Vectors<V>& v, F&& go)
{
    if constexpr (std::is_same_v<V, M>)
        if (v.dots.result != nullptr) return go(std::true_type{});
    go(std::false_type{});
}

}  // namespace tulle::inline TULLE_ABI::spmv
