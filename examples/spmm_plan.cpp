// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A sparse matrix of 16-bit numbers times a dense one, as graph networks and pruned layers do it: the plan looks at the
// matrix once, sums and results are in float.
#include <cstdio>
#include <vector>

#include "tulle/tulle.hpp"

int main()
{
    using namespace tulle;
    const Context ctx = Context::best();  // cuda:0 if there is a usable GPU, else the CPU
    const Csr<float> wide = io::generate<float>(Context::cpu(), "fem:8,3");  // three unknowns in each node of a grid

    // The same matrix with numbers of 16 bits: round them once, on the host.
    std::vector<Float16> value;
    for (const float v : wide.value.span()) value.push_back(Float16(v));
    const CsrView<Float16> host{wide.rows,       wide.cols,   wide.nonzeros(), wide.row_begin.data(),
                                wide.col.data(), value.data()};
    const Csr<Float16> a = to_device(ctx, host);

    // B with 64 columns of ones: every entry of a row of C is the sum of that row of A.
    const index_t n = 64;
    const std::vector<Float16> ones(static_cast<std::size_t>(a.cols) * static_cast<std::size_t>(n), Float16(1));
    const Buffer<Float16> b = to_device(ctx, std::span<const Float16>(ones));
    Buffer<float> c = to_device(ctx, std::span<const float>(std::vector<float>(static_cast<std::size_t>(a.rows) *
                                                                               static_cast<std::size_t>(n))));

    const auto plan = spmm::Plan<Float16, float>::make(ctx, a.view(), {.n = n});
    plan.run({a.cols, n, n, Layout::row_major, b.data()}, {a.rows, n, n, Layout::row_major, c.data()});
    std::puts(plan.describe().c_str());

    const auto result = to_host(ctx, std::span<const float>(c.span()));
    std::printf("C(0, 0) = %g, C(0, %d) = %g\n", result.span()[0], n - 1,
                result.span()[static_cast<std::size_t>(n) - 1]);
    return result.span()[0] == result.span()[static_cast<std::size_t>(n) - 1] ? 0 : 1;
}
