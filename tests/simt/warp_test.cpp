// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Warp collectives and barriers give what CUDA's documentation says, whatever the schedule.
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "simt/run.hpp"

namespace tulle::test {
namespace {

constexpr unsigned full = 0xffffffffu;

__global__ void shuffles(int width, int* out)
{
    const int lane = static_cast<int>(threadIdx.x % 32);
    int* mine = out + static_cast<int>(threadIdx.x) * 4;
    mine[0] = __shfl_sync(full, lane * 10, 3, width);
    mine[1] = __shfl_up_sync(full, lane * 10, 2, width);
    mine[2] = __shfl_down_sync(full, lane * 10, 2, width);
    mine[3] = __shfl_xor_sync(full, lane * 10, 5, width);
}

TEST(Warp, ShufflesStayInsideTheirWidth)
{
    for (const int width : {2, 4, 8, 16, 32}) {
        SCOPED_TRACE(width);
        DeviceArray<int> out(64 * 4);
        run(1, 64, 0, shuffles, width, out.data());
        const auto got = out.to_host();
        for (int thread = 0; thread < 64; ++thread) {
            const int lane = thread % 32, first = lane / width * width, last = first + width - 1;
            EXPECT_EQ(got[static_cast<std::size_t>(thread * 4 + 0)], (first + 3 % width) * 10);
            EXPECT_EQ(got[static_cast<std::size_t>(thread * 4 + 1)], (lane - 2 >= first ? lane - 2 : lane) * 10);
            EXPECT_EQ(got[static_cast<std::size_t>(thread * 4 + 2)], (lane + 2 <= last ? lane + 2 : lane) * 10);
            EXPECT_EQ(got[static_cast<std::size_t>(thread * 4 + 3)], ((lane ^ 5) <= last ? lane ^ 5 : lane) * 10);
        }
    }
}

__global__ void votes(unsigned* out)
{
    const unsigned lane = threadIdx.x;
    out[lane * 4 + 0] = __ballot_sync(full, lane % 3 == 0);
    out[lane * 4 + 1] = static_cast<unsigned>(__any_sync(full, lane == 7) + 2 * __any_sync(full, 0));
    out[lane * 4 + 2] = static_cast<unsigned>(__all_sync(full, lane < 32) + 2 * __all_sync(full, lane != 7));
    out[lane * 4 + 3] = __match_any_sync(full, lane % 5);
}

TEST(Warp, VotesAndMatches)
{
    DeviceArray<unsigned> out(32 * 4);
    run(1, 32, 0, votes, out.data());
    const auto got = out.to_host();
    for (unsigned lane = 0; lane < 32; ++lane) {
        EXPECT_EQ(got[lane * 4 + 0], 0x49249249u);
        EXPECT_EQ(got[lane * 4 + 1], 1u);
        EXPECT_EQ(got[lane * 4 + 2], 1u);
        unsigned same = 0;
        for (unsigned other = 0; other < 32; ++other) same |= (other % 5 == lane % 5 ? 1u : 0u) << other;
        EXPECT_EQ(got[lane * 4 + 3], same);
    }
}

__global__ void match_all(int* out)
{
    int equal = -1;
    const unsigned lanes = __match_all_sync(full, 5ull, &equal);
    out[threadIdx.x * 2] = equal == 1 && lanes == full;
    const unsigned none = __match_all_sync(full, threadIdx.x, &equal);
    out[threadIdx.x * 2 + 1] = equal == 0 && none == 0;
}

TEST(Warp, MatchAll)
{
    DeviceArray<int> out(64);
    run(1, 32, 0, match_all, out.data());
    for (const int right : out.to_host()) EXPECT_EQ(right, 1);
}

// Two halves of a warp do different collectives at the same time, each under its own mask.
__global__ void halves(int* out)
{
    const int lane = static_cast<int>(threadIdx.x);
    if (lane < 16) {
        int sum = lane;
        for (int distance = 8; distance > 0; distance /= 2) sum += __shfl_xor_sync(0x0000ffffu, sum, distance);
        out[lane] = sum;
    } else {
        out[lane] = static_cast<int>(__ballot_sync(0xffff0000u, lane % 2));
        __syncwarp(0xffff0000u);
        out[lane] += __reduce_max_sync(0xffff0000u, lane);
    }
}

TEST(Warp, GroupsWithTheirOwnMasksDoNotMeet)
{
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const WithConfig with(with_seed(seed));
        DeviceArray<int> out(32);
        run(1, 32, 0, halves, out.data());
        const auto got = out.to_host();
        for (std::size_t lane = 0; lane < 16; ++lane) EXPECT_EQ(got[lane], 120);
        for (std::size_t lane = 16; lane < 32; ++lane) EXPECT_EQ(got[lane], static_cast<int>(0xaaaa0000u) + 31);
    }
}

__global__ void reductions(int* out)
{
    const int lane = static_cast<int>(threadIdx.x);
    const unsigned bit = 1u << lane;
    int* mine = out + lane * 6;
    mine[0] = __reduce_add_sync(full, lane - 3);
    mine[1] = __reduce_min_sync(full, lane - 3);
    mine[2] = __reduce_max_sync(full, lane - 3);
    mine[3] = static_cast<int>(__reduce_and_sync(full, ~(lane < 2 ? bit : 0u)) == ~3u);
    mine[4] = static_cast<int>(__reduce_or_sync(full, bit) == full);
    mine[5] = static_cast<int>(__reduce_xor_sync(full, 7u) == 0u);
}

TEST(Warp, Reductions)
{
    DeviceArray<int> out(32 * 6);
    run(1, 32, 0, reductions, out.data());
    const auto got = out.to_host();
    for (std::size_t lane = 0; lane < 32; ++lane) {
        const std::vector<int> mine(got.begin() + static_cast<std::ptrdiff_t>(lane * 6),
                                    got.begin() + static_cast<std::ptrdiff_t>(lane * 6 + 6));
        EXPECT_EQ(mine, (std::vector<int>{400, -3, 28, 1, 1, 1}));
    }
}

// A lane that has exited is not waited for.
__global__ void some_exit(unsigned* out)
{
    if (threadIdx.x % 2) return;
    out[threadIdx.x] = __ballot_sync(full, 1);
}

TEST(Warp, ExitedLanesDoNotCount)
{
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const WithConfig with(with_seed(seed));
        DeviceArray<unsigned> out(32);
        run(1, 32, 0, some_exit, out.data());
        const auto got = out.to_host();
        for (std::size_t lane = 0; lane < 32; lane += 2) EXPECT_EQ(got[lane], 0x55555555u);
    }
}

