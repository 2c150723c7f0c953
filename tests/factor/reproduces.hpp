// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Whether factors give the matrix on their pattern.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "support/battery.hpp"

namespace tulle::test {

template <class V>
using DenseRows = std::vector<std::vector<V>>;

template <class V>
DenseRows<double> dense_rows(const HostCsr<V>& a)
{
    const auto n = static_cast<std::size_t>(a.rows);
    DenseRows<double> d(n, std::vector<double>(n, 0));
    for (const auto& [i, j, v] : a.entries()) d[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)] += double(v);
    return d;
}

// L U or L L^T of the factors.
template <class V>
DenseRows<double> product_of(const HostCsr<V>& factors, bool cholesky)
{
    const DenseRows<double> f = dense_rows(factors);
    const std::size_t n = f.size();
    DenseRows<double> p(n, std::vector<double>(n, 0));
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j)
            for (std::size_t k = 0; k <= std::min(i, j); ++k) {
                const double left = k == i && !cholesky ? 1 : f[i][k];
                p[i][j] += left * (cholesky ? f[j][k] : f[k][j]);
            }
    return p;
}

// (L U)_ij = a_ij for all entries of the factors' pattern.
template <class V>
void expect_reproduces(const HostCsr<V>& a, const HostCsr<V>& factors, bool cholesky)
{
    const DenseRows<double> p = product_of(factors, cholesky), d = dense_rows(a);
    const double eps = std::numeric_limits<V>::epsilon();
    for (const auto& [i, j, v] : factors.entries()) {
        const auto r = static_cast<std::size_t>(i), c = static_cast<std::size_t>(j);
        double scale = 0;
        for (std::size_t k = 0; k < p.size(); ++k) scale = std::max(scale, std::abs(d[r][k]));
        ASSERT_NEAR(p[r][c], d[r][c], 64 * eps * (1 + scale)) << "row " << i << ", column " << j;
    }
}

}  // namespace tulle::test
