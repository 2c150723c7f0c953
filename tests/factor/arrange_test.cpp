// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Rows matched to columns, scales and orders: against all permutations of small matrices, and inside a factorisation.
#include "factor/arrange.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "factor/arranged.hpp"
#include "factor/matrices.hpp"
#include "support/backends.hpp"
#include "support/faults.hpp"
#include "tulle/error.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::factor {
namespace {

using namespace tulle::test;

// Diagonally dominant with its rows turned round and scaled by powers of ten: no diagonal entry is large.
HostCsr<double> scattered(index_t n, std::uint64_t seed)
{
    std::vector<std::tuple<index_t, index_t, double>> entries;
    for (const auto& [i, j, v] : dominant<double>(n, 0.1, false, seed).entries())
        if ((i + n / 3) % n != j)  // the diagonal after the turn is empty
            entries.emplace_back((i + n / 3) % n, j, v * std::pow(10.0, i % 9 - 4));
    return csr_of<double>(n, n, entries);
}

std::vector<double> times(const HostCsr<double>& a, const std::vector<double>& x)
{
    std::vector<double> y(x.size(), 0);
    for (const auto& [i, j, v] : a.entries()) y[static_cast<std::size_t>(i)] += v * x[static_cast<std::size_t>(j)];
    return y;
}

TEST(Arrange, MatchingHasOnesOnTheDiagonalAndNothingLarger)
{
    for (const auto& a : {scattered(40, 3), scattered(97, 5), dominant<double>(30, 0.2, true, 7)})
        for (const Order order : {Order::natural, Order::rcm}) {
            double diagonal = 0;
            for (const auto& [i, j, v] : arranged(a, true, order).entries()) {
                EXPECT_LE(std::abs(v), 1 + 1e-9) << i << ' ' << j;
                if (i == j) diagonal += std::abs(v);
            }
            EXPECT_NEAR(diagonal, a.rows, 1e-9);
        }
}

// Of all permutations the product is the largest.
TEST(Arrange, MatchingHasTheLargestProduct)
{
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        const index_t n = 6;
        std::vector<std::tuple<index_t, index_t, double>> entries;
        std::vector<std::vector<double>> dense(6, std::vector<double>(6, 0));
        for (index_t i = 0; i < n; ++i)
            for (index_t j = 0; j < n; ++j)
                if (unit(hash_of(seed, i, j)) < 0.5 || j == (i + 2) % n) {
                    const double v = unit(hash_of(seed + 99, i, j)) - 0.5;
                    dense[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)] = std::abs(v);
                    entries.emplace_back(i, j, v);
                }
        std::vector<std::size_t> p(6);
        std::iota(p.begin(), p.end(), std::size_t{0});
        const auto product = [&](const auto& column) {
            double all = 1;
            for (std::size_t i = 0; i < 6; ++i) all *= dense[i][column(i)];
            return all;
        };
        double best = 0;
        do best = std::max(best, product([&](std::size_t i) { return p[i]; }));
        while (std::next_permutation(p.begin(), p.end()));
        const auto a = csr_of<double>(n, n, entries);
        const Arrangement got = arrange(Context::cpu(1).host(), a.view(), true, Order::natural);
        EXPECT_NEAR(product([&](std::size_t i) { return static_cast<std::size_t>(got.col.data()[i]); }), best,
                    1e-12 * best);
    }
}

index_t bandwidth(const HostCsr<double>& a)
{
    index_t widest = 0;
    for (const auto& [i, j, v] : a.entries()) widest = std::max(widest, std::abs(i - j));
    return widest;
}

TEST(Arrange, CuthillMcKeeNarrowsTheBand)
{
    // A path whose points are numbered at random, and a grid: 1 and at most twice the shorter side.
    const index_t n = 31;
    std::vector<std::tuple<index_t, index_t, double>> entries;
    const auto at = [&](index_t i) { return i * 11 % n; };
    for (index_t i = 0; i < n; ++i) {
        entries.emplace_back(at(i), at(i), 2.0);
        if (i + 1 < n) entries.emplace_back(at(i), at(i + 1), -1.0);  // one triangle is enough
    }
    EXPECT_EQ(bandwidth(arranged(csr_of<double>(n, n, entries), false, Order::rcm)), 1);
    EXPECT_LE(bandwidth(arranged(laplacian<double>(40, 5, 1), false, Order::rcm)), 10);
}

