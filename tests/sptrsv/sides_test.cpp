// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Many right-hand sides with merged rows: bundles of eight sides, which the teams of a GPU solve independently.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "sptrsv/on_host.hpp"
#include "sptrsv/steps.hpp"
#include "sptrsv/triangles.hpp"
#include "support/backends.hpp"
#include "support/guarded.hpp"
#include "tulle/sptrsv.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {
namespace {

using namespace tulle::test;

class SptrsvSidesOn : public OnBackend {};

std::vector<Policy> bundle_policies()
{
    std::vector<Policy> all;
    for (const Merge merge : {Merge::critical, Merge::fixed, Merge::chains})
        for (const int rows : {5, 32})
            all.push_back({.kernel = Kernel::tasks,
                           .merge = merge,
                           .rows = rows,
                           .reorder = rows == 5,
                           .warps_per_task = most_team,
                           .warps = 4});
    return all;
}

// Neighbours that need each other, distant rows, and rows that need hundreds of others.
template <class V>
HostCsr<V> mixed_triangle(index_t rows)
{
    return triangle_where<V>(rows, 4, [](index_t i, index_t j) {
        return i % 97 == 96 || i - j <= 2 || (i % 5 != 0 && (i + 2 * j) % 31 == 0);
    });
}

// A chain whose rows wait for a hundred others together, and rows alone that wait for two at the end.
template <class V>
HostCsr<V> waiting_triangle()
{
    constexpr index_t others = 100, chain = others + 32, width = 20;
    return triangle_where<V>(chain + 6 * width, 4, [](index_t i, index_t j) {
        if (i < chain) return i >= others && (j == i - 1 || (j < others && j % 32 == i - others));
        const index_t levels = (i - chain) / width - (j - chain) / width, apart = (i - j) % width;
        return j >= chain && (levels == 1 ? apart <= 1 : levels > 1 && apart % 2 == 0);
    });
}

template <class V>
struct Columns {
    index_t rows, columns;
    std::vector<V> values;  // row after row

