// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Right-hand sides of any scale: a power of two of b is that power of x, of the residuals and of nothing else.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>

#include "factor/matrices.hpp"
#include "support/backends.hpp"
#include "tulle/error.hpp"
#include "tulle/solve.hpp"
#include "tulle/solve_team.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::solve {
namespace {

using namespace tulle::test;

class ScaleOn : public OnBackend {};

template <class V>
struct Answer {
    Report report;
    std::vector<V> x;
};

template <class V>
std::vector<V> times_power(std::vector<V> v, int exponent)
{
    for (V& entry : v) entry = std::ldexp(entry, exponent);
    return v;
}

template <class V>
std::vector<V> integers_for(index_t rows)
{
    return test_vector<V>(rows, Values::integers, 17);
}

template <class V>
Answer<V> answer_to(const Context& c, const HostCsr<V>& a, const std::vector<V>& b, const Recipe& recipe,
                    std::vector<V> guess = {}, const Observer& observe = {})
{
    if (guess.empty()) guess.assign(b.size(), std::numeric_limits<V>::quiet_NaN());
    const Csr<V> there = to_device(c, a.view());
    const auto b_there = to_device<V>(c, std::span<const V>(b));
    auto x = to_device<V>(c, std::span<const V>(guess));
    auto plan = Plan<V>::make(c, there.view(), recipe);
    const Report report = plan.solve(b_there.span(), x.span(), observe);
    return {report, host_vector(c, x)};
}

// The same solve, but for the power of two.
template <class V>
void expect_alike(const Answer<V>& found, const Answer<V>& usual, int exponent)
{
    EXPECT_TRUE(found.report.converged()) << found.report.text();
    EXPECT_NEAR(static_cast<double>(found.report.iterations), static_cast<double>(usual.report.iterations), 1);
    EXPECT_NEAR(std::ldexp(found.report.history.front(), -exponent), usual.report.history.front(),
                1e-6 * usual.report.history.front());
    EXPECT_NEAR(std::ldexp(found.report.target, -exponent), usual.report.target, 1e-6 * usual.report.target);
    EXPECT_LE(found.report.residual, found.report.target);
    EXPECT_EQ(found.report.residual, found.report.history.back());
    const double tolerance = sizeof(V) == 4 ? 1e-3 : 1e-6;
    for (std::size_t i = 0; i < usual.x.size(); ++i)
        EXPECT_NEAR(std::ldexp(found.x[i], -exponent), usual.x[i], tolerance * (1 + std::abs(usual.x[i])));
}

template <class V>
void expect_any_scale(const Context& c, Method method, std::initializer_list<int> exponents)
{
    const bool symmetric = method != Method::bicgstab && method != Method::gmres;
    const auto a = symmetric ? laplacian<V>(5, 4, 1) : dominant<V>(20, 0.2, false, 3);
    const auto b = integers_for<V>(a.rows);
    const Recipe recipe{.method = method};
    const auto usual = answer_to<V>(c, a, b, recipe);
    for (const int exponent : exponents) {
        SCOPED_TRACE(concat(to_text(method), " with 2^", exponent));
        expect_alike(answer_to<V>(c, a, times_power(b, exponent), recipe), usual, exponent);
    }
}

TEST_P(ScaleOn, EveryMethodSolvesForSmallAndLargeRightHandSides)
{
    for (const Method method : {Method::cg, Method::minres, Method::bicgstab, Method::gmres, Method::refinement}) {
        if (!is_drawn(concat("scale ", to_text(method)), 2)) continue;
        expect_any_scale<double>(ctx(), method, {-565, -515, 664, 1000});
        if (method != Method::refinement) expect_any_scale<float>(ctx(), method, {-100, 110});
    }
}

// Inside refinement the matrix is in float, which has a smaller range than double.
TEST_P(ScaleOn, RefinementSolvesForSmallAndLargeMatrices)
{
    auto a = laplacian<double>(5, 4, 1);
    const auto b = integers_for<double>(a.rows);
    const Recipe recipe{.method = Method::refinement, .preconditioner = Jacobi{}};
    const auto usual = answer_to<double>(ctx(), a, b, recipe);
    const auto values = a.value;
    for (const int exponent : {-400, 150, 900}) {
        SCOPED_TRACE(exponent);
        a.value = times_power(values, exponent);
        const auto found = answer_to<double>(ctx(), a, b, recipe);
        EXPECT_TRUE(found.report.converged()) << found.report.text();
        EXPECT_EQ(times_power(found.x, exponent), usual.x);
    }
}

TEST_P(ScaleOn, RefinementTakesNewValuesOfAnotherScale)
{
    auto a = laplacian<double>(5, 4, 1);
    const Csr<double> there = to_device(ctx(), a.view());
    auto plan = Plan<double>::make(ctx(), there.view(), {.method = Method::refinement, .preconditioner = Jacobi{}});
    a.value = times_power(a.value, 500);
    const Csr<double> other = to_device(ctx(), a.view());
    plan.update_values(other.view());
    const auto ones = to_device<double>(ctx(), std::span<const double>(std::vector<double>(20, 1.0)));
    Buffer<double> x = to_device<double>(ctx(), std::span<const double>(std::vector<double>(20, 0.0)));
    EXPECT_TRUE(plan.solve(ones.span(), x.span()).converged());
}

TEST_P(ScaleOn, ReportsTheScaleOfTheCaller)
{
    const auto a = laplacian<double>(5, 4, 1);
    const auto b = integers_for<double>(a.rows);
    double least = std::numeric_limits<double>::infinity();
    const auto observe = [&](const SolveProgress& p) { least = std::min(least, p.target); };
    const auto tiny = answer_to<double>(ctx(), a, times_power(b, -600), {.method = Method::cg}, {}, observe);
    EXPECT_EQ(least, tiny.report.target);
    const Recipe loose{.method = Method::cg, .stop = {.absolute = 1}};
    const auto none = answer_to<double>(ctx(), a, times_power(b, -600), loose);
    EXPECT_TRUE(none.report.converged());
    EXPECT_EQ(none.report.iterations, 0) << "the absolute tolerance is larger than b";
    EXPECT_EQ(none.report.target, 1);
    const auto denormal = answer_to<double>(ctx(), a, times_power(b, -1060), {.method = Method::cg});
    EXPECT_TRUE(denormal.report.reason == Reason::stagnated || denormal.report.converged()) << denormal.report.text();
    EXPECT_GT(*std::max_element(denormal.x.begin(), denormal.x.end()), 0);
}

TEST_P(ScaleOn, TakesAFirstGuess)
{
    const auto a = laplacian<double>(5, 4, 1);
    const auto b = integers_for<double>(a.rows);
    const Recipe recipe{.method = Method::cg, .guess = true};
    const auto solved = answer_to<double>(ctx(), a, b, {.method = Method::cg, .stop = {.relative = 1e-12}});
    for (const int exponent : {-600, 700}) {
        const auto near =
            answer_to<double>(ctx(), a, times_power(b, exponent), recipe, times_power(solved.x, exponent));
        EXPECT_EQ(near.report.iterations, 0) << near.report.text();
        EXPECT_TRUE(near.report.converged());
    }
    const std::vector<double> huge(b.size(), 1e200), bad(b.size(), std::nan(""));
    EXPECT_TRUE(answer_to<double>(ctx(), a, times_power(b, -700), recipe, huge).report.converged());
    const auto refused = answer_to<double>(ctx(), a, times_power(b, -700), recipe, bad);
    EXPECT_EQ(refused.report.reason, Reason::not_finite);
    EXPECT_EQ(refused.report.where, "the first guess");
}

TEST_P(ScaleOn, TellsZeroAndInfinityFromScale)
{
    const auto a = laplacian<double>(5, 4, 1);
    std::vector<double> b(static_cast<std::size_t>(a.rows));
    EXPECT_EQ(answer_to<double>(ctx(), a, b, {.method = Method::cg}).x, b) << "zero";
    b = times_power(integers_for<double>(a.rows), 700);
    for (const double wrong : {std::nan(""), std::numeric_limits<double>::infinity()}) {
        b[3] = wrong;
        const auto r = answer_to<double>(ctx(), a, b, {.method = Method::cg}).report;
        EXPECT_EQ(r.reason, Reason::not_finite);
        EXPECT_EQ(r.where, "b");
    }
    auto small = a;
    for (double& v : small.value) v *= 1e-200;
    const auto over =
        answer_to<double>(ctx(), small, times_power(integers_for<double>(a.rows), 700), {.method = Method::cg});
    EXPECT_EQ(over.report.reason, Reason::not_finite) << "x is larger than any double";
    EXPECT_TRUE(std::isfinite(over.x[0]));
}

TEST_P(ScaleOn, ColumnsMayHaveAnyScaleBesideEachOther)
{
    const Context c = ctx();
    const auto a = laplacian<double>(5, 4, 1);
    const std::vector<int> exponents{0, -600, 700, 0, -520};
    const auto cols = static_cast<index_t>(exponents.size());
    std::vector<double> b;
    for (const int e : exponents)
        for (const double v : times_power(integers_for<double>(a.rows), e)) b.push_back(v);
    const Csr<double> there = to_device(c, a.view());
    const auto b_there = to_device<double>(c, std::span<const double>(b));
    auto x = to_device<double>(c, std::span<const double>(b));
    auto plan = Plan<double>::make(c, there.view(), {.method = Method::cg, .preconditioner = Jacobi{}});
    const auto reports = plan.solve(DenseView<const double>{a.rows, cols, a.rows, Layout::col_major, b_there.data()},
                                    DenseView<double>{a.rows, cols, a.rows, Layout::col_major, x.data()});
    const std::vector<double> all = host_vector(c, x);
    for (index_t j = 0; j < cols; ++j) {
        const Report& r = reports[static_cast<std::size_t>(j)];
        EXPECT_TRUE(r.converged()) << j << ": " << r.text();
        EXPECT_GT(r.iterations, 0);
        for (index_t i = 0; i < a.rows; ++i) {
            const double first = all[static_cast<std::size_t>(i)];
            const double here = all[static_cast<std::size_t>(j * a.rows + i)];
            EXPECT_NEAR(std::ldexp(here, -exponents[static_cast<std::size_t>(j)]), first, 1e-6 * (1 + std::abs(first)));
        }
    }
}

TEST(ScaleOnTeam, IsOfNoConsequence)
{
    const auto a = laplacian<double>(5, 4, 1);
    const auto b = integers_for<double>(a.rows);
    auto plan = TeamPlan<double>::make(Team::cpu(3, 1), a.view(), {.method = Method::cg, .preconditioner = Jacobi{}});
    const auto solve = [&](int exponent) {
        std::vector<double> x(b.size());
        const Report report = plan.solve(times_power(b, exponent), x);
        return Answer<double>{report, x};
    };
    const auto usual = solve(0);
    for (const int exponent : {-600, 700}) expect_alike(solve(exponent), usual, exponent);
}

// Each type has a tolerance that it can reach.
TEST_P(ScaleOn, ToleranceFollowsTheType)
{
    const auto single = answer_to<float>(ctx(), laplacian<float>(12, 10, 1), integers_for<float>(120), {});
    EXPECT_TRUE(single.report.converged()) << single.report.text();
    EXPECT_NEAR(single.report.target, 1e-5 * single.report.history.front(), 1e-10 * single.report.history.front());
    const auto wide = answer_to<double>(ctx(), laplacian<double>(5, 4, 1), integers_for<double>(20), {});
    EXPECT_LE(wide.report.relative, 1e-8);
    const auto a = laplacian<float>(5, 4, 1);
    const Csr<float> there = to_device(ctx(), a.view());
    EXPECT_EQ(*Plan<float>::make(ctx(), there.view()).policy().stop.relative, 1e-5);
    EXPECT_EQ(to_text(parse_preconditioner("solve[cg,jacobi,auto,20]")), "solve[cg,jacobi,auto,20]");
}

TULLE_ON_BACKENDS(ScaleOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI::solve
