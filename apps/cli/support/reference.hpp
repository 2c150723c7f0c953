// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A plain product to compare with; the bound a correct one keeps is that of base/error_bound.hpp.
// Sums here are in long double, so that the comparison itself does not spend the bound.
#pragma once

#include <span>
#include <vector>

#include "base/error_bound.hpp"
#include "tulle/csr.hpp"

namespace tulle::cli {

struct Reference {
    std::vector<long double> exact, magnitude;
    std::vector<offset_t> products;  // of each entry
};

struct Verdict {
    double worst = 0;     // largest error over its bound; at most 1 when all is well
    offset_t entry = -1;  // where
    double is = 0, should = 0;
    bool good() const { return worst <= 1; }
};

template <class V>
Reference reference(const CsrView<V>& a, bool transpose, V alpha, std::span<const V> x, V beta, std::span<const V> y0);

template <class V>
Verdict judge(const Reference& reference, std::span<const V> y);
template <class V>
Verdict judge(const Reference& reference, std::span<const V> y, const error_bound::Rounding& rounding);
template <class V>
Verdict judge(std::span<const V> y, const std::vector<long double>& exact, const std::vector<long double>& bound);

}  // namespace tulle::cli
