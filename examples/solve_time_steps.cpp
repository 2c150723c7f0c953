// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Heat on a square with implicit time steps: (I + dt k L) u_new = u_old, where the conductivity k falls as the square
// cools. The pattern stays, so that one plan serves all steps: new values by update_values(), and the temperatures of
// the step before as the first guess.
//
//     solve_time_steps [points of an edge] [steps]
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "tulle/tulle.hpp"

namespace {

// A = I + factor L, in the place of the values of A.
void fill(tulle::Csr<double>& A, const tulle::Csr<double>& L, double factor)
{
    for (tulle::index_t i = 0; i < A.rows; ++i)
        for (tulle::offset_t k = A.row_begin.data()[i]; k < A.row_begin.data()[i + 1]; ++k)
            A.value.data()[k] = (A.col.data()[k] == i ? 1 : 0) + factor * L.value.data()[k];
}

double mean(const std::vector<double>& u)
{
    return std::accumulate(u.begin(), u.end(), 0.0) / static_cast<double>(u.size());
}

}  // namespace

int main(int count, char** words)
{
    const int edge = count > 1 ? std::atoi(words[1]) : 60, steps = count > 2 ? std::atoi(words[2]) : 10;
    const auto ctx = tulle::Context::cpu();
    const std::string laplacian = "stencil5:" + std::to_string(edge);
    const auto L = tulle::io::generate<double>(ctx, laplacian);
    auto A = tulle::io::generate<double>(ctx, laplacian);
    std::vector<double> u(static_cast<std::size_t>(A.rows), 1.0), old;
    const double dt = 20;

    fill(A, L, dt);
    auto plan = tulle::solve::Plan<double>::make(ctx, A.view(), {.stop = {.relative = 1e-10}, .guess = true});
    for (int step = 1; step <= steps; ++step) {
        const double before = mean(u);
        fill(A, L, dt * before);  // the conductivity
        plan.update_values(A.view());
        old = u;
        const tulle::solve::Report report = plan.solve(old, u);
        std::printf("step %d: mean temperature %.6f, %s\n", step, mean(u), report.text().c_str());
        if (!report.advice.empty()) std::printf("  %s\n", report.advice.c_str());
        if (!report.converged() || !(mean(u) < before)) return 1;  // heat leaves through the edges
    }
}
