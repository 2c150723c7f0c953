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

}  // namespace

int main()
{
    const auto ctx = tulle::Context::cpu();
    const auto A = tulle::io::generate<double>(ctx, "stencil7:16");
    return solve_by_default(ctx, A) && solve_as_asked(ctx, A) ? 0 : 1;
}
