// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The steps of narrow(), once per backend, and what they do with one value. `line` of a nonzero is its row or column,
// whichever has a power of two.
#pragma once

#include <cstdint>
#include <type_traits>

#include "tulle/float16.hpp"
#include "tulle/memory.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::matrix {

// Numbers of a type have full precision from 2^least to below 2^(most + 1). Scaled lines have a largest exponent of
// `target`: as high as possible in f16; in bf16 so that products with any B stay in the range of float.
template <class V>
struct HalfRange {  // f16
    static constexpr int least = -14, most = 15, target = 15, fraction_bits = 10;
};
template <>
struct HalfRange<Bfloat16> {
    static constexpr int least = -126, most = 127, target = 0, fraction_bits = 7;
};

// Exponents of lines without a value, least and most.
inline constexpr int no_least = 1 << 20, no_most = -no_least;

// Finite and not zero: it counts for the exponents.
constexpr bool has_exponent(double value) { return value != 0 && value - value == 0; }

// The exponent of a value rounded to the digits of V.
template <class V>
constexpr int exponent_of(double value)
{
    const bool tiny = value < 0x1p-1000 && value > -0x1p-1000;
    const auto bits = __builtin_bit_cast(std::uint64_t, tiny ? value * 0x1p200 : value) & ~(std::uint64_t{1} << 63);
    const std::uint64_t rounded = bits + (std::uint64_t{1} << (51 - HalfRange<V>::fraction_bits));
    return static_cast<int>(rounded >> 52) - 1023 - (tiny ? 200 : 0);
}

// What became of values.
struct Losses {
    unsigned long long overflowed = 0, subnormal = 0, zeroed = 0;
};

// One value divided by a power of two, which is exact, and rounded.
template <class V>
constexpr V narrowed(double value, double factor)
{
    return V(value / factor);
}

enum class Loss { none, overflowed, subnormal, zeroed };
template <class V>
constexpr Loss loss_of(double value, V narrow)
{
    if (!has_exponent(value)) return Loss::none;
    const auto is = static_cast<float>(narrow), size = is < 0 ? -is : is;
    if (size - size != 0) return Loss::overflowed;
    constexpr float smallest = std::is_same_v<V, Float16> ? 0x1p-14f : 0x1p-126f;
    return size == 0 ? Loss::zeroed : size < smallest ? Loss::subnormal : Loss::none;
}

// The smallest and largest exponent of each line, into arrays that hold no_least and no_most.
template <class V, class From>
void find_exponents(const CpuQueue& q, const From* value, const index_t* line, offset_t n, int* least, int* most);
template <class V, class From>
void find_exponents(const CudaQueue& q, const From* value, const index_t* line, offset_t n, int* least, int* most);

// to[k] = value[k] / scale[line[k]], rounded; all factors are 1 where scale is null. Adds to *losses.
template <class V, class From>
void narrow_values(const CpuQueue& q, const From* value, const index_t* line, const float* scale, offset_t n, V* to,
                   Losses* losses);
template <class V, class From>
void narrow_values(const CudaQueue& q, const From* value, const index_t* line, const float* scale, offset_t n, V* to,
                   Losses* losses);

}  // namespace tulle::inline TULLE_ABI::matrix
