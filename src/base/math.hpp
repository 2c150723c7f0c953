// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Integer arithmetic that says when it does not fit.
#pragma once

#include <concepts>

#include "tulle/error.hpp"
#include "tulle/text.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI {

template <std::integral T>
constexpr T ceil_div(T a, T b)
{
    return a / b + (a % b != 0 ? 1 : 0);
}

template <std::integral T>
constexpr T round_up(T a, T to)
{
    return ceil_div(a, to) * to;
}

// The smallest power of two that is not below n.
template <std::integral T>
constexpr T power_of_two_from(T n)
{
    T p = 1;
    while (p < n) p *= 2;
    return p;
}

template <std::integral T>
constexpr bool is_power_of_two(T n)
{
    return n > 0 && (n & (n - 1)) == 0;
}

// a * b as an offset; ValueError where it exceeds 64 bits.
inline offset_t checked_product(offset_t a, offset_t b, std::string_view what)
{
    offset_t product = 0;
    require<ValueError>(!__builtin_mul_overflow(a, b, &product),
                        [&] { return concat(what, ": ", a, " times ", b, " does not fit 64 bits"); });
    return product;
}

}  // namespace tulle::inline TULLE_ABI
