// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Orders of the unknowns and their prices.
#include "factor/orders.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "factor/arranged.hpp"
#include "factor/matrices.hpp"
#include "factor/price_orders.hpp"
#include "factor/reproduces.hpp"
#include "matrix/inspect_steps.hpp"
#include "partition/metis.hpp"
#include "support/backends.hpp"
#include "support/faults.hpp"
#include "tulle/error.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::factor {
namespace {

using namespace tulle::test;
using Entry = std::tuple<index_t, index_t, double>;

std::vector<Order> orders_here()
{
    std::vector<Order> all{Order::rcm, Order::colour};
    if (partition::has_metis()) all.push_back(Order::nested_dissection);
    return all;
}

HostCsr<double> one_by_one(index_t n)
{
    std::vector<Entry> entries;
    for (index_t i = 0; i < n; ++i) entries.emplace_back(i, i, 1.0 + i % 3);
    return csr_of<double>(n, n, entries);
}

HostCsr<double> path(index_t n)
{
    std::vector<Entry> entries;
    for (index_t i = 0; i < n; ++i)
        for (index_t j = std::max(i - 1, 0); j <= std::min(i + 1, n - 1); ++j)
            entries.emplace_back(i, j, i == j ? 2.5 : -1.0);
    return csr_of<double>(n, n, entries);
}

// A grid, a path, rows without neighbours and a row that all others need, in one matrix.
HostCsr<double> disconnected()
{
    std::vector<Entry> entries;
    for (const auto& [i, j, v] : laplacian<double>(5, 4, 1).entries()) entries.emplace_back(i, j, v);
    for (const auto& [i, j, v] : path(6).entries()) entries.emplace_back(20 + i, 20 + j, v);
    for (index_t i = 26; i < 30; ++i) entries.emplace_back(i, i, 3.0);
    for (index_t i = 30; i < 40; ++i) {
        entries.emplace_back(i, i, 20.0);
        if (i < 39) entries.emplace_back(i, 39, -1.0), entries.emplace_back(39, i, -1.0);
    }
    return csr_of<double>(40, 40, entries);
}

std::vector<HostCsr<double>> difficult()
{
    return {csr_of<double>(0, 0, {}),
            one_by_one(1),
            one_by_one(7),
            path(9),
            disconnected(),
            dominant<double>(40, 0.1, false, 3),
            dominant<double>(12, 1, true, 4)};
}

index_t levels_of(const HostCsr<double>& a)
{
    std::vector<index_t> level(static_cast<std::size_t>(a.rows) + 1, 0);
    inspect::find_levels(Context::cpu(1).host(), a.row_begin.data(), a.col.data(), a.rows, level.data());
    return *std::max_element(level.begin(), level.end());
}

TEST(Orders, ArePermutationsOfRowsAndColumnsTogether)
{
    const CpuQueue q = Context::cpu(1).host();
    for (const HostCsr<double>& a : difficult())
        for (const Order order : orders_here()) {
            const Arrangement by = arrange(q, a.view(), false, order);
            std::vector<index_t> row(by.row.span().begin(), by.row.span().end()), all(row.size());
            EXPECT_TRUE(std::equal(row.begin(), row.end(), by.col.data()));
            std::sort(row.begin(), row.end());
            std::iota(all.begin(), all.end(), index_t{0});
            EXPECT_EQ(row, all) << to_text(order) << ", " << a.rows << " rows";
        }
}

// Rows of one colour stand together and have no entry in common but their own.
TEST(Orders, ColoursAreLevels)
{
    EXPECT_EQ(levels_of(arranged(laplacian<double>(13, 9, 1), false, Order::colour)), 2);
    EXPECT_EQ(levels_of(arranged(laplacian<double>(6, 5, 4), false, Order::colour)), 2);
    EXPECT_EQ(levels_of(arranged(path(50), false, Order::colour)), 2);
    EXPECT_EQ(levels_of(arranged(one_by_one(9), false, Order::colour)), 1);
    EXPECT_EQ(levels_of(arranged(dominant<double>(12, 1, true, 4), false, Order::colour)), 12);
    EXPECT_EQ(levels_of(arranged(disconnected(), false, Order::colour)), 2);
}

// Entries of one triangle alone couple rows too: no entry of U stands inside a colour either.
TEST(Orders, ColoursOfANonsymmetricPatternAreIndependentBothWays)
{
    const CpuQueue q = Context::cpu(1).host();
    const HostCsr<double> a = dominant<double>(60, 0.05, false, 5), b = arranged(a, false, Order::colour);
    const Arrangement by = arrange(q, a.view(), false, Order::colour);
    std::vector<index_t> first{0};  // rows that begin a colour: row numbers ascend in each
    for (index_t i = 1; i < a.rows; ++i)
        if (by.row.data()[i] < by.row.data()[i - 1]) first.push_back(i);
    const auto colour = [&](index_t i) { return std::upper_bound(first.begin(), first.end(), i) - first.begin(); };
    EXPECT_LT(first.size(), 12u);
    for (const auto& [i, j, v] : b.entries()) EXPECT_TRUE(i == j || colour(i) != colour(j)) << i << ' ' << j;
}

TEST(Orders, NestedDissectionHasFewLevels)
{
    if (!partition::has_metis()) GTEST_SKIP() << "METIS is not here (Debian: libmetis5)";
    const HostCsr<double> a = laplacian<double>(40, 40, 1);
    EXPECT_EQ(levels_of(a), 79);
    EXPECT_LT(levels_of(arranged(a, false, Order::nested_dissection)), 50);
    const auto complete = [&](Order order) {
        const Options o{.kind = Kind::iluk, .level = 10'000, .order = order};
        return Plan<double>::make(Context::cpu(1), a.view(), o).factors().nonzeros;
    };
    EXPECT_LT(complete(Order::nested_dissection), complete(Order::natural) / 2);
}

TEST(Orders, NestedDissectionIsMissedWithAHint)
{
    const HostCsr<double> a = path(5);
    ::setenv("TULLE_METIS", "there/is/no/libmetis.so", 1);
    EXPECT_FALSE(partition::has_metis());
    try {
        Plan<double>::make(Context::cpu(1), a.view(), {.order = Order::nested_dissection});
        ADD_FAILURE() << "it was found";
    } catch (const NotBuilt& e) {
        EXPECT_NE(e.hint().find("TULLE_METIS"), std::string::npos);
    }
    const auto plan = Plan<double>::make(Context::cpu(4), a.view(), {.order = Order::automatic});
    EXPECT_EQ(plan.policy().order, Order::natural);
    ::unsetenv("TULLE_METIS");
}

double left_out_in(const HostCsr<double>& a, Order order)
{
    const CpuQueue q = Context::cpu(1).host();
    return left_out(q, a.view(), inverse_of(q, arrange(q, a.view(), false, order).row));
}

// A pivot of the grid couples its two later neighbours, one of the first colour all four: 1 pair for a pivot, and 6 for
// every second. A path has no fill-in in its own order.
TEST(Orders, FillInThatIsLeftOut)
{
    const HostCsr<double> a = laplacian<double>(64, 64, 1);
    const double natural = left_out_in(a, Order::natural);
    EXPECT_NEAR(natural, std::sqrt(256 * 2.0) / 16, 0.02 * natural);  // of 256 pivots, both triangles
    EXPECT_NEAR(left_out_in(a, Order::colour) / natural, std::sqrt(3.0), 0.2);
    EXPECT_EQ(left_out_in(path(100), Order::natural), 0);
    EXPECT_GT(left_out_in(path(100), Order::colour), 0);
    EXPECT_EQ(left_out_in(dominant<double>(12, 1, true, 4), Order::colour), 0);
    EXPECT_EQ(left_out_in(one_by_one(5), Order::rcm), 0);
}

TEST(Orders, TheNaturalOneStaysUnlessMuchIsSaved)
{
    const OrderCost natural{.levels = 100, .iteration = 1e-4};
    const auto choice = [&](const OrderCost& other, double calls) { return choose_order({natural, other}, calls); };
    EXPECT_EQ(choose_order({natural}, 100), 0u);
    EXPECT_EQ(choice({.order = Order::colour, .iteration = 0.5e-4, .iterations = 1.4}, 100), 1u);
    EXPECT_EQ(choice({.order = Order::colour, .iteration = 0.5e-4, .iterations = 1.6}, 100), 0u);  // 1.25 times as fast
    EXPECT_EQ(choice({.order = Order::colour, .analysis = 5e-3, .iteration = 0.4e-4}, 100), 0u);
    EXPECT_EQ(choice({.order = Order::colour, .analysis = 5e-3, .iteration = 0.4e-4}, 1000), 1u);
    const OrderCost good{.order = Order::rcm, .iteration = 0.5e-4}, best{.order = Order::colour, .iteration = 0.4e-4};
    EXPECT_EQ(choose_order({natural, good, best}, 100), 2u);
    EXPECT_EQ(choose_order({natural, best, good}, 100), 1u);
}

class OrdersOn : public OnBackend {};

Plan<double> plan_for(const Context& c, const HostCsr<double>& a, const Options& o)
{
    const auto there = to_device(c, a.view());
    return Plan<double>::make(c, there.view(), o);
}

// The factors give P A P^T on their pattern, whatever the order; new values too.
TEST(Orders, ALibraryWithoutTheFunctionsOfMetisIsNone)
{
    ::setenv("TULLE_METIS", "libm.so.6", 1);
    EXPECT_FALSE(partition::has_metis());
    ::unsetenv("TULLE_METIS");
}

TEST_P(OrdersOn, FactorsReproduceThePermutedMatrix)
{
    const Context c = ctx();
    unsigned number = 0;
    for (const HostCsr<double>& given : difficult())
        for (const Kind kind : {Kind::ilu0, Kind::ic0, Kind::iluk})
            for (const Order order : orders_here()) {
                const bool cholesky = kind == Kind::ic0, is_symmetric = given.rows != 40 || given.value[0] == 4;
                if (!has_turn(number++) || (cholesky && !is_symmetric)) continue;
                HostCsr<double> a = given;
                SCOPED_TRACE(to_text(kind) + " " + to_text(order) + " " + std::to_string(a.rows));
                auto plan = plan_for(c, a, {.kind = kind, .order = order});
                expect_reproduces(arranged(a, false, order), host_of(c, plan.factors()), cholesky);
                for (double& v : a.value) v *= 3;
                const auto other = to_device(c, a.view());
                plan.update_values(other.view());
                expect_reproduces(arranged(a, false, order), host_of(c, plan.factors()), cholesky);
            }
}

TEST_P(OrdersOn, DescribeTellsLevelsAndPrices)
{
    const Context c = ctx();
    const HostCsr<double> a = laplacian<double>(12, 9, 1);
    for (const Kind kind : {Kind::ilu0, Kind::ic0}) {
        const std::string text = plan_for(c, a, {.kind = kind, .order = Order::colour}).describe();
        EXPECT_NE(text.find("order colour, 20 levels without it"), std::string::npos) << text;
        const auto chosen = plan_for(c, a, {.kind = kind, .order = Order::automatic});
        EXPECT_NE(chosen.describe().find("priced:  natural "), std::string::npos) << chosen.describe();
        EXPECT_NE(chosen.describe().find("order " + to_text(chosen.policy().order)), std::string::npos)
            << chosen.describe();
        const std::vector<OrderCost>& orders = chosen.features().orders;
        EXPECT_GE(orders.size(), 2u);
        EXPECT_EQ(orders.front().order, Order::natural);
        EXPECT_EQ(chosen.policy().order, orders[choose_order(orders, chosen.policy().expected_calls)].order);
    }
    EXPECT_EQ(plan_for(c, a, {}).describe().find("unknowns"), std::string::npos);
    EXPECT_EQ(plan_for(c, a, {}).policy().order, Order::natural);
}

// The exact factors of a path are worth all its levels.
TEST_P(OrdersOn, APathKeepsItsOrder)
{
    EXPECT_EQ(plan_for(ctx(), path(800), {.kind = Kind::ic0, .order = Order::automatic}).policy().order,
              Order::natural);
}

TEST_P(OrdersOn, AutomaticTakesEveryMatrix)
{
    const Context c = ctx();
    for (const HostCsr<double>& a : difficult()) {
        const auto plan = plan_for(c, a, {.order = Order::automatic, .expected_calls = 1e9});
        EXPECT_EQ(plan.rows(), a.rows);
    }
}

TEST_P(OrdersOn, FailedAllocationsLeaveNothingBehind)
{
    const Context c = ctx();
    const auto there = to_device(c, laplacian<double>(3, 2, 1).view());
    for (const Order order : {Order::colour, Order::automatic})
        expect_clean_failures(c, [&] { Plan<double>::make(c, there.view(), {.kind = Kind::ic0, .order = order}); });
}

TULLE_ON_BACKENDS(OrdersOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI::factor
