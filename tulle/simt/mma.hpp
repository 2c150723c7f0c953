// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The plain bodies of device/cuda/mma.cuh: lanes lay their fragments together, the products are added in double and rounded once.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "tulle/simt/launch.hpp"

namespace tulle {
namespace simt {

// ---- numbers of 16 and 19 bits ----

// Rounds away the low `bits` of a float's pattern, to nearest; ties to even, or away from zero.
inline std::uint32_t round_bits(std::uint32_t pattern, int bits, bool ties_to_even)
{
    const std::uint32_t half = 1u << (bits - 1), odd = pattern >> bits & 1u;
    return (pattern + (ties_to_even ? half - 1 + odd : half)) & ~((1u << bits) - 1);
}

inline std::uint32_t to_bf16(float value)
{
    if (std::isnan(value)) return 0x7fff;
    return round_bits(std::bit_cast<std::uint32_t>(value), 16, true) >> 16;
}

inline std::uint32_t to_f16(float value)
{
    const std::uint32_t sign = std::bit_cast<std::uint32_t>(value) >> 16 & 0x8000u;
    const float magnitude = std::fabs(value);
    if (std::isnan(value)) return 0x7fff;
    if (magnitude >= 65520.0f) return sign | 0x7c00u;                                        // rounds to infinity
    if (magnitude < 0x1p-14f) return sign | static_cast<std::uint32_t>(std::nearbyint(magnitude * 0x1p24f));   // subnormal: multiples of 2^-24
    const std::uint32_t rounded = round_bits(std::bit_cast<std::uint32_t>(magnitude), 13, true);
    return sign | ((rounded >> 13) - ((127u - 15u) << 10));
}

inline float from_bf16(std::uint32_t bits) { return std::bit_cast<float>(bits << 16); }

inline float from_f16(std::uint32_t bits)
{
    const float sign = bits & 0x8000u ? -1.0f : 1.0f;
    const std::uint32_t exponent = bits >> 10 & 31u, fraction = bits & 0x3ffu;
    if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), -24);
    if (exponent == 31) return fraction ? std::numeric_limits<float>::quiet_NaN() : sign * std::numeric_limits<float>::infinity();
    return sign * std::ldexp(static_cast<float>(fraction | 0x400u), static_cast<int>(exponent) - 25);
}

template <Half H>
float from_half(std::uint32_t bits) { return H == Half::f16 ? from_f16(bits) : from_bf16(bits); }

// The i-th 16-bit value in registers.
template <Half H>
float half_at(const std::uint32_t* registers, int i) { return from_half<H>(registers[i / 2] >> (i % 2 * 16) & 0xffffu); }

// The hardware ignores the low 13 bits.
inline float from_tf32(std::uint32_t bits) { return std::bit_cast<float>(bits & ~0x1fffu); }

// ---- products ----

// A lane's part of a product: its registers, and its sums in place.
struct Fragments {
    const void* a;
    const void* b;
    void* d;
};

// D += A B for a shape given by its numbers of rows, columns and products, and by who holds what.
template <int M, int N, int K, class Load>
std::string multiply_tile(const Exchange& all, const Load& load)
{
    if (all.lanes != 0xffffffffu) return "mma by a warp with exited lanes";
    double a[M][K] = {}, b[K][N] = {}, d[M][N] = {};
    for (int lane = 0; lane < 32; ++lane) load.gather(all.at<Fragments>(lane), lane, a, b, d);
    for (int i = 0; i < M; ++i)
        for (int j = 0; j < N; ++j)
            for (int k = 0; k < K; ++k) d[i][j] += a[i][k] * b[k][j];
    for (int lane = 0; lane < 32; ++lane) load.scatter(all.at<Fragments>(lane), lane, d);
    return {};
}

template <int M, int N>
void gather_sums(const Fragments& f, int lane, double (&d)[M][N])
{
    for (int i = 0; i < 4; ++i) {
        const auto at = fragment::d16x8(lane, i);
        d[at.row][at.col] = static_cast<const float*>(f.d)[i];
    }
}

template <int M, int N>
void scatter_sums(const Fragments& f, int lane, const double (&d)[M][N])
{
    for (int i = 0; i < 4; ++i) {
        const auto at = fragment::d16x8(lane, i);
        static_cast<float*>(f.d)[i] = static_cast<float>(d[at.row][at.col]);
    }
}

