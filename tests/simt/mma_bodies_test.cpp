// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The plain bodies of the tensor core wrappers: numbers of 16 bits both ways, and the rule that the whole warp must be
// there.
#include <gtest/gtest.h>

#include <cmath>

#include "device/cuda/copies.cuh"
#include "device/cuda/mma.cuh"
#include "simt/run.hpp"

namespace tulle::test {
namespace {

TEST(MmaBodies, EveryNumberOf16BitsComesBack)
{
    for (std::uint32_t bits = 0; bits < 0x10000u; ++bits) {
        const float f16 = simt::from_f16(bits), bf16 = simt::from_bf16(bits);
        EXPECT_TRUE(std::isnan(f16) || simt::to_f16(f16) == bits) << bits;
        EXPECT_TRUE(std::isnan(bf16) || simt::to_bf16(bf16) == bits) << bits;
    }
}

// Halfway between two neighbours goes to the even one, a little more to the upper.
TEST(MmaBodies, RoundingIsToNearestEven)
{
    for (std::uint32_t bits = 0; bits < 0x7bffu; ++bits) {
        const float below = simt::from_f16(bits), above = simt::from_f16(bits + 1), middle = (below + above) / 2;
        EXPECT_EQ(simt::to_f16(middle), bits + (bits & 1u));
        EXPECT_EQ(simt::to_f16(std::nextafter(middle, 1e9f)), bits + 1);
        EXPECT_EQ(simt::to_f16(std::nextafter(middle, 0.0f)), bits);
    }
}

__global__ void mma_after_exit(double* d)
{
    if (threadIdx.x == 9) return;
    double sums[2] = {0, 0};
    mma_m8n8k4(sums, 1, 1);
    d[threadIdx.x] = sums[0];
}

TEST(MmaBodies, NeedsAWholeWarp)
{
    DeviceArray<double> d(32);
    EXPECT_THROW(run(1, 32, 0, mma_after_exit, d.data()), DeviceError);
}

__global__ void copy_across_pieces(const int* from)
{
    TULLE_SHARED(int, to, 8);
    copy_async(SharedAddress(to + 1), from);
    wait_for_copies<0>();
}

TEST(CopyBodies, NeedsWholePieces)
{
    DeviceArray<int> from(8);
    EXPECT_THROW(run(1, 1, 0, copy_across_pieces, from.data()), DeviceError);
}

}  // namespace
}  // namespace tulle::test
