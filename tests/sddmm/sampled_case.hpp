// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The oracle of SDDMM and of attention in long double, and the bounds that any order of summation keeps.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/error_bound.hpp"
#include "support/battery.hpp"
#include "support/dense.hpp"
#include "tulle/sddmm.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::sddmm::test {

using namespace tulle::test;

struct Dot {
    long double sum = 0, magnitude = 0;
};

template <class V>
Dot dot_of(const HostDense<V>& x, index_t i, const HostDense<V>& y, index_t j)
{
    Dot d;
    for (index_t t = 0; t < x.cols; ++t) {
        const long double term = static_cast<long double>(x(i, t)) * static_cast<long double>(y(j, t));
        d.sum += term;
        d.magnitude += std::abs(term);
    }
    return d;
}

// Whether got[p] is alpha dot(x_i, y_j) [a_p] + beta before[p] for every nonzero p: exactly, or within the bound.
template <class V, class C>
::testing::AssertionResult is_sampled(const HostCsr<V>& a, bool scaled, Scalars s, const HostDense<V>& x,
                                      const HostDense<V>& y, const std::vector<C>& before, const std::vector<C>& got,
                                      bool exact)
{
    const error_bound::Rounding rounding = error_bound::rounding_of<V, C>();
    if (got.size() != a.col.size()) return ::testing::AssertionFailure() << got.size() << " results";
    std::size_t p = 0;
    for (const auto& [i, j, v] : a.entries()) {
        const Dot dot = dot_of(x, i, y, j);
        const long double factor = s.alpha * (scaled ? static_cast<long double>(v) : 1.0L);
        const long double old = s.beta == 0 ? 0.0L : s.beta * static_cast<long double>(before[p]);
        const long double want = factor * dot.sum + old, is = static_cast<long double>(got[p]);
        const long double bound =
            exact ? 0.0L
                  : error_bound::of_sum(x.cols + 1, std::abs(factor) * dot.magnitude + std::abs(old), want, rounding);
        const bool right = exact ? is == static_cast<long double>(static_cast<C>(static_cast<double>(want)))
                                 : std::abs(is - want) <= bound;
        if (!right)
            return ::testing::AssertionFailure() << "c[" << p << "] at (" << i << ", " << j << ") is " << is << ", not "
                                                 << want << "; bound " << bound;
        ++p;
    }
    return ::testing::AssertionSuccess();
}

// Attention on a backend: with scores used where they are computed, and stored between two kernels.
inline std::vector<Policy> ways_to_attend(Backend backend)
{
    if (backend == Backend::cpu) return candidates(backend);
    return {Policy{4}, Policy{4, true}, Policy{0, true, true}};
}

// Whether got is softmax(alpha Q K^T [a] at the positions of A) V. A weight has the relative error of its score's
// absolute error, of exp (a few units), and of the sums.
template <class V, class C>
::testing::AssertionResult is_attended(const HostCsr<V>& a, bool scaled, double alpha, const HostDense<V>& q,
                                       const HostDense<V>& k, const HostDense<V>& v, const HostDense<C>& got)
{
    const error_bound::Rounding rounding = error_bound::rounding_of<V, C>();
    const auto entries = a.entries();
    for (index_t i = 0; i < a.rows; ++i) {
        const auto row = static_cast<std::size_t>(i);
        const auto begin = static_cast<std::size_t>(a.row_begin[row]),
                   end = static_cast<std::size_t>(a.row_begin[row + 1]);
        std::vector<long double> score;
        long double largest = 0, error = 0, total = 0;
        for (std::size_t p = begin; p < end; ++p) {
            const auto& [r, j, value] = entries[p];
            const Dot dot = dot_of(q, i, k, j);
            const long double factor = alpha * (scaled ? static_cast<long double>(value) : 1.0L);
            score.push_back(factor * dot.sum);
            largest = p == begin ? score.back() : std::max(largest, score.back());
            error = std::max(error, error_bound::of_sum(q.cols + 1, std::abs(factor) * dot.magnitude, 0, rounding) +
                                        rounding.unit * std::abs(score.back()));
        }
        std::vector<long double> weight;  // of every nonzero once: exp takes most of the time
        for (const long double s : score) total += weight.emplace_back(std::exp(s - largest));
        for (index_t c = 0; c < v.cols; ++c) {
            long double want = 0, magnitude = 0;
            for (std::size_t p = begin; p < end; ++p) {
                const long double w = weight[p - begin] / total;
                const long double term = w * static_cast<long double>(v(std::get<1>(entries[p]), c));
                want += term;
                magnitude += std::abs(term);
            }
            const long double relative =
                4 * error + error_bound::gamma(2.0L * static_cast<long double>(end - begin) + 40, rounding.unit);
            const long double bound = relative * magnitude + rounding.result * std::abs(want) + rounding.least_result +
                                      static_cast<long double>(end - begin) * rounding.least;
            const auto is = static_cast<long double>(got(i, c));
            if (!(std::abs(is - want) <= bound))
                return ::testing::AssertionFailure()
                       << "H(" << i << ", " << c << ") is " << is << ", not " << want << "; bound " << bound;
        }
    }
    return ::testing::AssertionSuccess();
}

}  // namespace tulle::inline TULLE_ABI::sddmm::test
