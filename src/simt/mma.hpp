// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The plain bodies of device/cuda/mma.cuh: lanes lay their fragments together, the products are added in double and
// rounded once.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "simt/launch.hpp"

namespace tulle::inline TULLE_ABI {
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
    if (magnitude >= 65520.0f) return sign | 0x7c00u;  // rounds to infinity
    if (magnitude < 0x1p-14f)
        return sign | static_cast<std::uint32_t>(std::nearbyint(magnitude * 0x1p24f));  // subnormal: multiples of 2^-24
    const std::uint32_t rounded = round_bits(std::bit_cast<std::uint32_t>(magnitude), 13, true);
    return sign | ((rounded >> 13) - ((127u - 15u) << 10));
}

inline float from_bf16(std::uint32_t bits) { return std::bit_cast<float>(bits << 16); }

inline float from_f16(std::uint32_t bits)
{
    const float sign = bits & 0x8000u ? -1.0f : 1.0f;
    const std::uint32_t exponent = bits >> 10 & 31u, fraction = bits & 0x3ffu;
    if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), -24);
    if (exponent == 31)
        return fraction ? std::numeric_limits<float>::quiet_NaN() : sign * std::numeric_limits<float>::infinity();
    return sign * std::ldexp(static_cast<float>(fraction | 0x400u), static_cast<int>(exponent) - 25);
}

// D += A B for a shape given by its numbers of rows, columns and products, and by who holds what; mma.cpp has those
// that the functions below use.
struct DoubleTile;
struct Tf32Tile;
template <Half H, int K>
struct HalfTile;
template <int M, int N, int K, class Tile>
void mma(const void* a, const void* b, void* d, const Where& at);

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

inline void mma_m8n8k4(double (&d)[2], double a, double b, const char* file = __builtin_FILE(),
                       int line = __builtin_LINE())
{
    simt::mma<8, 8, 4, simt::DoubleTile>(&a, &b, d, {file, line});
}

template <int Parts>
void mma_m16n8_in_parts(double (&d)[4], const double (&a)[Parts][2], const double (&b)[Parts], const char* file,
                        int line)
{
    double upper[2] = {d[0], d[1]}, lower[2] = {d[2], d[3]};
    for (int i = 0; i < Parts; ++i) {
        mma_m8n8k4(upper, a[i][0], b[i], file, line);
        mma_m8n8k4(lower, a[i][1], b[i], file, line);
    }
    d[0] = upper[0], d[1] = upper[1], d[2] = lower[0], d[3] = lower[1];
}
inline void mma_m16n8k8(double (&d)[4], const double (&a)[2][2], const double (&b)[2],
                        const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    mma_m16n8_in_parts(d, a, b, file, line);
}
inline void mma_m16n8k16(double (&d)[4], const double (&a)[4][2], const double (&b)[4],
                         const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    mma_m16n8_in_parts(d, a, b, file, line);
}

template <Half H>
void mma_m16n8k8(float (&d)[4], const std::uint32_t (&a)[2], const std::uint32_t (&b)[1],
                 const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    simt::mma<16, 8, 8, simt::HalfTile<H, 8>>(a, b, d, {file, line});
}

template <Half H>
void mma_m16n8k16(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
                  const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    simt::mma<16, 8, 16, simt::HalfTile<H, 16>>(a, b, d, {file, line});
}

inline void mma_m16n8k8_tf32(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
                             const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    simt::mma<16, 8, 8, simt::Tf32Tile>(a, b, d, {file, line});
}

}  // namespace tulle::inline TULLE_ABI
