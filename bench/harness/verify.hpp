// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Is y = A x right? Every entry must keep the bound of base/error_bound.hpp. The reference sums in long double.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "base/error_bound.hpp"
#include "tulle/csr.hpp"

namespace tulle::bench {

template <class V>
class SpmvReference {
public:
    SpmvReference(const CsrView<V>& a, const V* x)
        : exact_(static_cast<std::size_t>(a.rows)),
          limit_(static_cast<std::size_t>(a.rows))
    {
#pragma omp parallel for schedule(dynamic, 1024)
        for (index_t i = 0; i < a.rows; ++i) add_row(a, x, i);
    }

    // The largest error in units of what is allowed: right if not above 1. Infinite for NaN.
    double worst_share(const std::vector<double>& y) const
    {
        if (y.size() != exact_.size()) return std::numeric_limits<double>::infinity();
        double worst = 0;
        for (std::size_t i = 0; i < y.size(); ++i)
            worst = std::fmax(worst, error_bound::share(y[i], exact_[i], limit_[i]));
        return worst;
    }

private:
    void add_row(const CsrView<V>& a, const V* x, index_t i)
    {
        long double sum = 0, magnitude = 0;
        for (offset_t k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k) {
            const long double product = static_cast<long double>(a.value[k]) * x[a.col[k]];
            sum += product;
            magnitude += std::fabs(product);
        }
        const auto products = static_cast<long double>(a.row_begin[i + 1] - a.row_begin[i]);
        exact_[static_cast<std::size_t>(i)] = sum;
        limit_[static_cast<std::size_t>(i)] = error_bound::of_sum<V>(products, magnitude);
    }

    std::vector<long double> exact_, limit_;
};

}  // namespace tulle::bench
