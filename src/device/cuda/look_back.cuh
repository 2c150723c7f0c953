// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Running sums over all threads of a grid in one pass (decoupled look-back, Merrill and Garland 2016). A block tells
// what it has as soon as it knows, and what all up to it have once it has seen that of those before. A word is its own
// flag, and blocks are numbered as they begin: whoever is waited for has begun. prim::exclusive_scan is for numbers
// that stand in an array; here they are found, added up and used in one kernel, on the simulated GPU too.
//
//     LookBack sums(q, blocks);
//     launch(q, {blocks, threads}, kernel, sums.words());
//
//     in the kernel:    TULLE_SHARED(offset_t, of_warps, words_of_block<threads>);
//                       const offset_t block = number_of_block<threads>(sums, of_warps);  // takes the place of
//                                                                                         // blockIdx.x
//                       const offset_t before = sum_before_thread<threads>(sums, of_warps, block, mine);
#pragma once

#include "device/cuda/value_flag.cuh"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI {

using SumWord = unsigned long long;

// One for each block, and one to number them; cleared when they are made, for one launch.
class LookBack {
public:
    LookBack(const CudaQueue& q, offset_t blocks) : words_(q, blocks + 1)
    {
        fill_zero(q, words_.data(), words_.size());
    }
    SumWord* words() { return words_.data(); }

    static constexpr SumWord of_block = SumWord{1} << 62, of_all = SumWord{2} << 62,
                             sum_mask = of_block - 1;  // a sum below 2^62, and of what; 0: not known yet

private:
    Buffer<SumWord> words_;
};

template <int Threads>
inline constexpr int words_of_block = Threads / 32 + 1;  // of shared memory

// All threads together.
template <int Threads>
__device__ inline offset_t number_of_block(SumWord* sums, offset_t* shared)
{
    if (threadIdx.x == 0) shared[Threads / 32] = static_cast<offset_t>(atomicAdd(&sums[0], SumWord{1}));
    __syncthreads();
    return shared[Threads / 32];
}

// What the blocks before this one have, for one warp of it; mine: what it has itself.
__device__ inline offset_t sum_before_block(SumWord* sums, offset_t block, offset_t mine)
{
    const int lane = static_cast<int>(threadIdx.x) % 32;
    SumWord* const of_blocks = sums + 1;
    if (lane == 0)
        store_relaxed(&of_blocks[block],
                      static_cast<SumWord>(mine) | (block == 0 ? LookBack::of_all : LookBack::of_block));
    offset_t before = 0;
    bool complete = block == 0;
    for (offset_t last = block - 1; !complete; last -= 32) {
        const offset_t other = last - lane;
        SumWord word = other < 0 ? LookBack::of_all : 0;  // nobody has nothing
        do
            if (word == 0) word = load_relaxed(&of_blocks[other]);
        while (__any_sync(0xffffffffu, word == 0) != 0);
        const unsigned all = __ballot_sync(0xffffffffu, (word & LookBack::of_all) != 0);
        const int nearest = all == 0 ? 31 : __ffs(static_cast<int>(all)) - 1;
        before += slice_sum<32>(lane <= nearest ? static_cast<offset_t>(word & LookBack::sum_mask) : 0);
        complete = all != 0;
    }
    if (lane == 0 && block > 0)
        store_relaxed(&of_blocks[block], static_cast<SumWord>(before + mine) | LookBack::of_all);
    return before;
}

// What all threads before this one have, of this block and of those before. All threads together, once.
template <int Threads>
__device__ inline offset_t sum_before_thread(SumWord* sums, offset_t* shared, offset_t block, offset_t mine)
{
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    const offset_t up_to = warp_running_sum(mine);
    if (lane == 31) shared[warp] = up_to;
    __syncthreads();
    if (warp == 0) {
        const offset_t of_warp = lane < Threads / 32 ? shared[lane] : 0, warps_up_to = warp_running_sum(of_warp);
        const offset_t before = sum_before_block(sums, block, __shfl_sync(0xffffffffu, warps_up_to, 31));
        if (lane < Threads / 32) shared[lane] = before + warps_up_to - of_warp;
    }
    __syncthreads();
    return shared[warp] + up_to - mine;
}

}  // namespace tulle::inline TULLE_ABI
