// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Many products with one matrix: a plan looks at it once, runs without allocating, and takes new values without a new
// analysis. The same code uses a GPU where there is one.
#include <cmath>
#include <cstdio>
#include <vector>

#include "tulle/tulle.hpp"

int main()
{
    const tulle::Context ctx = tulle::Context::best();  // cuda:0 if there is a usable GPU, else the CPU
    tulle::Csr<double> on_host = tulle::io::generate<double>(ctx, "stencil5:300");
    const tulle::Csr<double> a = tulle::to_device(ctx, on_host.view());  // where ctx works

    auto plan = tulle::spmv::Plan<double>::make(ctx, a.view());
    std::puts(plan.describe().c_str());

    // Walk forth and back between two vectors: x is A applied eight times to ones.
    const std::vector<double> ones(static_cast<std::size_t>(plan.cols()), 1.0);
    tulle::Buffer<double> x = tulle::to_device(ctx, std::span<const double>(ones)),
                          y = tulle::to_device(ctx, std::span<const double>(ones));
    for (int step = 0; step < 4; ++step) {
        plan.run(x.span(), y.span());
        plan.run(y.span(), x.span());
    }

    // Twice the values, same pattern: no new analysis. One more product, added to half of what is there: y = 2 A x + y
    // / 2.
    for (double& value : on_host.value.span()) value *= 2;
    const tulle::Csr<double> doubled = tulle::to_device(ctx, on_host.view());
    plan.update_values(doubled.view());
    plan.run(1.0, x.span(), 0.5, y.span());

    const auto result = tulle::to_host(ctx, std::span<const double>(y.span()));
    std::printf("y[0] = %g\n", result.span()[0]);
    return std::isfinite(result.span()[0]) && result.span()[0] > 0 ? 0 : 1;
}