// Arrays of a symmetric pattern are the graph, others are listed in both directions: the same order, of one triangle
// too.
TEST(Arrange, TheOrderOfASymmetricPatternIsThatOfTheGraph)
{
    const CpuQueue q = Context::cpu(1).host();
    std::vector<std::tuple<index_t, index_t, double>> entries;
    for (const auto& [i, j, v] : laplacian<double>(12, 7, 1).entries()) entries.emplace_back(i * 5 % 84, j * 5 % 84, v);
    const auto a = csr_of<double>(84, 84, entries);
    std::erase_if(entries, [](const auto& e) { return std::get<0>(e) < std::get<1>(e); });
    const auto half = csr_of<double>(84, 84, entries);
    const auto order_of = [&](CsrView<double> view, bool sorted) {
        view.sorted = sorted;
        return arrange(q, view, false, Order::rcm);
    };
    const Arrangement direct = order_of(a.view(), true), searched = order_of(a.view(), false);
    const Arrangement of_half = order_of(half.view(), true);
    for (index_t i = 0; i < a.rows; ++i) {
        EXPECT_EQ(direct.row.data()[i], searched.row.data()[i]) << i;
        EXPECT_EQ(direct.row.data()[i], of_half.row.data()[i]) << i;
    }
    EXPECT_LE(bandwidth(arranged(a, false, Order::rcm)), 14);
    EXPECT_GE(bandwidth(a), 60);
}

class ArrangeOn : public OnBackend {};

// Complete factors of the arranged matrix solve the system, whatever the order; new values too.
TEST_P(ArrangeOn, CompleteFactorsSolveTheSystem)
{
    const Context c = ctx();
    auto a = scattered(50, 11);
    const std::vector<double> want = test_vector<double>(a.rows, Values::integers, 6);
    for (const Order order : {Order::natural, Order::rcm, Order::colour, Order::automatic}) {
        const auto there = to_device(c, a.view());
        auto plan = Plan<double>::make(c, there.view(),
                                       {.kind = Kind::ilut, .drop = 0, .fill = 1e6, .order = order, .match = true});
        for (int round = 0; round < 2; ++round) {
            auto v = to_device<double>(c, std::span<const double>(times(a, want)));
            plan.apply(v.span(), v.span());  // in place
            const auto got = host_vector(c, v);
            for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-9) << i;
            for (double& x : a.value) x *= -2;
            const auto other = to_device(c, a.view());
            plan.update_values(other.view());
        }
        EXPECT_NE(plan.describe().find("matched"), std::string::npos) << plan.describe();
    }
}

TEST_P(ArrangeOn, OrdersOfCholesky)
{
    const Context c = ctx();
    const auto a = laplacian<double>(9, 4, 1);
    const auto there = to_device(c, a.view());
    const auto plan = Plan<double>::make(c, there.view(), {.kind = Kind::ic0, .order = Order::rcm});
    const auto r = test_vector<double>(a.rows, Values::integers, 6);
    auto v = to_device<double>(c, std::span<const double>(r));
    plan.apply(v.span(), v.span());
    double product = 0;
    const auto z = host_vector(c, v);
    for (std::size_t i = 0; i < z.size(); ++i) product += r[i] * z[i];
    EXPECT_GT(product, 0);
    EXPECT_THROW(Plan<double>::make(c, there.view(), {.kind = Kind::ic0, .match = true}), ValueError);
}

TEST_P(ArrangeOn, StructurallySingularIsRefusedWithARow)
{
    const Context c = ctx();
    const auto a = csr_of<double>(3, 3, {{0, 0, 1.0}, {1, 0, 2.0}, {1, 2, 0.0}, {2, 1, 1.0}, {2, 2, 1.0}});
    const auto there = to_device(c, a.view());
    try {
        Plan<double>::make(c, there.view(), {.match = true});
        FAIL() << "rows 0 and 1 have nonzeros in one column";
    } catch (const ValueError& e) {
        EXPECT_NE(std::string(e.what()).find("rows 0 to 1"), std::string::npos) << e.what();
    }
}

TEST_P(ArrangeOn, FailedAllocationsLeaveNothingBehind)
{
    const Context c = ctx();
    const auto a = scattered(12, 3);
    const auto there = to_device(c, a.view());
    expect_clean_failures(c, [&] {
        Plan<double>::make(c, there.view(), {.kind = Kind::ilut, .order = Order::rcm, .match = true});
    });
}

TULLE_ON_BACKENDS(ArrangeOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI::factor
