// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A system A x = b with b = 1, in the memory of a context; contenders solve it from x = 0.
#pragma once

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "tulle/context.hpp"
#include "tulle/csr.hpp"
#include "tulle/transfer.hpp"

namespace tulle::bench {

struct SolveProblem {
    SolveProblem(const Context& where, Csr<double> matrix, double wanted)
        : ctx(where),
          host(std::move(matrix)),
          tolerance(wanted),
          a(to_device(ctx, host.view())),
          b(constant(1)),
          x(constant(0))
    {}

    Buffer<double> constant(double value) const
    {
        const std::vector<double> numbers(static_cast<std::size_t>(host.rows), value);
        return to_device<double>(ctx, std::span<const double>(numbers));
    }
    std::vector<double> download_x() const
    {
        const Buffer<double> here = to_host<double>(ctx, x.span());
        return {here.data(), here.data() + here.size()};
    }
    // |b - A x| over what was asked for.
    double worst_share(const std::vector<double>& found) const
    {
        const CsrView<double> m = host.view();
        long double sum = 0;
        for (index_t i = 0; i < m.rows; ++i) {
            long double r = 1;
            for (offset_t k = m.row_begin[i]; k < m.row_begin[i + 1]; ++k)
                r -= static_cast<long double>(m.value[k]) * found[static_cast<std::size_t>(m.col[k])];
            sum += r * r;
        }
        constexpr double slack = 1.1;  // baselines judge by the residual that their method tells
        return static_cast<double>(std::sqrt(sum / m.rows)) / (slack * tolerance);
    }

    Context ctx;
    Csr<double> host;
    double tolerance;
    Csr<double> a;
    Buffer<double> b, x;
};

}  // namespace tulle::bench
