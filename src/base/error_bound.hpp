// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Componentwise error bounds: what any order of summation keeps, with or without fused multiply-add. Tests, benchmarks
// and `--verify` judge by these.
//
//     |computed - exact| <= gamma_{k+4} magnitude,      gamma_n = n u / (1 - n u)
//
// for alpha (sum of k products) + beta y, magnitude being |alpha| (sum of the products' absolute values) + |beta y|, u
// the unit roundoff of the sums (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1). The four
// roundings beside the products are those of alpha, of beta, of their sum, and of the result.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "tulle/float16.hpp"

namespace tulle::inline TULLE_ABI::error_bound {

constexpr long double gamma(long double roundings, long double unit)
{
    return roundings * unit / (1 - roundings * unit);
}

// How a sum is rounded.
struct Rounding {
    long double unit;              // unit roundoff of the sums
    long double least;             // products may fall below the smallest normal number, and lose up to this much each
    long double operands = 0;      // relative error that each product has from operands rounded before
    long double result = 0;        // relative rounding of the result to a narrower type …
    long double least_result = 0;  // … and the absolute one where that is subnormal
};

// How numbers come to tensor cores: as they are, rounded to the 11 bits of tf32, or split into two such numbers, of
// whose four products the smallest is left out: a number loses 2^-23 of itself, a product 2^-22 more.
enum class Operands { whole, tf32, split };

// Numbers of type V, results of type C; sums of 16-bit numbers are in float. Tensor cores may lose a bit with every
// addition.
template <class V, class C = V>
constexpr Rounding rounding_of(bool tensor_cores = false, Operands operands = Operands::whole)
{
    constexpr bool wide = std::is_same_v<V, double>;
    Rounding r{.unit = (wide ? 0x1p-53L : 0x1p-24L) * (tensor_cores ? 2 : 1),
               .least = wide ? static_cast<long double>(std::numeric_limits<double>::denorm_min())
                             : static_cast<long double>(std::numeric_limits<float>::denorm_min())};
    if (operands == Operands::tf32) r.operands = 0x1p-10L;  // two numbers rounded to 11 bits
    if (operands == Operands::split) r.operands = 0x1p-21L;
    if (std::is_same_v<C, Float16>) r.result = 0x1.03p-11L, r.least_result = 0x1p-25L;
    if (std::is_same_v<C, Bfloat16>) r.result = 0x1.03p-8L;
    return r;
}

inline long double of_sum(long double products, long double magnitude, long double exact, const Rounding& r)
{
    const long double roundings = products + 4;
    if (products == 0 && magnitude == 0) return 0;  // nothing was added, nothing can be lost
    return (gamma(roundings, r.unit) + r.operands) * magnitude + roundings * r.least + r.result * std::abs(exact) +
           r.least_result;
}

template <class V>
long double of_sum(long double products, long double magnitude)
{
    return of_sum(products, magnitude, 0, rounding_of<V>());
}

// What an operand counts in a magnitude. Tensor cores line products up by their exponents before they add them, and a
// subnormal number of 16 bits has the exponent of the smallest normal one.
template <class V>
long double weight(V value, bool tensor_cores)
{
    const long double size = std::abs(static_cast<long double>(value));
    return tensor_cores && std::is_same_v<V, Float16> && size > 0 ? std::max(size, 0x1p-14L) : size;
}

// A triangular solve with up to `longest` entries in a row; `growth` is (|T^-1| |T|)^p |x|, |T^-1| by the comparison
// matrix. Sums inside blocks of rows that are solved together are among the roundings.
template <class V>
long double of_solve(long double longest, long double growth)
{
    const Rounding r = rounding_of<V>();
    return gamma(longest + 100, r.unit) * growth + (longest + 100) * r.least;
}

// The error in units of what is allowed: right if not above 1. Infinite where the result is not a number, or not
// finite.
inline double share(long double computed, long double exact, long double bound)
{
    const long double error = std::abs(computed - exact);
    if (error == 0) return 0;
    return error <= std::numeric_limits<double>::max() && bound > 0 ? static_cast<double>(error / bound)
                                                                    : std::numeric_limits<double>::infinity();
}

}  // namespace tulle::inline TULLE_ABI::error_bound
