// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Poisson's equation on a cube, solved by conjugate gradients with multigrid, and once more after the coefficients have
// changed.
//
//     solve_poisson [points of an edge]
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tulle/tulle.hpp"

int main(int count, char** words)
{
    const int edge = count > 1 ? std::atoi(words[1]) : 24;
    const auto ctx = tulle::Context::cpu();
    auto A = tulle::io::generate<double>(ctx, "stencil7:" + std::to_string(edge));
    const std::vector<double> b(static_cast<std::size_t>(A.rows), 1.0);
    std::vector<double> x(b.size());

    auto plan = tulle::solve::Plan<double>::make(ctx, A.view());
    std::puts(plan.describe().c_str());
    const tulle::solve::Report first = plan.solve(b, x);
    std::puts(first.text().c_str());

    for (double& value : A.value.span()) value *= 2;  // as after a time step
    plan.update_values(A.view());
    const tulle::solve::Report second = plan.solve(b, x);
    std::puts(second.text().c_str());
    return first.converged() && second.converged() ? 0 : 1;
}
