// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Mistakes among the lanes of a warp.
#include "simt/planted/planted.hpp"

namespace tulle::test {
namespace {

constexpr unsigned full = 0xffffffffu;

// A tree in shared memory, as it was written when all lanes moved together.
template <bool Broken>
__global__ void warp_tree(int* out)
{
    TULLE_SHARED(int, part, 64);
    const int lane = static_cast<int>(threadIdx.x);
    part[lane] = lane;
    part[lane + 32] = 0;
    for (int distance = 16; distance > 0; distance /= 2) {
        if (!Broken) __syncwarp();
        const int other = part[lane + distance];
        if (!Broken) __syncwarp();
        part[lane] += other;
    }
    if (lane == 0) out[0] = part[0];
}

const Plant warp_synchronous("warp_synchronous", [](bool broken) {
    return results_of<int>(1, {1, 32}, broken ? warp_tree<true> : warp_tree<false>) == std::vector<int>{496};
});

// The lanes meet in a shuffle, which hands over a value and promises nothing about memory.
template <bool Broken>
__global__ void neighbours_word(int* out)
{
    TULLE_SHARED(int, word, 32);
    const int lane = static_cast<int>(threadIdx.x);
    word[lane] = lane;
    const int next = __shfl_sync(full, lane, lane + 1);
    if (!Broken) __syncwarp();
    out[lane] = word[next];
}

const Plant shuffle_for_a_barrier("shuffle_for_a_barrier", [](bool broken) {
    return results_of<int>(32, {1, 32}, broken ? neighbours_word<true> : neighbours_word<false>)[31] == 0;
});

// Sixteen lanes go one way, sixteen the other.
template <bool Broken>
__global__ void sum_of_half(int* out)
{
    int value = 1;
    if (threadIdx.x < 16) {
        const unsigned mask = Broken ? full : 0x0000ffffu;
        for (int distance = 8; distance > 0; distance /= 2) value += __shfl_xor_sync(mask, value, distance);
    } else {
        __syncwarp(Broken ? full : 0xffff0000u);
    }
    out[threadIdx.x] = value;
}

const Plant full_mask_in_a_branch("full_mask_in_a_branch", [](bool broken) {
    const auto values = results_of<int>(32, {1, 32}, broken ? sum_of_half<true> : sum_of_half<false>);
    return values[0] == 16 && values[31] == 1;
});

template <bool Broken>
__global__ void vote_of_even_lanes(int* out)
{
    if (threadIdx.x % 2 == 0) out[threadIdx.x] = __popc(__ballot_sync(Broken ? 0xaaaaaaaau : 0x55555555u, 1));
}

const Plant lane_not_in_its_mask("lane_not_in_its_mask", [](bool broken) {
    return results_of<int>(32, {1, 32}, broken ? vote_of_even_lanes<true> : vote_of_even_lanes<false>)[0] == 16;
});

// Eight lanes take turns at each other's values; lane 8 is not one of them.
template <bool Broken>
__global__ void rotate_eight(int* out)
{
    const int lane = static_cast<int>(threadIdx.x);
    if (lane < 8) out[lane] = __shfl_sync(0x000000ffu, lane, Broken ? lane + 1 : (lane + 1) % 8);
}

const Plant shuffle_from_outside("shuffle_from_outside", [](bool broken) {
    return results_of<int>(8, {1, 32}, broken ? rotate_eight<true> : rotate_eight<false>) ==
           std::vector<int>{1, 2, 3, 4, 5, 6, 7, 0};
});

// Both sides of a branch vote, each in its own line, under one mask.
template <bool Broken>
__global__ void vote_on_both_sides(int* out)
{
    const bool odd = threadIdx.x % 2;
    if (Broken) {
        if (odd) out[threadIdx.x] = __any_sync(full, 1);
        else out[threadIdx.x] = __any_sync(full, 0);
    } else {
        out[threadIdx.x] = __any_sync(full, odd);
    }
}

const Plant divergent_collective("divergent_collective", [](bool broken) {
    return results_of<int>(32, {1, 32}, broken ? vote_on_both_sides<true> : vote_on_both_sides<false>) ==
           std::vector<int>(32, 1);
});

// Lane 0 waits for a flag that a lane sets only after a collective with lane 0.
template <bool Broken>
__global__ void wait_in_a_warp(int* flag)
{
    if (threadIdx.x == 0 && Broken) {
        while (load_acquire(flag) == 0) __syncwarp(1u);
        __syncwarp();
    } else {
        __syncwarp();
        if (threadIdx.x == 5) store_release(flag, 1);
    }
}

const Plant collective_in_a_wait("collective_in_a_wait", [](bool broken) {
    return results_of<int>(1, {1, 32}, broken ? wait_in_a_warp<true> : wait_in_a_warp<false>) == std::vector<int>{1};
});

}  // namespace
}  // namespace tulle::test
