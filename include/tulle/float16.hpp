// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Floating-point numbers of 16 bits, for storage; arithmetic is done in float. The bits are those of CUDA's __half and
/// __nv_bfloat16.
///
/// Float16 is IEEE binary16: 11 bits of precision, largest number 65504, smallest 2^-24; numbers from 65520 on become
/// infinite. Bfloat16 is the upper half of a float: 8 bits of precision, the range of float.
///
/// Conversions round to nearest, ties to even, also from double (in one step, not through a rounded float); NaN becomes
/// the NaN 0x7fff.
#pragma once

#include <concepts>
#include <cstdint>

#include "tulle/api.hpp"

namespace tulle::inline TULLE_ABI {
namespace detail {

// A double as a float that lies on the same side of every number with fewer bits: rounded towards zero, the last bit
// set if anything was lost.
constexpr float to_odd_float(double value)
{
    const auto nearest = static_cast<float>(value);
    const auto back = static_cast<double>(nearest);
    if (back == value) return nearest;
    auto bits = __builtin_bit_cast(std::uint32_t, nearest);
    if (value > 0 ? back > value : back < value) --bits;  // it was rounded away from zero
    return __builtin_bit_cast(float, bits | 1u);
}

constexpr std::uint16_t f16_bits(float value)
{
    const auto all = __builtin_bit_cast(std::uint32_t, value);
    const std::uint32_t sign = all >> 16 & 0x8000u, magnitude = all & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return 0x7fff;
    if (magnitude >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);  // 65520: rounds to infinity
    if (magnitude < 0x38800000u) {  // below 2^-14: multiples of 2^-24, the last bit of 0.5f
        const auto shifted = __builtin_bit_cast(std::uint32_t, __builtin_bit_cast(float, magnitude) + 0.5f);
        return static_cast<std::uint16_t>(sign | (shifted - 0x3f000000u));
    }
    return static_cast<std::uint16_t>(sign | (((magnitude + 0xfffu + (magnitude >> 13 & 1u)) >> 13) - (112u << 10)));
}

constexpr float f16_value(std::uint16_t bits)
{
    const std::uint32_t sign = (bits & 0x8000u) << 16, magnitude = bits & 0x7fffu;
    const auto small = __builtin_bit_cast(std::uint32_t, static_cast<float>(magnitude) * 0x1p-24f);
    const std::uint32_t usual = (magnitude << 13) + (112u << 23), beyond = magnitude << 13 | 0x7f800000u;
    return __builtin_bit_cast(float, sign | (magnitude < 0x400u ? small : magnitude < 0x7c00u ? usual : beyond));
}

constexpr std::uint16_t bf16_bits(float value)
{
    const auto all = __builtin_bit_cast(std::uint32_t, value);
    if ((all & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
    return static_cast<std::uint16_t>((all + 0x7fffu + (all >> 16 & 1u)) >> 16);
}

constexpr float bf16_value(std::uint16_t bits)
{
    return __builtin_bit_cast(float, static_cast<std::uint32_t>(bits) << 16);
}

}  // namespace detail

/// IEEE binary16, for storage. Conversions are explicit; there is no arithmetic.
struct TULLE_API Float16 {
    std::uint16_t bits;  ///< sign, exponent and fraction

    /// Not initialised.
    Float16() = default;
    /// Rounds to nearest, ties to even.
    constexpr explicit Float16(float value) : bits(detail::f16_bits(value)) {}
    /// Rounds to nearest, ties to even, in one step.
    constexpr explicit Float16(double value) : bits(detail::f16_bits(detail::to_odd_float(value))) {}
    /// Rounds to nearest, ties to even.
    constexpr explicit Float16(std::integral auto value) : Float16(static_cast<double>(value)) {}
    /// The same number, exactly.
    constexpr explicit operator float() const { return detail::f16_value(bits); }
    /// The same number, exactly.
    constexpr explicit operator double() const { return detail::f16_value(bits); }
    /// The same number, exactly.
    constexpr explicit operator long double() const { return detail::f16_value(bits); }
    /// Compares as numbers: 0 equals -0, and NaN equals nothing.
    friend constexpr bool operator==(Float16 a, Float16 b) { return static_cast<float>(a) == static_cast<float>(b); }
};

/// The upper half of a float, for storage. Conversions are explicit; there is no arithmetic.
struct TULLE_API Bfloat16 {
    std::uint16_t bits;  ///< sign, exponent and fraction

    /// Not initialised.
    Bfloat16() = default;
    /// Rounds to nearest, ties to even.
    constexpr explicit Bfloat16(float value) : bits(detail::bf16_bits(value)) {}
    /// Rounds to nearest, ties to even, in one step.
    constexpr explicit Bfloat16(double value) : bits(detail::bf16_bits(detail::to_odd_float(value))) {}
    /// Rounds to nearest, ties to even.
    constexpr explicit Bfloat16(std::integral auto value) : Bfloat16(static_cast<double>(value)) {}
    /// The same number, exactly.
    constexpr explicit operator float() const { return detail::bf16_value(bits); }
    /// The same number, exactly.
    constexpr explicit operator double() const { return detail::bf16_value(bits); }
    /// The same number, exactly.
    constexpr explicit operator long double() const { return detail::bf16_value(bits); }
    /// Compares as numbers: 0 equals -0, and NaN equals nothing.
    friend constexpr bool operator==(Bfloat16 a, Bfloat16 b) { return static_cast<float>(a) == static_cast<float>(b); }
};

}  // namespace tulle::inline TULLE_ABI
