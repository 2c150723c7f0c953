// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The order that is chosen for factors, with the iterations it really takes.
#include <gtest/gtest.h>

#include <cmath>

#include "factor/matrices.hpp"
#include "factor/price_orders.hpp"
#include "support/backends.hpp"
#include "tulle/solve.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::solve {
namespace {

using namespace tulle::test;
using factor::Order;

class SolveOrdersOn : public OnBackend {};

struct OrderCase {
    std::string name;
    HostCsr<double> a;
    factor::Kind kind;
};

// With convection to one side, by upwind differences.
HostCsr<double> convection(index_t n, double speed)
{
    std::vector<std::tuple<index_t, index_t, double>> entries;
    for (const auto& [i, j, v] : laplacian<double>(n, n, 1).entries())
        entries.emplace_back(i, j, i == j ? v + speed : j == i - 1 ? v - speed : v);
    return csr_of<double>(n * n, n * n, entries);
}

HostCsr<double> shuffled(const HostCsr<double>& a, index_t step)
{
    std::vector<std::tuple<index_t, index_t, double>> entries;
    for (const auto& [i, j, v] : a.entries())
        entries.emplace_back(static_cast<index_t>(offset_t{i} * step % a.rows),
                             static_cast<index_t>(offset_t{j} * step % a.rows), v);
    return csr_of<double>(a.rows, a.rows, entries);
}

std::vector<OrderCase> cases()
{
    using factor::Kind;
    const HostCsr<double> grid = laplacian<double>(20, 20, 1), flow = convection(20, 8);
    return {{"grid", grid, Kind::ic0},
            {"cube", laplacian<double>(8, 8, 8), Kind::ic0},
            {"weak couplings", laplacian<double>(20, 20, 1, 0.01), Kind::ic0},
            {"a line", laplacian<double>(700, 1, 1), Kind::ic0},
            {"shuffled grid", shuffled(grid, 171), Kind::ic0},
            {"convection", flow, Kind::ilu0},
            {"shuffled convection", shuffled(flow, 171), Kind::ilu0},
            {"dominant", dominant<double>(120, 0.05, false, 3), Kind::ilu0}};
}

// Seconds of the solve as they are priced, with the iterations that were made.
double seconds(const Context& c, const OrderCase& one, const factor::OrderCost& cost)
{
    const auto a = to_device(c, one.a.view());
    const std::vector<double> ones(static_cast<std::size_t>(one.a.rows), 1);
    const auto b = to_device<double>(c, ones);
    auto x = to_device<double>(c, ones);
    auto plan = Plan<double>::make(c, a.view(),
                                   {.method = one.kind == factor::Kind::ic0 ? Method::cg : Method::bicgstab,
                                    .preconditioner = Incomplete{.kind = one.kind, .order = cost.order},
                                    .check_every = 1});
    const Report r = plan.solve(b.span(), x.span());
    EXPECT_TRUE(r.converged()) << one.name << ", " << to_text(cost.order) << ": " << r.text();
    return static_cast<double>(r.iterations) * cost.iteration;
}

// As on a GPU or a CPU of many threads that is given as many iterations as the natural order takes.
TEST_P(SolveOrdersOn, TheChoiceIsHardlyWorseThanTheNaturalOrder)
{
    constexpr double bound = 1.25;
    const Context c = ctx();
    for (const OrderCase& one : cases()) {
        const auto priced = factor::price_orders(c, one.a.view(), {.kind = one.kind, .expected_calls = 1e4});
        std::vector<factor::OrderCost> costs;
        for (const auto& p : priced) costs.push_back(p.cost);
        const std::size_t best = choose_order(costs, 1e4);
        if (best == 0) continue;
        EXPECT_LE(seconds(c, one, costs[best]), bound * seconds(c, one, costs[0]))
            << one.name << ": " << to_text(costs, 1e4);
    }
}

TULLE_ON_BACKENDS(SolveOrdersOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI::solve
