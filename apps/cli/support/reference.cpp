// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "apps/cli/support/reference.hpp"

#include <cmath>
#include <limits>

namespace tulle::cli {
namespace {

using Wide = long double;

// Error over bound; not-a-number and infinity must be met exactly, except that a result too large for V may become
// infinite.
template <class V>
double ratio(V is, Wide should, Wide limit)
{
    if (!std::isfinite(should) || !std::isfinite(is)) {
        const bool overflow = std::isinf(is) && std::abs(should) + limit >= std::numeric_limits<V>::max();
        const bool same = overflow || (std::isnan(is) && std::isnan(should)) || static_cast<Wide>(is) == should;
        return same ? 0 : std::numeric_limits<double>::infinity();
    }
    const Wide error = std::abs(static_cast<Wide>(is) - should);
    return error == 0 ? 0 : static_cast<double>(error / limit);  // an empty row has no room for any error
}

}  // namespace

template <class V>
Reference reference(const CsrView<V>& a, bool transpose, V alpha, std::span<const V> x, V beta, std::span<const V> y0)
{
    const auto size = static_cast<std::size_t>(transpose ? a.cols : a.rows);
    Reference r{std::vector<Wide>(size, 0), std::vector<Wide>(size, 0), std::vector<offset_t>(size, 0)};
    for (index_t i = 0; i < a.rows; ++i)
        for (offset_t k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k) {
            const auto to = static_cast<std::size_t>(transpose ? a.col[k] : i),
                       from = static_cast<std::size_t>(transpose ? i : a.col[k]);
            const Wide product = static_cast<Wide>(alpha) * a.value[k] * x[from];
            r.exact[to] += product;
            r.magnitude[to] += std::abs(product);
            ++r.products[to];
        }
    if (beta != V(0))
        for (std::size_t i = 0; i < size; ++i) {
            r.exact[i] += static_cast<Wide>(beta) * y0[i];
            r.magnitude[i] += std::abs(static_cast<Wide>(beta) * y0[i]);
        }
    return r;
}

template <class V>
Verdict judge(const Reference& reference, std::span<const V> y)
{
    return judge(reference, y, error_bound::rounding_of<V>());
}

template <class V>
Verdict judge(const Reference& reference, std::span<const V> y, const error_bound::Rounding& rounding)
{
    std::vector<Wide> bound(y.size());
    for (std::size_t i = 0; i < y.size(); ++i)
        bound[i] = error_bound::of_sum(static_cast<Wide>(reference.products[i]), reference.magnitude[i],
                                       reference.exact[i], rounding);
    return judge(y, reference.exact, bound);
}

template <class V>
Verdict judge(std::span<const V> y, const std::vector<Wide>& exact, const std::vector<Wide>& bound)
{
    Verdict verdict;
    for (std::size_t i = 0; i < y.size(); ++i) {
        const double error = ratio(y[i], exact[i], bound[i]);
        if (error > verdict.worst || verdict.entry < 0)
            verdict = {.worst = error,
                       .entry = static_cast<offset_t>(i),
                       .is = static_cast<double>(y[i]),
                       .should = static_cast<double>(exact[i])};
    }
    return verdict;
}

template Reference reference(const CsrView<float>&, bool, float, std::span<const float>, float, std::span<const float>);
template Reference reference(const CsrView<double>&, bool, double, std::span<const double>, double,
                             std::span<const double>);
template Verdict judge(const Reference&, std::span<const float>);
template Verdict judge(const Reference&, std::span<const double>);
template Verdict judge(const Reference&, std::span<const float>, const error_bound::Rounding&);
template Verdict judge(const Reference&, std::span<const double>, const error_bound::Rounding&);
template Verdict judge(std::span<const float>, const std::vector<Wide>&, const std::vector<Wide>&);
template Verdict judge(std::span<const double>, const std::vector<Wide>&, const std::vector<Wide>&);

}  // namespace tulle::cli
