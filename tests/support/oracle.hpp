// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The oracle: plain loops in long double, and the componentwise bound that any order of summation keeps
// (base/error_bound.hpp).
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/error_bound.hpp"
#include "support/host_matrix.hpp"

namespace tulle::test {

template <class V>
struct Product {
    std::vector<long double> value, magnitude;
    std::vector<offset_t> terms;
};

template <class V>
Product<V> oracle_multiply(const HostCsr<V>& a, bool transpose, V alpha, const std::vector<V>& x, V beta,
                           const std::vector<V>& y)
{
    const std::size_t n = y.size();
    Product<V> p{std::vector<long double>(n, 0), std::vector<long double>(n, 0), std::vector<offset_t>(n, 0)};
    for (const auto& [i, j, v] : a.entries()) {
        const auto to = static_cast<std::size_t>(transpose ? j : i), from = static_cast<std::size_t>(transpose ? i : j);
        const long double term = static_cast<long double>(v) * static_cast<long double>(x[from]);
        p.value[to] += term;
        p.magnitude[to] += std::abs(term);
        ++p.terms[to];
    }
    for (std::size_t i = 0; i < n; ++i) {
        p.value[i] = static_cast<long double>(alpha) * p.value[i] +
                     (beta == V(0) ? 0.0L : static_cast<long double>(beta) * static_cast<long double>(y[i]));
        p.magnitude[i] =
            std::abs(static_cast<long double>(alpha)) * p.magnitude[i] +
            (beta == V(0) ? 0.0L : std::abs(static_cast<long double>(beta) * static_cast<long double>(y[i])));
    }
    return p;
}

template <class V>
::testing::AssertionResult within_bound(const std::vector<V>& got, const Product<V>& want)
{
    if (got.size() != want.value.size())
        return ::testing::AssertionFailure() << got.size() << " entries, not " << want.value.size();
    for (std::size_t i = 0; i < got.size(); ++i) {
        const long double bound = error_bound::of_sum<V>(static_cast<long double>(want.terms[i]), want.magnitude[i]);
        const long double error = std::abs(static_cast<long double>(got[i]) - want.value[i]);
        if (!(error <= bound))
            return ::testing::AssertionFailure() << "entry " << i << ": " << got[i] << " instead of " << want.value[i]
                                                 << ", error " << error << ", bound " << bound;
    }
    return ::testing::AssertionSuccess();
}

}  // namespace tulle::test
