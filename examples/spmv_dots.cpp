// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Conjugate gradients in one page: the product with A makes the dot product that the method needs next in the same
// pass.
#include <cmath>
#include <cstdio>
#include <vector>

#include "tulle/tulle.hpp"

int main()
{
    const tulle::Context ctx = tulle::Context::cpu();
    const tulle::Csr<double> a = tulle::io::generate<double>(ctx, "stencil7:20");  // symmetric, positive definite
    const auto n = static_cast<std::size_t>(a.rows);
    auto plan = tulle::spmv::Plan<double>::make(ctx, a.view(), {.dots = true});

    std::vector<double> x(n, 0.0), r(n, 1.0), p = r, q(n), dots(2);  // A x = 1
    double rr = static_cast<double>(n);
    int steps = 0;
    for (; steps < 500 && std::sqrt(rr) > 1e-10; ++steps) {
        plan.run(1.0, p, 0.0, q, dots);  // q = A p, dots[0] = (q, p)
        const double alpha = rr / dots[0];
        double next = 0;
        for (std::size_t i = 0; i < n; ++i) {
            x[i] += alpha * p[i];
            r[i] -= alpha * q[i];
            next += r[i] * r[i];
        }
        for (std::size_t i = 0; i < n; ++i) p[i] = r[i] + next / rr * p[i];
        rr = next;
    }
    plan.run(1.0, x, 0.0, q, dots);
    double worst = 0;
    for (const double value : q) worst = std::fmax(worst, std::fabs(value - 1.0));
    std::printf("%d steps, largest residual %.1e\n", steps, worst);
    return worst < 1e-8 ? 0 : 1;
}
