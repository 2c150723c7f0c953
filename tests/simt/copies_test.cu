// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Copies that go on while a kernel computes, and matrices from shared memory to fragments, on the simulated and on the
// real GPU.
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "device/cuda/copies.cuh"
#include "simt/device_array.hpp"

namespace tulle::test {
namespace {

class Copies : public ::testing::Test {
protected:
    void SetUp() override
    {
        if (const std::string why = why_no_cuda(); !why.empty()) GTEST_SKIP() << why;
    }
};

struct alignas(16) Sixteen {
    int word[4];
};

// Every thread copies 16 bytes in each of two groups; the first is there when one may still be on its way.
__global__ void copy_pieces(const int* from, int* first, int* second)
{
    TULLE_SHARED(Sixteen, piece, 64);
    const int t = static_cast<int>(threadIdx.x);
    piece[t] = piece[t + 32] = {{7, 7, 7, 7}};
    __syncthreads();
    copy_async(SharedAddress(&piece[t]), from + 4 * t);
    end_copy_group();
    copy_async(SharedAddress(piece + t) + 32 * 16, from + 128 + 4 * t);
    end_copy_group();
    wait_for_copies<1>();
    __syncthreads();
    for (int i = 0; i < 4; ++i) first[4 * t + i] = piece[31 - t].word[i];
    wait_for_copies<0>();
    __syncthreads();
    for (int i = 0; i < 4; ++i) second[4 * t + i] = piece[63 - t].word[i];
}

TEST_F(Copies, ArriveInGroups)
{
    std::vector<int> numbers(256);
    std::iota(numbers.begin(), numbers.end(), 1000);
    DeviceArray<int> from(numbers), first(128), second(128);
    run(1, 32, 0, copy_pieces, from.data(), first.data(), second.data());
    const auto a = first.to_host(), b = second.to_host();
    for (int t = 0; t < 32; ++t)
        for (int i = 0; i < 4; ++i) {
            const auto at = static_cast<std::size_t>(4 * t + i);
            EXPECT_EQ(a[at], 1000 + 4 * (31 - t) + i);
            EXPECT_EQ(b[at], 1128 + 4 * (31 - t) + i);
        }
}

// Four 8 x 8 matrices, one below the other.
__global__ void fragments(const std::uint16_t* from, bool transposed, std::uint32_t* to)
{
    TULLE_SHARED(Sixteen, row, 32);
    const int lane = static_cast<int>(threadIdx.x);
    for (int i = 0; i < 8; ++i) reinterpret_cast<std::uint16_t*>(row)[lane * 8 + i] = from[lane * 8 + i];
    __syncthreads();
    std::uint32_t got[4];
    if (transposed) load_transposed(got, SharedAddress(row + lane));
    else load_matrices(got, SharedAddress(row + lane));
    for (int m = 0; m < 4; ++m) to[lane * 4 + m] = got[m];
}

void check_matrices(bool transposed)
{
    std::vector<std::uint16_t> numbers(256);
    std::iota(numbers.begin(), numbers.end(), std::uint16_t{1});
    DeviceArray<std::uint16_t> from(numbers);
    DeviceArray<std::uint32_t> to(128);
    run(1, 32, 0, fragments, from.data(), transposed, to.data());
    const auto got = to.to_host();
    for (unsigned lane = 0; lane < 32; ++lane)
        for (unsigned m = 0; m < 4; ++m) {
            const auto number = [&](unsigned i) {
                return std::uint32_t{numbers[m * 64 + (transposed ? i * 8 + lane / 4 : lane / 4 * 8 + i)]};
            };
            EXPECT_EQ(got[lane * 4 + m], number(lane % 4 * 2) | number(lane % 4 * 2 + 1) << 16)
                << "matrix " << m << ", lane " << lane;
        }
}

TEST_F(Copies, MatricesComeTransposed) { check_matrices(true); }
TEST_F(Copies, MatricesComeAsTheyAre) { check_matrices(false); }

}  // namespace
}  // namespace tulle::test
