// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Blocks that run together and write into each other's shared memory, on the simulated and on the real GPU.
#include <gtest/gtest.h>

#include <vector>

#include "simt/device_array.hpp"
#include "tulle/device/cuda/cluster.cuh"

namespace tulle::test {
namespace {

class Cluster : public ::testing::Test {
protected:
    void SetUp() override
    {
        if (const std::string why = why_no_cuda(); !why.empty()) GTEST_SKIP() << why;
    }
};

// Every thread gives a number to each block of its cluster; each block adds up what it was given, in the order of the givers.
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
        const CudaQueue q = cuda::open_queue(0);
        launch(q, {blocks, 64, 0, parts}, exchange, parts, sums.data());
        synchronize(q);
        const auto got = sums.to_host();
        for (int block = 0; block < blocks; ++block)
            for (int t = 0; t < 64; ++t) {
                int want = 0;
                for (int other = 0; other < parts; ++other) want = 3 * want + 100 * (block / parts * parts + other) + t + 10000 * (block % parts);
                EXPECT_EQ(got[static_cast<std::size_t>(block * 64 + t)], want) << "block " << block << ", thread " << t;
            }
    }
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
    const CudaQueue q = cuda::open_queue(0);
    launch(q, {4, 64, 0, 2}, leave_early, seen.data());
    synchronize(q);
    EXPECT_EQ(seen.to_host(), (std::vector<int>{8, 7, 10, 9}));
}

__global__ void note(int* seen) { seen[0] = 1; }

// Blocks that fill no cluster cannot be started; that is told once, and the next launch is a launch like any other.
TEST_F(Cluster, AnErrorIsToldOnce)
{
    DeviceArray<int> seen(1), sums(3);
    const CudaQueue q = cuda::open_queue(0);
    EXPECT_THROW(launch(q, {3, 64, 0, 2}, leave_early, sums.data()), DeviceError);
    EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
    EXPECT_NO_THROW(launch(q, {1, 1}, note, seen.data()));
    synchronize(q);
    EXPECT_EQ(seen.to_host()[0], 1);
}

}  // namespace
}  // namespace tulle::test
