// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Forward and backward substitution, as a preconditioner does it in every step of a solver: two plans for the two
// triangles of one matrix, made once.
#include <cmath>
#include <cstdio>
#include <vector>

#include "tulle/tulle.hpp"

int main()
{
    using namespace tulle;
    const Context ctx = Context::best();  // cuda:0 if there is a usable GPU, else the CPU
    const Csr<double> on_host = io::generate<double>(ctx, "stencil5:100");
    const Csr<double> a = to_device(ctx, on_host.view());

    // One triangle each of a general matrix; the other side is left out on request only.
    const auto lower =
        sptrsv::Plan<double>::make(ctx, a.view(),
                                   {.uplo = sptrsv::Uplo::lower, .other_side = sptrsv::OtherSide::ignore});
    const auto upper =
        sptrsv::Plan<double>::make(ctx, a.view(),
                                   {.uplo = sptrsv::Uplo::upper, .other_side = sptrsv::OtherSide::ignore});
    std::puts(lower.describe().c_str());

    // x = U^-1 L^-1 ones; the second solve works in place.
    const std::vector<double> ones(static_cast<std::size_t>(a.rows), 1.0);
    const Buffer<double> b = to_device(ctx, std::span<const double>(ones));
    Buffer<double> x = to_device(ctx, std::span<const double>(ones));
    lower.solve(b.span(), x.span());
    upper.solve(x.span(), x.span());
    upper.wait();  // says so if a GPU ever gave up waiting

    const auto result = to_host(ctx, std::span<const double>(x.span()));
    std::printf("x[0] = %g\n", result.span()[0]);
    return std::isfinite(result.span()[0]) && result.span()[0] > 0 ? 0 : 1;
}