__global__ void block_votes(int* out)
{
    const int thread = static_cast<int>(threadIdx.x);
    int* mine = out + thread * 5;
    mine[0] = __syncthreads_count(thread < 70);
    mine[1] = __syncthreads_or(thread == 3);
    mine[2] = __syncthreads_or(0);
    mine[3] = __syncthreads_and(thread < 1000);
    mine[4] = __syncthreads_and(thread != 3);
}

TEST(Barrier, CountsPredicates)
{
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        const WithConfig with(with_seed(seed));
        DeviceArray<int> out(96 * 5);
        run(1, 96, 0, block_votes, out.data());
        const auto got = out.to_host();
        for (std::size_t thread = 0; thread < 96; ++thread) {
            const std::vector<int> mine(got.begin() + static_cast<std::ptrdiff_t>(thread * 5),
                                        got.begin() + static_cast<std::ptrdiff_t>(thread * 5 + 5));
            EXPECT_EQ(mine, (std::vector<int>{70, 1, 0, 1, 0}));
        }
    }
}

__global__ void reverse_twice(int* data)
{
    TULLE_SHARED(int, a, 128);
    TULLE_DYNAMIC_SHARED(int, b);
    const unsigned thread = threadIdx.x, other = blockDim.x - 1 - thread;
    int* mine = data + blockIdx.x * blockDim.x;
    a[thread] = mine[thread];
    __syncthreads();
    b[thread] = a[other] + static_cast<int>(blockIdx.x);
    __syncthreads();
    mine[thread] = b[other];
}

TEST(Barrier, OrdersSharedMemory)
{
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        const WithConfig with(with_seed(seed));
        std::vector<int> values(128 * 7);
        std::iota(values.begin(), values.end(), 0);
        DeviceArray<int> data(values);
        run(7, 128, 128 * sizeof(int), reverse_twice, data.data());
        for (std::size_t i = 0; i < values.size(); ++i) values[i] += static_cast<int>(i / 128);
        EXPECT_EQ(data.to_host(), values);
    }
}

}  // namespace
}  // namespace tulle::test
