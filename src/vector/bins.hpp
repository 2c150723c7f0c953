// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The bins of a reproducible sum (binned_sum.hpp), for hosts and kernels. The range of exponents is cut into bins of 40
// bits, at fixed places: bin j takes what is at most 2^top_of(j) and counts in units of 2^(top_of(j) - 39).
#pragma once

#include <array>
#include <cstdint>
#include <limits>

#include "tulle/memory.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::vector {

inline constexpr int bin_width = 40;
inline constexpr int kept_bins = 3;
inline constexpr int highest_quick = 1000;  // beyond 2^1000 the quick rounding would overflow
inline constexpr int lowest_bin = (1040 + 1074) / bin_width;

// The units of some numbers in the bins of the largest: high 2^32 + low.
struct BinUnits {
    double largest = 0;  // absolute value; infinite or NaN if a number is
    std::array<std::int64_t, kept_bins> high{}, low{};
};

constexpr int top_of(int bin) { return 1040 - bin_width * bin; }

constexpr int unit_of(int bin)
{
    const int unit = top_of(bin) - bin_width + 1;
    return unit > -1074 ? unit : -1074;
}

// The smallest e with x <= 2^e, for a positive x.
constexpr int exponent_above(double x)
{
    const auto bits = __builtin_bit_cast(std::uint64_t, x);
    const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
    const int exponent = static_cast<int>(bits >> 52);
    if (exponent > 0) return exponent - 1023 + (fraction > 0);
    int e = -1074;
    while ((std::uint64_t{1} << (e + 1074)) < fraction) ++e;
    return e;
}

// The lowest bin that takes a positive number of this size.
constexpr int bin_of(double largest)
{
    const int bin = (1040 - exponent_above(largest)) / bin_width;
    return bin < lowest_bin ? bin : lowest_bin;
}

// 1.5 2^52 units of a bin: adding it rounds to multiples of the unit. Below the smallest unit nothing is left to round.
constexpr double rounder(int bin)
{
    constexpr std::uint64_t half = std::uint64_t{1} << 51;
    return __builtin_bit_cast(double, (static_cast<std::uint64_t>(unit_of(bin) + 52 + 1023) << 52) + half);
}

// Whether numbers up to this one can be rounded so.
constexpr bool is_quick(double largest)
{
    return largest <= std::numeric_limits<double>::max() && top_of(bin_of(largest)) <= highest_quick;
}

// The products x_i y_i in bins; no units unless is_quick(largest). Waits.
template <class V>
BinUnits units_of_products(const CudaQueue& q, const V* x, const V* y, offset_t n);

}  // namespace tulle::inline TULLE_ABI::vector
