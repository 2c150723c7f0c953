// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A system solved with what the plan chooses, and with a method, a preconditioner and a stop that the caller names.
#include <cstdio>
#include <vector>

#include "tulle/tulle.hpp"

namespace {

bool solve_by_default(const tulle::Context& ctx, const tulle::Csr<double>& A)
{
    const std::vector<double> b(static_cast<std::size_t>(A.rows), 1.0);
    std::vector<double> x(b.size());

    auto plan = tulle::solve::Plan<double>::make(ctx, A.view());  // looks at A, chooses, sets up
    const tulle::solve::Report report = plan.solve(b, x);
    if (!report.converged()) std::puts(report.text().c_str());
    return report.converged();
}

bool solve_as_asked(const tulle::Context& ctx, const tulle::Csr<double>& A)
{
    const std::vector<double> b(static_cast<std::size_t>(A.rows), 1.0);
    std::vector<double> x(b.size());

    using namespace tulle::solve;
    auto plan = Plan<double>::make(ctx, A.view(),
                                   {.method = Method::cg,
                                    .preconditioner = Incomplete{.kind = tulle::factor::Kind::ic0},
                                    .stop = {.relative = 1e-10, .iterations = 500, .seconds = 60}});
    const Report report = plan.solve(b, x);
    std::puts(report.text().c_str());
    return report.converged();
}

// Multigrid smoothed by IC(0), inside CG, inside FGMRES.
bool solve_nested(const tulle::Context& ctx, const tulle::Csr<double>& A)
{
    const std::vector<double> b(static_cast<std::size_t>(A.rows), 1.0);
    std::vector<double> x(b.size());

    using namespace tulle::solve;
    const Amg smoothed{.smooth_by = Nested({.preconditioner = Incomplete{.kind = tulle::factor::Kind::ic0}})};
    const Nested inner(
        {.method = Method::cg, .preconditioner = smoothed, .stop = {.relative = 0.01, .iterations = 20}});
    auto plan = Plan<double>::make(ctx, A.view(), {.method = Method::fgmres, .preconditioner = inner});
    std::puts(plan.describe().c_str());
    return plan.solve(b, x).converged();
}

bool solve_several(const tulle::Context& ctx, const tulle::Csr<double>& A)
{
    auto B = tulle::Dense<double>::make(ctx.host(), A.rows, 3), X = tulle::Dense<double>::make(ctx.host(), A.rows, 3);
    for (tulle::index_t i = 0; i < A.rows; ++i)
        for (tulle::index_t j = 0; j < 3; ++j) B.data.data()[3 * i + j] = i % (j + 1) == 0;

    using namespace tulle::solve;
    auto plan = Plan<double>::make(ctx, A.view());
    const std::vector<Report> reports = plan.solve(B.view(), X.view());  // dense, any layout; a report for each column
    return reports[0].converged() && reports[1].converged() && reports[2].converged();
}

}  // namespace

int main()
{
    const auto ctx = tulle::Context::cpu();
    const auto A = tulle::io::generate<double>(ctx, "stencil7:16");
    return solve_by_default(ctx, A) && solve_as_asked(ctx, A) && solve_nested(ctx, A) && solve_several(ctx, A) ? 0 : 1;
}
