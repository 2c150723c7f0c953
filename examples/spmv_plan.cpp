// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Many products with one matrix: a plan looks at it once, runs without allocating, and takes new values without a new analysis.
// The same code uses a GPU where there is one.
#include <cmath>
#include <cstdio>
#include <vector>

#include "tulle/tulle.hpp"

int main()
{
    const tulle::Context ctx = tulle::Context::best();                           // cuda:0 if there is a usable GPU, else the CPU
    tulle::Csr<double> on_host = tulle::io::generate<double>(ctx, "stencil5:300");
    auto a = tulle::to_device(ctx, on_host.view());                              // where ctx works

    const auto plan = tulle::spmv::Plan<double>::make(ctx, a.view());
    std::printf("on %s: %s\n", ctx.name().c_str(), plan.describe().c_str());

    // A few steps of the power method: v becomes the direction A stretches most.
    std::vector<double> v(static_cast<std::size_t>(plan.cols()), 1.0);
    double length = 0;
    for (int step = 0; step < 20; ++step) {
        const auto x = tulle::to_device(ctx, std::span<const double>(v));
        tulle::Buffer<double> y = tulle::to_device(ctx, std::span<const double>(v));
        plan.run(x.span(), y.span());
        const auto back = tulle::to_host(ctx, std::span<const double>(y.span()));
        length = 0;
        for (const double entry : back.span()) length += entry * entry;
        length = std::sqrt(length);
        for (std::size_t i = 0; i < v.size(); ++i) v[i] = back.span()[i] / length;
    }
    std::printf("after 20 steps A stretches by %.4f\n", length);
    return std::isfinite(length) && length > 0 ? 0 : 1;
}
