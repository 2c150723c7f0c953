// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A sparse matrix times a dense one on several devices: A goes to the members once, by rows or whole; B goes there and
// C comes back with every call. Three streams of a GPU where there is one, else three CPU queues; three real GPUs are
// Team::cuda({0, 1, 2}).
#include <cstdio>
#include <vector>

#include "tulle/tulle.hpp"

int main()
{
    using namespace tulle;
    const Team team = cuda_devices().empty() ? Team::cpu(3, 1) : Team::cuda({0, 0, 0});
    const Csr<float> a = io::generate<float>(Context::cpu(), "stencil5:100");  // on the host
    const index_t n = 24;
    const std::vector<float> b(static_cast<std::size_t>(a.cols) * static_cast<std::size_t>(n), 1.0f);
    std::vector<float> c(static_cast<std::size_t>(a.rows) * static_cast<std::size_t>(n)), d(c.size());
    const DenseView<const float> b_view{a.cols, n, n, Layout::row_major, b.data()};

    auto plan = spmm::TeamPlan<float>::make(team, a.view(), {.product = {.n = n}, .split = spmm::SplitBy::rows});
    plan.run(b_view, {a.rows, n, n, Layout::row_major, c.data()});
    std::puts(plan.describe().c_str());
    std::printf("%zu bytes went to the members, %zu came back\n", plan.traffic().host_to_device,
                plan.traffic().device_to_host);

    // The bits of one device, since every row is one member's.
    auto alone =
        spmm::TeamPlan<float>::make(Team({team[0]}), a.view(), {.product = {.n = n}, .split = spmm::SplitBy::rows});
    alone.run(b_view, {a.rows, n, n, Layout::row_major, d.data()});
    return c == d ? 0 : 1;
}
