// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Blocks that run together and write into each other's shared memory, on the simulated and on the real GPU.
#include <gtest/gtest.h>

#include <vector>

#include "device/cuda/cluster.cuh"
#include "simt/device_array.hpp"

namespace tulle::test {
namespace {

class Cluster : public ::testing::Test {
protected:
    void SetUp() override
    {
        if (const std::string why = why_no_cuda(); !why.empty()) GTEST_SKIP() << why;
    }
};

// Every thread gives a number to each block of its cluster; each block adds up what it was given, in the order of the
// givers.
__global__ void exchange(int parts, int* sums)
{
    TULLE_SHARED(int, given, 8 * 64);
    const int part = static_cast<int>(blockIdx.x) % parts, t = static_cast<int>(threadIdx.x);
    arrive_in_cluster();
    const int mine = 100 * static_cast<int>(blockIdx.x) + t;
    wait_for_cluster();
    for (int other = 0; other < parts; ++other) in_cluster(given, other)[part * 64 + t] = mine + 10000 * other;
    arrive_in_cluster();
    wait_for_cluster();
    int sum = 0;
    for (int other = 0; other < parts; ++other) sum = 3 * sum + given[other * 64 + t];
    sums[static_cast<int>(blockIdx.x) * 64 + t] = sum;
}

TEST_F(Cluster, BlocksReachEachOther)
{
    for (const int parts : {2, 4, 8}) {
        const int blocks = 3 * parts;
        DeviceArray<int> sums(static_cast<std::size_t>(blocks) * 64);
        const CudaQueue& q = queue_of(0);
        launch(q, {blocks, 64, 0, parts}, exchange, parts, sums.data());
        synchronize(q);
        const auto got = sums.to_host();
        for (int block = 0; block < blocks; ++block)
            for (int t = 0; t < 64; ++t) {
                int want = 0;
                for (int other = 0; other < parts; ++other)
                    want = 3 * want + 100 * (block / parts * parts + other) + t + 10000 * (block % parts);
                EXPECT_EQ(got[static_cast<std::size_t>(block * 64 + t)], want) << "block " << block << ", thread " << t;
            }
    }
}

// Words in dynamic shared memory that are their own flags: a number goes once round the blocks, each of which adds one.
__global__ void pass_round(int parts, unsigned* out)
{
    TULLE_DYNAMIC_SHARED(unsigned, word);
    const int part = static_cast<int>(blockIdx.x);
    word[threadIdx.x] = sentinel<float>;
    arrive_in_cluster();
    wait_for_cluster();
    if (part == 0) store_in_cluster(word + threadIdx.x, 1 % parts, threadIdx.x);
    unsigned got = load_shared(word + threadIdx.x);
    while (got == sentinel<float>) got = load_in_cluster(word + threadIdx.x, part);
    if (part > 0) store_in_cluster(word + threadIdx.x, (part + 1) % parts, got + 1);
    out[blockIdx.x * 32 + threadIdx.x] = got;
    arrive_in_cluster();
    wait_for_cluster();
}

TEST_F(Cluster, WordsAreTheirOwnFlags)
{
    for (const int parts : {2, 8, 16}) {
        DeviceArray<unsigned> out(static_cast<std::size_t>(parts) * 32);
        const CudaQueue& q = queue_of(0);
        launch(q, {parts, 32, 32 * sizeof(unsigned), parts}, pass_round, parts, out.data());
        synchronize(q);
        const auto got = out.to_host();
        for (int part = 0; part < parts; ++part)
            for (unsigned t = 0; t < 32; ++t)
                EXPECT_EQ(got[static_cast<std::size_t>(part) * 32 + t],
                          t + static_cast<unsigned>((part + parts - 1) % parts))
                    << "block " << part;
    }
}

// Teams of a block that meet more or less often than the others.
__global__ void meet_apart(int* out)
{
    TULLE_SHARED(int, given, 256);
    const int t = static_cast<int>(threadIdx.x), team = t / 64, first = team * 64;
    int mine = t;
    for (int round = 0; round <= 3 * team; ++round) {
        given[t] = mine;
        named_barrier_sync(team + 1, 64);
        mine = given[first + (t - first + 37) % 64];
        named_barrier_sync(team + 1, 64);
    }
    out[t] = mine;
}

TEST_F(Cluster, TeamsOfABlockMeetApart)
{
    DeviceArray<int> out(256);
    const CudaQueue& q = queue_of(0);
    launch(q, {1, 256}, meet_apart, out.data());
    synchronize(q);
    const auto got = out.to_host();
    for (int t = 0; t < 256; ++t)
        EXPECT_EQ(got[static_cast<std::size_t>(t)], t / 64 * 64 + (t % 64 + 37 * (3 * (t / 64) + 1)) % 64) << t;
}

// Threads that have ended are not waited for.
__global__ void leave_early(int* seen)
{
    TULLE_SHARED(int, value, 1);
    if (blockIdx.x % 2 == 1 && threadIdx.x >= 32) return;
    arrive_in_cluster();
    wait_for_cluster();
    if (threadIdx.x == 0) *in_cluster(value, 1 - static_cast<int>(blockIdx.x) % 2) = static_cast<int>(blockIdx.x) + 7;
    arrive_in_cluster();
    wait_for_cluster();
    if (threadIdx.x == 0) seen[blockIdx.x] = value[0];
}

TEST_F(Cluster, IsNotKeptByThreadsThatEnded)
{
    DeviceArray<int> seen(4);
    const CudaQueue& q = queue_of(0);
    launch(q, {4, 64, 0, 2}, leave_early, seen.data());
    synchronize(q);
    EXPECT_EQ(seen.to_host(), (std::vector<int>{8, 7, 10, 9}));
}

__global__ void note(int* seen) { seen[0] = 1; }

// Blocks that fill no cluster cannot be started; that is told once, and the next launch is a launch like any other.
TEST_F(Cluster, AnErrorIsToldOnce)
{
    DeviceArray<int> seen(1), sums(3);
    const CudaQueue& q = queue_of(0);
    EXPECT_THROW(launch(q, {3, 64, 0, 2}, leave_early, sums.data()), DeviceError);
    EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
    EXPECT_NO_THROW(launch(q, {1, 1}, note, seen.data()));
    synchronize(q);
    EXPECT_EQ(seen.to_host()[0], 1);
}

}  // namespace
}  // namespace tulle::test