    V& at(index_t i, index_t j) { return values[static_cast<std::size_t>(i * columns + j)]; }
    std::vector<V> column(index_t j)
    {
        std::vector<V> all;
        for (index_t i = 0; i < rows; ++i) all.push_back(at(i, j));
        return all;
    }
};

// Side j is that of seed j % alike.
template <class V>
Columns<V> sides_of(index_t rows, index_t columns, index_t alike)
{
    Columns<V> b{rows, columns, std::vector<V>(static_cast<std::size_t>(rows * columns))};
    for (index_t i = 0; i < rows; ++i)
        for (index_t j = 0; j < columns; ++j) b.at(i, j) = static_cast<V>(2 * unit(hash_of(7, i, j % alike)) - 1);
    return b;
}

template <class V>
Columns<V> solve(const Context& c, const Plan<V>& plan, const Columns<V>& b)
{
    const auto there = to_device<V>(c, std::span<const V>(b.values));
    Guarded<V> x(c, std::vector<V>(b.values.size(), std::numeric_limits<V>::quiet_NaN()));
    plan.solve(V(1), DenseView<const V>{b.rows, b.columns, b.columns, Layout::row_major, there.data()},
               DenseView<V>{b.rows, b.columns, b.columns, Layout::row_major, x.span().data()});
    plan.wait();
    return {b.rows, b.columns, x.take()};
}

// One plan solves for other numbers of sides in turn: those a launch leaves out are armed for the next one.
template <class V>
void check_numbers_of_sides(const Context& c, const Policy& policy, index_t prepared, const HostCsr<V>& a)
{
    SCOPED_TRACE(to_text(policy) + ", for " + std::to_string(prepared));
    const auto there = to_device(c, a.view());
    const auto plan = Plan<V>::make(c, there.view(), {.right_hand_sides = prepared, .force = policy});
    for (const index_t columns : {20, 3, 9, 20, 1, 33}) {
        SCOPED_TRACE(std::to_string(columns) + " sides");
        Columns<V> b = sides_of<V>(a.rows, columns, 3), x = solve(c, plan, b);
        for (const index_t j : {index_t{0}, columns / 2, columns - 1})
            ASSERT_TRUE(within_bound(x.column(j), oracle_solve(a, V(1), b.column(j), 2))) << "side " << j;
        for (index_t j = 3; j < columns && columns > 1; ++j) ASSERT_EQ(x.column(j), x.column(j % 3)) << "side " << j;
    }
}

TEST_P(SptrsvSidesOn, AnyNumberInTurn)
{
    const auto c = ctx();
    if (c.backend() == Backend::cpu) GTEST_SKIP() << "bundles are the GPU's";
    for (const Policy& policy : bundle_policies())
        for (const index_t prepared : {2, 20, 40}) {
            if (!is_drawn(to_text(policy) + std::to_string(prepared), 6)) continue;
            check_numbers_of_sides(c, policy, prepared, mixed_triangle<double>(140));
            check_numbers_of_sides(c, policy, prepared, mixed_triangle<float>(140));
        }
    check_numbers_of_sides(c, bundle_policies()[1], 32, mixed_triangle<double>(140));
    check_numbers_of_sides(c, bundle_policies()[1], 9, waiting_triangle<double>());
}

// Entries of an inverse would grow like 4^31, while substitution gives ones exactly: side j gets j + 1 of them.
TEST_P(SptrsvSidesOn, SubstituteWhereInversesAreInaccurate)
{
    const auto c = ctx();
    if (c.backend() == Backend::cpu) GTEST_SKIP() << "bundles are the GPU's";
    std::vector<std::tuple<index_t, index_t, double>> entries;
    Columns<double> b{100, 11, std::vector<double>(1100)};
    for (index_t i = 0; i < 100; ++i) {
        if (i > 40) entries.emplace_back(i, i - 40, 2.0);
        if (i > 0) entries.emplace_back(i, i - 1, 4.0);
        entries.emplace_back(i, i, 1.0);
        for (index_t j = 0; j < 11; ++j) b.at(i, j) = (j + 1) * (1 + (i > 0 ? 4 : 0) + (i > 40 ? 2 : 0));
    }
    const auto there = to_device(c, csr_of<double>(100, 100, entries).view());
    for (const Policy& policy : bundle_policies()) {
        SCOPED_TRACE(to_text(policy));
        Columns<double> x = solve(c, Plan<double>::make(c, there.view(), {.right_hand_sides = 11, .force = policy}), b);
        for (index_t j = 0; j < 11; ++j) EXPECT_EQ(x.column(j), std::vector<double>(100, j + 1)) << "side " << j;
    }
}

// What is not a number in one side reaches the rows that need it, and no other side.
TEST_P(SptrsvSidesOn, KeepNotANumberApart)
{
    const auto c = ctx();
    if (c.backend() == Backend::cpu) GTEST_SKIP() << "bundles are the GPU's";
    const auto a = triangle_where<double>(90, 4, [](index_t i, index_t j) { return j == i - 2 || j == i - 44; });
    const auto there = to_device(c, a.view());
    for (const Policy& policy : bundle_policies())
        for (const double strange :
             {std::numeric_limits<double>::infinity(), __builtin_bit_cast(double, ~std::uint64_t{0})}) {
            SCOPED_TRACE(to_text(policy) + ", " + std::to_string(strange));
            const auto plan = Plan<double>::make(c, there.view(), {.right_hand_sides = 10, .force = policy});
            Columns<double> b = sides_of<double>(90, 10, 10);
            Columns<double> before = solve(c, plan, b);
            b.at(20, 9) = strange;
            Columns<double> x = solve(c, plan, b);
            for (index_t i = 0; i < 90; ++i) EXPECT_EQ(std::isfinite(x.at(i, 9)), i < 20 || i % 2 != 0) << i;
            for (index_t j = 0; j < 9; ++j) EXPECT_EQ(x.column(j), before.column(j)) << "side " << j;
            EXPECT_EQ(solve(c, plan, sides_of<double>(90, 10, 10)).values, before.values) << "starts afresh";
        }
}

// A plan for many sides keeps no second copy of the rows.
TEST_P(SptrsvSidesOn, AreChosenWhereMergedRowsLeaveFewLevels)
{
    const auto c = ctx();
    if (c.backend() == Backend::cpu) GTEST_SKIP() << "bundles are the GPU's";
    const auto chain = triangle_where<double>(2000, 4, [](index_t i, index_t j) { return j == i - 1; });
    const auto there = to_device(c, chain.view());
    const auto plan = Plan<double>::make(c, there.view(), {.right_hand_sides = 32});
    EXPECT_TRUE(takes_bundles(plan.policy())) << plan.describe();
    EXPECT_NE(plan.describe().find("for 32 right-hand sides"), std::string::npos) << plan.describe();
    EXPECT_LT(plan.levels(), 100);
    const auto flat = triangle_where<double>(2000, 4, [](index_t i, index_t j) { return i % 2 == 1 && j == i - 1; });
    const auto flat_there = to_device(c, flat.view());
    const auto rows = Plan<double>::make(c, flat_there.view(), {.right_hand_sides = 32});
    EXPECT_EQ(rows.policy().merge, Merge::none) << rows.describe();
}

TULLE_ON_BACKENDS(SptrsvSidesOn);

Features of(index_t rows, offset_t nonzeros, index_t levels)
{
    return {.rows = rows,
            .nonzeros = nonzeros,
            .row_mean = static_cast<double>(nonzeros) / rows,
            .level_mean = static_cast<double>(nonzeros) / levels,
            .levels = levels};
}

// Pure. Rows alone where merging leaves as many levels, or so many tasks that reading their matrices takes longer.
TEST(ChooseSptrsvSides, NodesWhereTheySaveMoreThanTheirMatricesCost)
{
    const Features deep = of(15'444, 206'460, 6339), flat = of(121'192, 1'386'893, 239), tiny = of(50, 100, 2);
    const std::vector<MergeEstimate> cut{{Merge::none, 1, 6339, 15'444}, {Merge::chains, 32, 207, 500}},
        uncut{{Merge::none, 1, 239, 121'192}, {Merge::chains, 32, 131, 40'000}}, one{{Merge::none, 1, 2, 50}};
    const Choice teams = choose_many(deep, cut, gpu, 32);
    EXPECT_EQ(teams.policy.merge, Merge::chains);
    EXPECT_TRUE(takes_bundles(teams.policy));
    EXPECT_EQ(choose_many(flat, uncut, gpu, 32).policy.merge, Merge::none);
    EXPECT_EQ(choose_many(tiny, one, gpu, 2).policy.merge, Merge::none);
    EXPECT_NEAR(choose_many(deep, cut, gpu, 96).seconds, 3 * teams.seconds, 1e-9);
    EXPECT_LT(choose_many(flat, uncut, gpu, 4).seconds, choose_many(flat, uncut, gpu, 32).seconds);
    EXPECT_THROW(choose_many(flat, {}, gpu, 32), ValueError);
    const Features shared = of(48'600, 614'860, 255);  // many nodes, which share tasks
    EXPECT_EQ(
        choose_many(shared, {{Merge::none, 1, 255, 48'600}, {Merge::chains, 32, 24, 10'052}}, gpu, 32).policy.merge,
        Merge::chains);
}

}  // namespace
}  // namespace tulle::inline TULLE_ABI::sptrsv
