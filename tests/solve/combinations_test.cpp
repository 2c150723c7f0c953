// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Properties that every method has with every preconditioner, in both types: a mistake in one combination may still
// converge, but not as fast as the others, or not with the norms of its residuals.
#include <gtest/gtest.h>

#include <cmath>

#include "factor/matrices.hpp"
#include "support/backends.hpp"
#include "support/battery.hpp"
#include "tulle/solve.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::solve {
namespace {

using namespace tulle::test;

class SolveCombinationsOn : public OnBackend {};

// A x = b with a Laplacian whose diagonal is not constant, so that preconditioners matter; all numbers times `scale`.
template <class V>
Report report_of(const Context& c, const Recipe& recipe, double scale)
{
    HostCsr<V> a = laplacian<V>(9, 7, 1, 0.25);
    std::vector<V> b(static_cast<std::size_t>(a.rows));
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<V>(scale * (1 + static_cast<double>(i % 7) / 4));
    std::size_t k = 0;
    for (const auto& [i, j, v] : a.entries())
        a.value[k++] = static_cast<V>(scale * (static_cast<double>(v) + (i == j ? i % 4 : 0)));
    const Csr<V> there = to_device(c, a.view());
    const auto b_there = to_device<V>(c, std::span<const V>(b));
    auto x = to_device<V>(c, std::span<const V>(b));
    return Plan<V>::make(c, there.view(), recipe).solve(b_there.span(), x.span());
}

const std::vector<Preconditioner> usual_preconditioners{None{},       Jacobi{}, BlockJacobi{3}, Chebyshev{.degree = 2},
                                                        Incomplete{}, Fsai{}};

template <class Check>
void each_combination(const Check& check)
{
    for (const Method m : methods())
        for (const Preconditioner& p : usual_preconditioners) {
            if (!is_drawn(to_text(m) + to_text(p), 3)) continue;
            SCOPED_TRACE(to_text(m) + ", " + to_text(p));
            check(Recipe{.method = m, .preconditioner = p, .stop = {.relative = 1e-4}, .restart = 10});
        }
}

TEST_P(SolveCombinationsOn, FloatTakesAboutAsManyIterationsAsDouble)
{
    const Context c = ctx();
    each_combination([&](const Recipe& recipe) {
        if (recipe.method == Method::refinement) return;  // in double alone
        const Report with_double = report_of<double>(c, recipe, 1), with_float = report_of<float>(c, recipe, 1);
        EXPECT_TRUE(with_double.converged() && with_float.converged());
        EXPECT_LE(std::abs(with_float.iterations - with_double.iterations), 2 + with_double.iterations / 8);
    });
}

// Numbers times a power of four lose no digit anywhere, also in square roots.
TEST_P(SolveCombinationsOn, ScaleOfTheSystemChangesNoIteration)
{
    const Context c = ctx();
    const double scale = 1 << 20;
    each_combination([&](const Recipe& recipe) {
        const Report plain = report_of<double>(c, recipe, 1), scaled = report_of<double>(c, recipe, scale);
        EXPECT_TRUE(plain.converged() && scaled.converged());
        ASSERT_EQ(plain.history.size(), scaled.history.size());
        for (std::size_t k = 0; k < plain.history.size(); ++k)
            EXPECT_NEAR(scaled.history[k] / scale, plain.history[k], 1e-9 * plain.history[0]) << k;
    });
}

// A plan with new values solves as a plan that never had others: eigenvalues, factors and what is inside of refinement
// are renewed.
TEST_P(SolveCombinationsOn, NewValuesAreThoseOfANewPlan)
{
    const Context c = ctx();
    const auto a = laplacian<double>(9, 7, 1);
    auto other = a;
    std::size_t k = 0;
    for (const auto& [i, j, v] : a.entries()) other.value[k++] = v * (1 + i % 3) * (1 + j % 3) + (i == j ? i % 4 : 0);
    const Csr<double> first = to_device(c, a.view()), second = to_device(c, other.view());
    const std::vector<double> ones(static_cast<std::size_t>(a.rows), 1);
    const auto b = to_device<double>(c, std::span<const double>(ones));
    auto x = to_device<double>(c, std::span<const double>(ones));
    each_combination([&](const Recipe& recipe) {
        auto plan = Plan<double>::make(c, first.view(), recipe), fresh = Plan<double>::make(c, second.view(), recipe);
        plan.solve(b.span(), x.span());
        plan.update_values(second.view());
        const Report renewed = plan.solve(b.span(), x.span());
        const std::vector<double> found = host_vector(c, x);
        const Report made = fresh.solve(b.span(), x.span());
        EXPECT_EQ(renewed.history, made.history);
        EXPECT_EQ(renewed.inner_iterations, made.inner_iterations);
        EXPECT_TRUE(same_bits(found, host_vector(c, x)));
    });
}

TULLE_ON_BACKENDS(SolveCombinationsOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI::solve
