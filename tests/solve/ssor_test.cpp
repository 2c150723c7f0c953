// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Conjugate gradients whose iterations are two sweeps over the matrix, and when they are chosen.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "factor/matrices.hpp"
#include "support/backends.hpp"
#include "tulle/error.hpp"
#include "tulle/generate.hpp"
#include "tulle/solve.hpp"

namespace tulle::inline TULLE_ABI::solve {
namespace {

using namespace tulle::test;

const Recipe swept{.method = Method::cg, .preconditioner = Ssor{}};

template <class V>
double true_residual(const HostCsr<V>& a, const std::vector<V>& x, const std::vector<V>& b)
{
    std::vector<double> r(b.begin(), b.end());
    for (const auto& [i, j, v] : a.entries())
        r[static_cast<std::size_t>(i)] -= static_cast<double>(v) * x[static_cast<std::size_t>(j)];
    double sum = 0;
    for (const double v : r) sum += v * v;
    return std::sqrt(sum);
}

template <class V>
std::vector<V> right_side(index_t rows)
{
    std::vector<V> b(static_cast<std::size_t>(rows));
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<V>(1 + static_cast<double>(i % 7) / 4);
    return b;
}

// Several right-hand sides go through conjugate gradients with products, one through sweeps alone.
template <class V>
void check_beside_products(const HostCsr<V>& a, const Ssor& ssor, double relative)
{
    SCOPED_TRACE(concat(a.rows, " rows, ", to_text(ssor)));
    const Recipe recipe{.method = Method::cg, .preconditioner = ssor, .stop = {.relative = relative}};
    const auto b = right_side<V>(a.rows);
    const std::size_t n = b.size();
    std::vector<V> x(n, V(7)), twice(2 * n), both(2 * n);
    for (std::size_t i = 0; i < n; ++i) twice[2 * i] = twice[2 * i + 1] = b[i];
    auto plan = Plan<V>::make(Context::cpu(1), a.view(), recipe);
    const Report r = plan.solve(b, x);
    const auto two = plan.solve(DenseView<const V>{a.rows, 2, 2, Layout::row_major, twice.data()},
                                DenseView<V>{a.rows, 2, 2, Layout::row_major, both.data()});
    EXPECT_TRUE(r.converged()) << r.text();
    EXPECT_NE(plan.describe().find("iteration: 0 products with A"), std::string::npos) << plan.describe();
    EXPECT_EQ(r.restarts, 0);
    EXPECT_TRUE(two[0].converged()) << two[0].text();
    EXPECT_NEAR(static_cast<double>(r.iterations), static_cast<double>(two[0].iterations), 1);
    EXPECT_EQ(static_cast<offset_t>(r.history.size()), r.iterations + 1);
    EXPECT_NEAR(true_residual(a, x, b), r.residual, 1e3 * std::numeric_limits<V>::epsilon() * r.history.front());
    std::vector<V> more(n);
    auto threads = Plan<V>::make(Context::cpu(3), a.view(), recipe);
    EXPECT_EQ(threads.solve(b, more).history, r.history);
    EXPECT_EQ(more, x);
}

TEST(SolveSsor, TakesAsManyIterationsAsWithProducts)
{
    for (const Ssor& ssor : {Ssor{}, Ssor{.weight = 1.5}, Ssor{.weight = 0.7, .order = factor::Order::rcm}}) {
        check_beside_products(laplacian<double>(20, 30, 1), ssor, 1e-10);
        check_beside_products(laplacian<double>(7, 8, 9, 0.1), ssor, 1e-10);
        check_beside_products(dominant<double>(200, 0.05, true, 5), ssor, 1e-10);
        check_beside_products(dominant<float>(200, 0.05, true, 5), ssor, 1e-5);
        check_beside_products(laplacian<double>(1, 1, 1), ssor, 1e-10);
    }
}

// The residual that is told is never far from the true one, and every ninth is computed.
TEST(SolveSsor, TellsResidualsThatAreNearTheTrueOnes)
{
    const auto a = laplacian<double>(40, 30, 1, 0.2);
    const auto b = right_side<double>(a.rows);
    std::vector<double> x(b.size());
    auto plan = Plan<double>::make(Context::cpu(1), a.view(), swept);
    const Report all = plan.solve(b, x);
    ASSERT_TRUE(all.converged());
    ASSERT_GT(all.iterations, 30);
    for (offset_t k = 1; k < all.iterations; ++k) {
        Recipe recipe = swept;
        recipe.stop.iterations = k;
        const Report part = Plan<double>::make(Context::cpu(1), a.view(), recipe).solve(b, x);
        const double told = all.history[static_cast<std::size_t>(k)];
        EXPECT_LT(std::abs(std::log(told / part.residual)), std::log(2)) << k;
        if (k % 9 == 0) {
            EXPECT_NEAR(told, part.residual, 1e-9 * all.history.front()) << k;
        }
    }
}

TEST(SolveSsor, NewValuesAFirstGuessAndLooks)
{
    auto a = laplacian<double>(20, 20, 1);
    const auto b = right_side<double>(a.rows);
    for (const factor::Order order : {factor::Order::natural, factor::Order::rcm}) {
        Recipe recipe = swept;
        recipe.preconditioner = Ssor{.order = order};
        recipe.guess = true;
        std::vector<double> x(b.size(), 3), y(b.size(), 3);
        auto plan = Plan<double>::make(Context::cpu(1), a.view(), recipe);
        EXPECT_TRUE(plan.solve(b, x).converged());
        EXPECT_EQ(plan.solve(b, x).iterations, 0);
        recipe.check_every = 16;
        auto seldom = Plan<double>::make(Context::cpu(1), a.view(), recipe);
        EXPECT_TRUE(seldom.solve(b, y).converged());
        EXPECT_LT(true_residual(a, y, b), 1.1e-8 * std::sqrt(1.5 * 1.5 * 2 * 400));
        for (double& v : a.value) v *= v > 0 ? 2 : 1.5;
        plan.update_values(a.view());
        EXPECT_TRUE(plan.solve(b, x).converged());
        std::fill(y.begin(), y.end(), 0);
        const Report again = plan.solve(b, y),
                     fresh = Plan<double>::make(Context::cpu(1), a.view(), recipe).solve(b, x);
        EXPECT_TRUE(again.converged() && fresh.converged());
        const std::vector<double> zero(b.size(), 0);
        EXPECT_TRUE(plan.solve(zero, y).converged());
        EXPECT_EQ(y, zero);
    }
}

// Positive on the diagonal, but not definite.
TEST(SolveSsor, IndefiniteMatricesAreToldAndLeftToOthers)
{
    auto a = laplacian<double>(20, 20, 1);
    for (double& v : a.value)
        if (v > 0) v = 1;
    const auto b = right_side<double>(a.rows);
    std::vector<double> x(b.size());
    const Report r = Plan<double>::make(Context::cpu(1), a.view(), swept).solve(b, x);
    EXPECT_EQ(r.reason, Reason::not_positive_definite) << r.text();
    EXPECT_LT(r.value, 0);
    EXPECT_LE(r.residual, r.history.front() * (1 + 1e-12));
    auto plan = Plan<double>::make(Context::cpu(1), a.view());
    EXPECT_EQ(to_text(*plan.policy().preconditioner), "ssor");
    EXPECT_TRUE(plan.solve(b, x).converged());
}

std::string first_of(const Features& f) { return to_text(choose(f, {}).preconditioner); }

TEST(SolveSsor, ComesFirstWhereFactorsLeaveFillInOut)
{
    const auto name = [](const Choice& c) { return to_text(c.preconditioner); };
    const Features f{.rows = 5000, .nonzeros = 100'000, .symmetric = true, .positive_values = 50'000, .fill_in = 0.4};
    EXPECT_EQ(first_of(f), "ssor");
    EXPECT_EQ(choose(f, {}).next_cost, 0);
    EXPECT_EQ(name(candidates(f, {}).at(1)), "ic0");
    EXPECT_EQ(name(candidates(f, {}).at(2)), "amg");
    Features other = f;
    other.positive_values = f.rows;  // multigrid is worth trying
    EXPECT_EQ(first_of(other), "ssor");
    EXPECT_EQ(choose(other, {}).next_cost, 1500);
    EXPECT_EQ(name(candidates(other, {}).at(1)), "amg");
    EXPECT_EQ(name(candidates(other, {}).at(2)), "ic0");
    other.dominant_rows = f.rows;
    EXPECT_EQ(first_of(other), "ilu0+relax:0.97");
    other = f;
    other.spread = 0.6;
    EXPECT_EQ(first_of(other), "ssor+rcm");
    other.nonzeros = 25'000;  // short rows, whose order helps factors alone
    EXPECT_EQ(first_of(other), "ic0+rcm");
    other.spread = 0;
    EXPECT_EQ(first_of(other), "ssor");
    other = f;
    other.mean_coupling = 0.5;
    other.most_coupling = 0.8;  // all rows alike
    EXPECT_EQ(first_of(other), "ssor:1.4");
    other.most_coupling = 1;
    EXPECT_EQ(first_of(other), "ssor");
    other.mean_coupling = other.most_coupling = 0.2;
    EXPECT_EQ(first_of(other), "ssor");
    other = f;
    other.fill_in = 0.1;
    EXPECT_EQ(first_of(other), "ic0");
    other = f;
    other.rows = 30'000;
    EXPECT_EQ(first_of(other), "ic0");
    other = f;
    other.nonzeros = 600'000;
    EXPECT_EQ(first_of(other), "ic0");
    other = f;
    other.backend = Backend::cuda;
    EXPECT_EQ(first_of(other), "amg");
}

Features features_of(const HostCsr<double>& a)
{
    const Recipe none{.preconditioner = None{}};
    return Plan<double>::make(Context::cpu(1), a.view(), none).features();
}

double fill_in_of(const HostCsr<double>& a)
{
    const Recipe none{.preconditioner = None{}};
    CsrView<double> any = a.view();
    any.sorted = false;
    const double sorted = Plan<double>::make(Context::cpu(1), a.view(), none).features().fill_in;
    EXPECT_EQ(Plan<double>::make(Context::cpu(1), any, none).features().fill_in, sorted);
    return sorted;
}

TEST(SolveSsor, FillInIsThePartOutsideOfThePattern)
{
    EXPECT_EQ(fill_in_of(laplacian<double>(100, 1, 1)), 0);      // one neighbour to the right
    EXPECT_EQ(fill_in_of(dominant<double>(30, 1, true, 3)), 0);  // a full matrix
    // Two neighbours, not coupled: of four entries the two beside the diagonal.
    EXPECT_NEAR(fill_in_of(laplacian<double>(50, 50, 1)), std::sqrt(0.5), 0.02);
    // Weak and strong ones: w^2 of 1 + 2 w^2 + w^4, in squares.
    EXPECT_NEAR(fill_in_of(laplacian<double>(50, 50, 1, 0.1)), std::sqrt(0.02 / (1.01 * 1.01)), 0.01);
    // Four neighbours inside: 4 / 16.
    EXPECT_NEAR(features_of(laplacian<double>(50, 50, 1)).most_coupling, 0.5, 1e-12);
    EXPECT_NEAR(features_of(laplacian<double>(50, 50, 1)).mean_coupling, 0.5, 0.01);
    const auto strong = csr_of<double>(3, 3, {{0, 0, 1.0}, {0, 2, -0.9}, {1, 1, 1.0}, {2, 0, -0.9}, {2, 2, 4.0}});
    EXPECT_NEAR(features_of(strong).most_coupling, 0.45, 1e-12);
    EXPECT_NEAR(features_of(strong).mean_coupling, std::sqrt(2 * 0.2025 / 3), 1e-12);
    auto negative = laplacian<double>(50, 50, 1);
    negative.value[0] = -4;
    EXPECT_EQ(fill_in_of(negative), 0);
}

TEST(SolveSsor, NamesReadBack)
{
    for (const std::string text : {"ssor", "ssor:1.5", "ssor+rcm", "ssor:0.5+colour", "ssor+nd", "ssor+auto"})
        EXPECT_EQ(to_text(parse_preconditioner(text)), text);
    for (const std::string text : {"ssor:", "ssor:x", "ssor+", "ssor+match", "ssor+rcm+rcm", "ssor1", "ssor+rcm:1.5"})
        EXPECT_THROW(parse_preconditioner(text), ValueError) << text;
    const auto a = laplacian<double>(5, 5, 1);
    for (const Ssor& bad : {Ssor{.weight = 0}, Ssor{.weight = -1}, Ssor{.order = factor::Order::automatic},
                            Ssor{.order = static_cast<factor::Order>(17)}})
        EXPECT_THROW(Plan<double>::make(Context::cpu(1), a.view(), {.preconditioner = bad}), ValueError);
}

}  // namespace
}  // namespace tulle::inline TULLE_ABI::solve
