// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Memory pools, on the simulated and on the real GPU: ours is our own.
#include <gtest/gtest.h>

#include <cstdint>

#include "simt/device_array.hpp"

namespace tulle::test {
namespace {

TEST(Pool, TheDefaultPoolKeepsItsReleaseThreshold)
{
    if (const std::string why = why_no_cuda(); !why.empty()) GTEST_SKIP() << why;
    cudaMemPool_t pool{};
    cuda::check(cudaDeviceGetDefaultMemPool(&pool, 0));
    std::uint64_t before = 0, after = 0, set = 4096;
    cuda::check(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &before));
    cuda::check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &set));
    {
        const CudaQueue q = cuda::open_queue(0);
        const Buffer<char> some(q, 1 << 20);
        synchronize(q);
    }
    cuda::check(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &after));
    cuda::check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &before));
    EXPECT_EQ(after, set);
}

}  // namespace
}  // namespace tulle::test
