// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A plain product to compare with, and the bound a correct one keeps.
//
// Every entry of y = op(A) x computed in any order satisfies |y - exact| <= gamma(k + 1) (|A| |x|) with k the products of the entry and
// gamma(n) = n u / (1 - n u). With alpha or beta it is gamma(k + 3) (|alpha| |A| |x| + |beta| |y0|).
// Sums here are in long double, so that the comparison itself does not spend the bound.
#pragma once

#include <span>
#include <vector>

#include "tulle/matrix/csr.hpp"

namespace tulle::cli {

struct Reference {
    std::vector<long double> exact, magnitude;
    std::vector<offset_t> products;                      // of each entry
    int roundings = 1;                                   // beside those of the products
};

struct Verdict {
    double worst = 0;                                    // largest error over its bound; at most 1 when all is well
    offset_t entry = -1;                                 // where
    double is = 0, should = 0;
    bool good() const { return worst <= 1; }
};

template <class V>
Reference reference(const CsrView<V>& a, bool transpose, V alpha, std::span<const V> x, V beta, std::span<const V> y0);

template <class V>
Verdict judge(const Reference& reference, std::span<const V> y);

}  // namespace tulle::cli
