// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// An elastic block that is clamped on one side and pulled down by its weight: multigrid without and with what is known
// of elasticity, rigid motions and three unknowns at each point.
//
//     solve_elasticity [points of an edge]
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tulle/tulle.hpp"

int main(int count, char** words)
{
    using namespace tulle;
    const auto ctx = Context::cpu();
    const std::string n = count > 1 ? words[1] : "10";
    const auto A = io::generate<double>(ctx, "elasticity3d:" + n);
    const auto places = io::generate<double>(ctx, "coordinates:" + n + "," + n + "," + n);  // all entries are stored
    const auto modes =
        amg::rigid_body_modes<double>(ctx, {.rows = places.rows, .cols = 3, .leading = 3, .data = places.value.data()});
    std::vector<double> weight(static_cast<std::size_t>(A.rows)), x(weight.size());
    for (std::size_t i = 2; i < weight.size(); i += 3) weight[i] = -1;

    auto plain = solve::Plan<double>::make(ctx, A.view(), {.preconditioner = solve::Amg{}});
    const solve::Report slow = plain.solve(weight, x);
    std::printf("constants:         %s\n", slow.text().c_str());

    const solve::Recipe by_nodes{.preconditioner = solve::Amg{}, .unknowns_per_node = 3};
    auto plan = solve::Plan<double>::make(ctx, A.view(), by_nodes, modes.view());
    const solve::Report fast = plan.solve(weight, x);
    std::printf("rigid body modes:  %s\n", fast.text().c_str());
    return slow.converged() && fast.converged() && fast.iterations < slow.iterations ? 0 : 1;
}
