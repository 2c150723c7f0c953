// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The tensor core wrappers against plain loops, and their rounding against numbers worked out by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "simt/mma_tiles.cuh"
#include "simt/run.hpp"

namespace tulle::test {
namespace {

// Small integers: exact in every format, so that results must agree to the last bit.
template <class T>
std::vector<T> integers(int n, int step)
{
    std::vector<T> values(static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i) values[static_cast<std::size_t>(i)] = static_cast<T>(i * step % 13 - 6);
    return values;
}

template <class T>
std::vector<T> product(const std::vector<T>& a, const std::vector<T>& b, std::vector<T> d, int m, int n, int k)
{
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j)
            for (int l = 0; l < k; ++l)
                d[static_cast<std::size_t>(i * n + j)] += a[static_cast<std::size_t>(i * k + l)] * b[static_cast<std::size_t>(l * n + j)];
    return d;
}

template <class T>
void expect_product(int m, int n, int k, void (*kernel)(const T*, const T*, T*))
{
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        const WithConfig with(with_seed(seed));
        const auto a = integers<T>(m * k, 7), b = integers<T>(k * n, 5), d = integers<T>(m * n, 11);
        DeviceArray<T> on_a(a), on_b(b), on_d(d);
        run(1, 32, 0, kernel, on_a.data(), on_b.data(), on_d.data());
        EXPECT_EQ(on_d.to_host(), product(a, b, d, m, n, k));
    }
}

TEST(Mma, Double) { expect_product<double>(8, 8, 4, tile_f64); }
TEST(Mma, F16) { expect_product<float>(16, 8, 8, tile_half_k8<Half::f16>); }
TEST(Mma, Bf16) { expect_product<float>(16, 8, 8, tile_half_k8<Half::bf16>); }
TEST(Mma, F16Deep) { expect_product<float>(16, 8, 16, tile_half_k16<Half::f16>); }
TEST(Mma, Bf16Deep) { expect_product<float>(16, 8, 16, tile_half_k16<Half::bf16>); }
TEST(Mma, Tf32) { expect_product<float>(16, 8, 8, tile_tf32); }

// fragment:: says the same as the formulas in mma_tiles.cuh: every entry is held exactly once.
template <class F>
void expect_every_entry_once(int rows, int cols, int values, F&& entry)
{
    std::vector<int> held(static_cast<std::size_t>(rows * cols), 0);
    for (int lane = 0; lane < 32; ++lane)
        for (int i = 0; i < values; ++i) {
            const fragment::Entry at = entry(lane, i);
            ++held[static_cast<std::size_t>(at.row * cols + at.col)];
        }
    EXPECT_EQ(held, std::vector<int>(held.size(), 1));
}

TEST(Mma, EveryEntryIsHeldOnce)
{
    expect_every_entry_once(16, 8, 4, fragment::a16);
    expect_every_entry_once(16, 16, 8, fragment::a16);
    expect_every_entry_once(8, 8, 2, fragment::b16);
    expect_every_entry_once(16, 8, 4, fragment::b16);
    expect_every_entry_once(16, 8, 4, fragment::a32);
    expect_every_entry_once(8, 8, 2, fragment::b32);
    expect_every_entry_once(16, 8, 4, fragment::d16x8);
    expect_every_entry_once(8, 8, 2, fragment::d8x8);
}

TEST(Mma, RoundingTo16Bits)
{
    const float infinity = std::numeric_limits<float>::infinity();
    EXPECT_EQ(simt::to_f16(1.0f), 0x3c00u);
    EXPECT_EQ(simt::to_f16(-2.0f), 0xc000u);
    EXPECT_EQ(simt::to_f16(65504.0f), 0x7bffu);
    EXPECT_EQ(simt::to_f16(65520.0f), 0x7c00u);
    EXPECT_EQ(simt::to_f16(infinity), 0x7c00u);
    EXPECT_EQ(simt::to_f16(0x1p-24f), 0x0001u);
    EXPECT_EQ(simt::to_f16(0x1p-25f), 0x0000u);                    // tie to even
    EXPECT_EQ(simt::to_f16(0x1.8p-24f), 0x0002u);
    EXPECT_EQ(simt::to_f16(1.0f + 0x1p-11f), 0x3c00u);             // tie to even
    EXPECT_EQ(simt::to_f16(1.0f + 0x1.8p-10f), 0x3c02u);
    EXPECT_EQ(simt::to_bf16(1.0f), 0x3f80u);
    EXPECT_EQ(simt::to_bf16(1.0f + 0x1p-8f), 0x3f80u);             // tie to even
    EXPECT_EQ(simt::to_bf16(1.0f + 0x1.8p-7f), 0x3f82u);
    EXPECT_EQ(simt::to_bf16(std::numeric_limits<float>::max()), 0x7f80u);
    for (std::uint32_t bits = 0; bits < 0x10000u; ++bits) {
        if (!std::isnan(simt::from_f16(bits))) EXPECT_EQ(simt::to_f16(simt::from_f16(bits)), bits);
        if (!std::isnan(simt::from_bf16(bits))) EXPECT_EQ(simt::to_bf16(simt::from_bf16(bits)), bits);
    }
}

TEST(Mma, RoundingToTf32)
{
    EXPECT_EQ(simt::from_tf32(to_tf32(1.0f + 0x1p-11f)), 1.0f + 0x1p-10f);     // tie away from zero
    EXPECT_EQ(simt::from_tf32(to_tf32(-1.0f - 0x1p-11f)), -1.0f - 0x1p-10f);
    EXPECT_EQ(simt::from_tf32(to_tf32(1.0f + 0x1p-12f)), 1.0f);
}

__global__ void mma_after_exit(double* d)
{
    if (threadIdx.x == 9) return;
    double sums[2] = {0, 0};
    mma_m8n8k4(sums, 1, 1);
    d[threadIdx.x] = sums[0];
}

TEST(Mma, NeedsAWholeWarp)
{
    DeviceArray<double> d(32);
    EXPECT_THROW(run(1, 32, 0, mma_after_exit, d.data()), DeviceError);
}

}  // namespace
}  // namespace tulle::test
