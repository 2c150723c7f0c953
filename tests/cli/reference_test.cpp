// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The check behind --verify: it accepts what is right and finds what is not.
#include <gtest/gtest.h>

#include <limits>

#include "apps/cli/support/reference.hpp"

namespace tulle::test {
namespace {

template <class V>
struct Small {
    std::vector<offset_t> row_begin{0, 2, 2, 4};
    std::vector<index_t> col{0, 2, 1, 2};
    std::vector<V> value{V(0.1), V(0.2), V(1e6), V(-3)}, x{V(0.3), V(0.7), V(-0.9)}, y{V(1), V(2), V(3)};
    CsrView<V> view() const { return {3, 3, 4, row_begin.data(), col.data(), value.data()}; }

    std::vector<V> product(bool transpose, V alpha, V beta) const
    {
        std::vector<V> sum(3, V(0));
        for (std::size_t i = 0; i < 3; ++i)
            for (auto k = static_cast<std::size_t>(row_begin[i]); k < static_cast<std::size_t>(row_begin[i + 1]); ++k) {
                const auto j = static_cast<std::size_t>(col[k]);
                sum[transpose ? j : i] += value[k] * x[transpose ? i : j];
            }
        for (std::size_t i = 0; i < 3; ++i) sum[i] = alpha * sum[i] + beta * y[i];
        return sum;
    }
};

template <class V>
class Judged : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Judged, Types);

TYPED_TEST(Judged, AcceptsAnOrdinarySum)
{
    using V = TypeParam;
    const Small<V> a;
    for (const bool transpose : {false, true})
        for (const V beta : {V(0), V(0.7)}) {
            const auto plain = cli::reference<V>(a.view(), transpose, V(1.3), a.x, beta, a.y);
            EXPECT_TRUE(cli::judge<V>(plain, a.product(transpose, V(1.3), beta)).good());
        }
}

TYPED_TEST(Judged, FindsAnErrorOfAFewUnits)
{
    using V = TypeParam;
    const Small<V> a;
    const auto plain = cli::reference<V>(a.view(), false, V(1), a.x, V(0), a.y);
    for (std::size_t i = 0; i < 3; ++i) {
        std::vector<V> y = a.product(false, V(1), V(0));
        y[i] += y[i] == V(0) ? std::numeric_limits<V>::denorm_min() : 16 * std::numeric_limits<V>::epsilon() * y[i];
        const cli::Verdict verdict = cli::judge<V>(plain, y);
        EXPECT_FALSE(verdict.good()) << i;
        EXPECT_EQ(verdict.entry, static_cast<offset_t>(i));
    }
}

TYPED_TEST(Judged, TakesNanForWrongUnlessItBelongsThere)
{
    using V = TypeParam;
    Small<V> a;
    std::vector<V> y = a.product(false, V(1), V(0));
    y[1] = std::numeric_limits<V>::quiet_NaN();
    EXPECT_FALSE(cli::judge<V>(cli::reference<V>(a.view(), false, V(1), a.x, V(0), a.y), y).good());
    a.value[0] = std::numeric_limits<V>::quiet_NaN();
    EXPECT_TRUE(
        cli::judge<V>(cli::reference<V>(a.view(), false, V(1), a.x, V(0), a.y), a.product(false, V(1), V(0))).good());
}

}  // namespace
}  // namespace tulle::test
