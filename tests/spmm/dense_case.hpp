// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The oracle of SpMM in long double on the numbers as they are stored, and the bound that any order of summation keeps;
// dense matrices are in support/dense.hpp.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "base/error_bound.hpp"
#include "support/battery.hpp"
#include "support/dense.hpp"
#include "tulle/spmm.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::spmm::test {

using tulle::test::battery;
using tulle::test::csr_of;
using tulle::test::dense;
using tulle::test::for_each_type;
using tulle::test::Form;
using tulle::test::HostCsr;
using tulle::test::HostDense;
using tulle::test::in_type;
using tulle::test::is_drawn;
using tulle::test::Lent;
using tulle::test::matrix_where;
using tulle::test::name_of;
using tulle::test::random_matrix;
using tulle::test::same_bits;
using tulle::test::Scalars;
using tulle::test::Values;

// The policy for nearly dense matrices.
inline Policy whole(int width, int parts, int clusters = 1)
{
    return {Kernel::dense, 1, OrderKind::natural, width, parts, 0, clusters};
}

// A float as tf32 has it: 10 bits of fraction, ties away from zero.
inline float tf32_of(float value)
{
    std::uint32_t bits;
    std::memcpy(&bits, &value, 4);
    if ((bits & 0x7f800000u) != 0x7f800000u) bits = (bits + 0x1000u) & ~0x1fffu;
    std::memcpy(&value, &bits, 4);
    return value;
}

// Whether `got` is alpha op(A) B + beta C: exactly, where sums are, or within the bound. `tensor`: the sums are a
// tensor core's, with inputs in tf32. `split`: a tensor core's, with floats split in two.
template <class V, class C>
::testing::AssertionResult is_product(const HostCsr<V>& a, bool transpose, Scalars s, const HostDense<V>& b,
                                      const HostDense<C>& before, const HostDense<C>& got, bool exact, bool tensor,
                                      bool split = false)
{
    const error_bound::Rounding rounding = split ? error_bound::rounding_of<V, C>(true, error_bound::Operands::split)
                                                 : error_bound::rounding_of<V, C>(tensor);
    const auto number = [&](V v) {
        if constexpr (std::is_same_v<V, float>) return static_cast<long double>(tensor ? tf32_of(v) : v);
        else return static_cast<long double>(v);
    };
    const auto weight = [&](V v) { return error_bound::weight(v, tensor); };
    const std::size_t all = got.at.size();
    std::vector<long double> sum(all, 0), magnitude(all, 0), terms(static_cast<std::size_t>(got.rows), 0);
    for (const auto& [i, j, v] : a.entries()) {
        const index_t to = transpose ? j : i, from = transpose ? i : j;
        ++terms[static_cast<std::size_t>(to)];
        for (index_t n = 0; n < got.cols; ++n) {
            const std::size_t at =
                static_cast<std::size_t>(to) * static_cast<std::size_t>(got.cols) + static_cast<std::size_t>(n);
            const long double term = number(v) * number(b(from, n));
            sum[at] += term;
            magnitude[at] += weight(v) * weight(b(from, n));
        }
    }
    for (index_t i = 0; i < got.rows; ++i)
        for (index_t n = 0; n < got.cols; ++n) {
            const std::size_t at =
                static_cast<std::size_t>(i) * static_cast<std::size_t>(got.cols) + static_cast<std::size_t>(n);
            const long double old = s.beta == 0 ? 0.0L : s.beta * static_cast<long double>(before.at[at]);
            const long double want = s.alpha * sum[at] + old, is = static_cast<long double>(got.at[at]);
            const long double bound =
                exact ? 0.0L
                      : error_bound::of_sum(terms[static_cast<std::size_t>(i)],
                                            std::abs(s.alpha) * magnitude[at] + std::abs(old), want, rounding);
            const bool right = exact ? is == static_cast<long double>(static_cast<C>(static_cast<double>(want)))
                                     : std::abs(is - want) <= bound;
            if (!right)
                return ::testing::AssertionFailure()
                       << "C(" << i << ", " << n << ") is " << is << ", not " << want << "; bound " << bound;
        }
    return ::testing::AssertionSuccess();
}

// A B entry by entry, in doubles and in no bound's way: for numbers of B that are not finite, and integers beside them.
template <class V, class C>
::testing::AssertionResult is_product_entry_by_entry(const HostCsr<V>& a, const HostDense<V>& b,
                                                     const HostDense<C>& got)
{
    HostDense<double> want{got.rows, got.cols, std::vector<double>(got.at.size(), 0.0)};
    for (const auto& [i, col, x] : a.entries())
        for (index_t n = 0; n < got.cols; ++n) want(i, n) += static_cast<double>(x) * static_cast<double>(b(col, n));
    for (index_t i = 0; i < got.rows; ++i)
        for (index_t n = 0; n < got.cols; ++n) {
            const double is = static_cast<double>(got(i, n)), must = want(i, n);
            if (is != must && !(std::isnan(is) && std::isnan(must)))
                return ::testing::AssertionFailure()
                       << name_of<V>() << " C(" << i << ", " << n << ") is " << is << ", not " << must;
        }
    return ::testing::AssertionSuccess();
}

}  // namespace tulle::inline TULLE_ABI::spmm::test
