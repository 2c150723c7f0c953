// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The tensor core wrappers against plain loops, on the simulated and on the real GPU: what agrees on both has the
// layout of the hardware.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "device/cuda/mma.cuh"
#include "simt/device_array.hpp"

namespace tulle::test {
namespace {

class Mma : public ::testing::Test {
protected:
    void SetUp() override
    {
        if (const std::string why = why_no_cuda(); !why.empty()) GTEST_SKIP() << why;
    }
};

// ---- one warp multiplies one tile; the layouts are written out from the PTX manual, so that a mistake in fragment::
// does not cancel ----

// A is M x K, B is K x N, D is M x N, all by rows.
__global__ void tile_f64(const double* a, const double* b, double* d)  // 8 x 8, k = 4
{
    const int group = static_cast<int>(threadIdx.x) / 4, member = static_cast<int>(threadIdx.x) % 4;
    double sums[2] = {d[group * 8 + member * 2], d[group * 8 + member * 2 + 1]};
    mma_m8n8k4(sums, a[group * 4 + member], b[member * 8 + group]);
    d[group * 8 + member * 2] = sums[0];
    d[group * 8 + member * 2 + 1] = sums[1];
}

__device__ inline void load_sums(const float* d, float (&sums)[4], int group, int member)
{
    for (int i = 0; i < 4; ++i) sums[i] = d[(group + (i < 2 ? 0 : 8)) * 8 + member * 2 + (i & 1)];
}

__device__ inline void store_sums(float* d, const float (&sums)[4], int group, int member)
{
    for (int i = 0; i < 4; ++i) d[(group + (i < 2 ? 0 : 8)) * 8 + member * 2 + (i & 1)] = sums[i];
}

template <Half H>
__global__ void tile_half_k8(const float* a, const float* b, float* d)
{
    const int group = static_cast<int>(threadIdx.x) / 4, member = static_cast<int>(threadIdx.x) % 4;
    const float* upper = a + group * 8 + member * 2;
    const float* lower = a + (group + 8) * 8 + member * 2;
    const std::uint32_t a_registers[2] = {pack<H>(upper[0], upper[1]), pack<H>(lower[0], lower[1])};
    const std::uint32_t b_registers[1] = {pack<H>(b[(member * 2) * 8 + group], b[(member * 2 + 1) * 8 + group])};
    float sums[4];
    load_sums(d, sums, group, member);
    mma_m16n8k8<H>(sums, a_registers, b_registers);
    store_sums(d, sums, group, member);
}

template <Half H>
__global__ void tile_half_k16(const float* a, const float* b, float* d)
{
    const int group = static_cast<int>(threadIdx.x) / 4, member = static_cast<int>(threadIdx.x) % 4;
    const float* upper = a + group * 16 + member * 2;
    const float* lower = a + (group + 8) * 16 + member * 2;
    const float* left = b + (member * 2) * 8 + group;
    const std::uint32_t a_registers[4] = {pack<H>(upper[0], upper[1]), pack<H>(lower[0], lower[1]),
                                          pack<H>(upper[8], upper[9]), pack<H>(lower[8], lower[9])};
    const std::uint32_t b_registers[2] = {pack<H>(left[0], left[8]), pack<H>(left[8 * 8], left[9 * 8])};
    float sums[4];
    load_sums(d, sums, group, member);
    mma_m16n8k16<H>(sums, a_registers, b_registers);
    store_sums(d, sums, group, member);
}

__global__ void tile_tf32(const float* a, const float* b, float* d)
{
    const int group = static_cast<int>(threadIdx.x) / 4, member = static_cast<int>(threadIdx.x) % 4;
    const float* upper = a + group * 8 + member;
    const float* lower = a + (group + 8) * 8 + member;
    const std::uint32_t a_registers[4] = {to_tf32(upper[0]), to_tf32(lower[0]), to_tf32(upper[4]), to_tf32(lower[4])};
    const std::uint32_t b_registers[2] = {to_tf32(b[member * 8 + group]), to_tf32(b[(member + 4) * 8 + group])};
    float sums[4];
    load_sums(d, sums, group, member);
    mma_m16n8k8_tf32(sums, a_registers, b_registers);
    store_sums(d, sums, group, member);
}

// ---- and so does a loop ----

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
                d[static_cast<std::size_t>(i * n + j)] +=
                    a[static_cast<std::size_t>(i * k + l)] * b[static_cast<std::size_t>(l * n + j)];
    return d;
}

template <class T>
void expect_product(int m, int n, int k, void (*kernel)(const T*, const T*, T*))
{
    const auto a = integers<T>(m * k, 7), b = integers<T>(k * n, 5), d = integers<T>(m * n, 11);
    DeviceArray<T> on_a(a), on_b(b), on_d(d);
    run(1, 32, 0, kernel, on_a.data(), on_b.data(), on_d.data());
    EXPECT_EQ(on_d.to_host(), product(a, b, d, m, n, k));
}

TEST_F(Mma, Double) { expect_product<double>(8, 8, 4, tile_f64); }
TEST_F(Mma, F16) { expect_product<float>(16, 8, 8, tile_half_k8<Half::f16>); }
TEST_F(Mma, Bf16) { expect_product<float>(16, 8, 8, tile_half_k8<Half::bf16>); }
TEST_F(Mma, F16Deep) { expect_product<float>(16, 8, 16, tile_half_k16<Half::f16>); }
TEST_F(Mma, Bf16Deep) { expect_product<float>(16, 8, 16, tile_half_k16<Half::bf16>); }
TEST_F(Mma, Tf32) { expect_product<float>(16, 8, 8, tile_tf32); }

// ---- layouts ----

// A matrix whose entries are all different, taken apart by fragment:: and put together by the hardware's multiplication
// with one.
template <Half H>
__global__ void tile_by_entries(const float* a, const float* b, float* d)
{
    const int lane = static_cast<int>(threadIdx.x);
    const auto a_at = [&](int i) { return a[fragment::a16(lane, i).row * 16 + fragment::a16(lane, i).col]; };
    const auto b_at = [&](int i) { return b[fragment::b16(lane, i).row * 8 + fragment::b16(lane, i).col]; };
    std::uint32_t a_registers[4], b_registers[2];
    for (int i = 0; i < 4; ++i) a_registers[i] = pack<H>(a_at(2 * i), a_at(2 * i + 1));
    for (int i = 0; i < 2; ++i) b_registers[i] = pack<H>(b_at(2 * i), b_at(2 * i + 1));
    float sums[4] = {0, 0, 0, 0};
    mma_m16n8k16<H>(sums, a_registers, b_registers);
    for (int i = 0; i < 4; ++i) d[fragment::d16x8(lane, i).row * 8 + fragment::d16x8(lane, i).col] = sums[i];
}

TEST_F(Mma, FragmentsNameTheEntries)
{
    const auto a = integers<float>(16 * 16, 7), b = integers<float>(16 * 8, 5);
    DeviceArray<float> on_a(a), on_b(b), on_d(16 * 8);
    run(1, 32, 0, tile_by_entries<Half::f16>, on_a.data(), on_b.data(), on_d.data());
    EXPECT_EQ(on_d.to_host(), product(a, b, std::vector<float>(16 * 8, 0), 16, 8, 16));
}

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

TEST(Fragment, EveryEntryIsHeldOnce)
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

// ---- rounding ----

__global__ void round_all(const float* in, std::uint32_t* out, int n)
{
    const int i = static_cast<int>(global_thread());
    if (i >= n) return;
    out[i * 3 + 0] = pack<Half::f16>(in[i], 1.0f);
    out[i * 3 + 1] = pack<Half::bf16>(in[i], 1.0f);
    out[i * 3 + 2] = to_tf32(in[i]) >> 13;  // the bits below are not looked at
}

struct Rounded {
    float number;
    std::uint32_t f16, bf16, tf32;
};

TEST_F(Mma, NumbersAreRoundedAsTheHardwareDoes)
{
    const float infinity = std::numeric_limits<float>::infinity();
    const std::vector<Rounded> table{
        {0.0f, 0x0000, 0x0000, 0x00000},
        {1.0f, 0x3c00, 0x3f80, 0x1fc00},
        {-2.0f, 0xc000, 0xc000, 0x60000},
        {1.0f + 0x1p-11f, 0x3c00, 0x3f80, 0x1fc01},  // a tie: to even, to even is below, away from zero
        {1.0f + 0x1.8p-10f, 0x3c02, 0x3f80, 0x1fc02},
        {1.0f + 0x1p-12f, 0x3c00, 0x3f80, 0x1fc00},
        {1.0f + 0x1p-8f, 0x3c04, 0x3f80, 0x1fc04},  // a tie for bf16
        {1.0f + 0x1.8p-7f, 0x3c0c, 0x3f82, 0x1fc0c},
        {65504.0f, 0x7bff, 0x4780, 0x23bff},
        {65520.0f, 0x7c00, 0x4780, 0x23c00},  // rounds to infinity as f16
        {0x1p-24f, 0x0001, 0x3380, 0x19c00},  // the smallest f16
        {0x1p-25f, 0x0000, 0x3300, 0x19800},
        {0x1.8p-24f, 0x0002, 0x33c0, 0x19e00},
        {infinity, 0x7c00, 0x7f80, 0x3fc00},
        {-infinity, 0xfc00, 0xff80, 0x7fc00},
    };
    std::vector<float> numbers;
    for (const Rounded& row : table) numbers.push_back(row.number);
    DeviceArray<float> in(numbers);
    DeviceArray<std::uint32_t> out(3 * table.size());
    run(1, 32, 0, round_all, in.data(), out.data(), static_cast<int>(table.size()));
    const auto got = out.to_host();
    for (std::size_t i = 0; i < table.size(); ++i) {
        EXPECT_EQ(got[3 * i + 0], table[i].f16 | 0x3c000000u) << table[i].number;
        EXPECT_EQ(got[3 * i + 1], table[i].bf16 | 0x3f800000u) << table[i].number;
        EXPECT_EQ(got[3 * i + 2], table[i].tf32) << table[i].number;
    }
}

}  // namespace
}  // namespace tulle::test
