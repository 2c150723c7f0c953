// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A matrix of floats, vectors and sums of doubles: two thirds of the bytes of a matrix of doubles are read.
#include <cmath>
#include <cstdio>
#include <vector>

#include "tulle/tulle.hpp"

int main()
{
    const tulle::Context ctx = tulle::Context::cpu();
    const tulle::Csr<double> a = tulle::io::generate<double>(ctx, "stencil5:200");
    const tulle::Csr<float> f = tulle::io::generate<float>(ctx, "stencil5:200");

    auto exact = tulle::spmv::Plan<double>::make(ctx, a.view());
    // The same kernel for both: on a CPU a plan may measure which is faster, and kernels differ in the order of their
    // sums.
    auto mixed = tulle::spmv::Plan<double, float>::make(ctx, f.view(), {.force = exact.policy()});
    std::vector<double> x(static_cast<std::size_t>(a.cols), 0.1), y(static_cast<std::size_t>(a.rows)), z(y.size());
    exact.run(x, y);
    mixed.run(x, z);

    std::printf("%s and %s; y[0] = %.17g and %.17g\n", tulle::human_bytes(a.bytes()).c_str(),
                tulle::human_bytes(f.bytes()).c_str(), y[0], z[0]);
    return y == z ? 0 : 1;  // -1 and 4 are floats: nothing was rounded
}