template <Half H, int K>
struct HalfTile {
    void gather(const Fragments& f, int lane, double (&a)[16][K], double (&b)[K][8], double (&d)[16][8]) const
    {
        for (int i = 0; i < K / 2; ++i) {
            const auto at = fragment::a16(lane, i);
            a[at.row][at.col] = half_at<H>(static_cast<const std::uint32_t*>(f.a), i);
        }
        for (int i = 0; i < K / 4; ++i) {
            const auto at = fragment::b16(lane, i);
            b[at.row][at.col] = half_at<H>(static_cast<const std::uint32_t*>(f.b), i);
        }
        gather_sums(f, lane, d);
    }
    void scatter(const Fragments& f, int lane, const double (&d)[16][8]) const { scatter_sums(f, lane, d); }
};

struct Tf32Tile {
    void gather(const Fragments& f, int lane, double (&a)[16][8], double (&b)[8][8], double (&d)[16][8]) const
    {
        for (int i = 0; i < 4; ++i) {
            const auto at = fragment::a32(lane, i);
            a[at.row][at.col] = from_tf32(static_cast<const std::uint32_t*>(f.a)[i]);
        }
        for (int i = 0; i < 2; ++i) {
            const auto at = fragment::b32(lane, i);
            b[at.row][at.col] = from_tf32(static_cast<const std::uint32_t*>(f.b)[i]);
        }
        gather_sums(f, lane, d);
    }
    void scatter(const Fragments& f, int lane, const double (&d)[16][8]) const { scatter_sums(f, lane, d); }
};

struct DoubleTile {
    void gather(const Fragments& f, int lane, double (&a)[8][4], double (&b)[4][8], double (&d)[8][8]) const
    {
        const auto at_a = fragment::a64(lane), at_b = fragment::b64(lane);
        a[at_a.row][at_a.col] = *static_cast<const double*>(f.a);
        b[at_b.row][at_b.col] = *static_cast<const double*>(f.b);
        for (int i = 0; i < 2; ++i) {
            const auto at = fragment::d8x8(lane, i);
            d[at.row][at.col] = static_cast<const double*>(f.d)[i];
        }
    }
    void scatter(const Fragments& f, int lane, const double (&d)[8][8]) const
    {
        for (int i = 0; i < 2; ++i) {
            const auto at = fragment::d8x8(lane, i);
            static_cast<double*>(f.d)[i] = d[at.row][at.col];
        }
    }
};

template <int M, int N, int K, class Tile>
void mma(const void* a, const void* b, void* d, const Where& at)
{
    Fragments mine{a, b, d};
    meet_in_warp(0xffffffffu, &mine, [](const Exchange& all) { return multiply_tile<M, N, K>(all, Tile{}); }, at);
}

}  // namespace simt

template <Half H>
std::uint32_t pack(float low, float high)
{
    if constexpr (H == Half::f16) return simt::to_f16(low) | simt::to_f16(high) << 16;
    return simt::to_bf16(low) | simt::to_bf16(high) << 16;
}

inline std::uint32_t to_tf32(float value)
{
    const auto bits = std::bit_cast<std::uint32_t>(value);
    return std::isfinite(value) ? simt::round_bits(bits, 13, false) : bits;
}

inline void mma_m8n8k4(double (&d)[2], double a, double b, const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    simt::mma<8, 8, 4, simt::DoubleTile>(&a, &b, d, {file, line});
}

template <Half H>
void mma_m16n8k8(float (&d)[4], const std::uint32_t (&a)[2], const std::uint32_t (&b)[1], const char* file = __builtin_FILE(),
                 int line = __builtin_LINE())
{
    simt::mma<16, 8, 8, simt::HalfTile<H, 8>>(a, b, d, {file, line});
}

template <Half H>
void mma_m16n8k16(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2], const char* file = __builtin_FILE(),
                  int line = __builtin_LINE())
{
    simt::mma<16, 8, 16, simt::HalfTile<H, 16>>(a, b, d, {file, line});
}

inline void mma_m16n8k8_tf32(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2], const char* file = __builtin_FILE(),
                             int line = __builtin_LINE())
{
    simt::mma<16, 8, 8, simt::Tf32Tile>(a, b, d, {file, line});
}

}  // namespace tulle
