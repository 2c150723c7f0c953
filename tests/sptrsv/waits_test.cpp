// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Schedules that are wrong: a row that needs itself, however it came to that. Every kernel must end, name the row, and
// leave NaN behind.
#include <gtest/gtest.h>

#include <cmath>

#include "sptrsv/steps.hpp"
#include "sptrsv/triangles.hpp"
#include "support/backends.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {
namespace {

using namespace tulle::test;

class SptrsvWaitsOn : public OnBackend {};

constexpr index_t chain_rows = 40, stuck = 17;
constexpr unsigned little_patience =
    build::simulated ? 300 : 100'000;  // polls: of a simulated GPU they cost more than its threads need

// Templates, because a build without CUDA has none of the kernels. Row i needs row i - 1, on the host.
[[maybe_unused]] Triangle chain(const CpuQueue& host, const HostCsr<double>& a)
{
    return make_triangle(host, {.rows = a.rows, .row_begin = a.row_begin.data(), .col = a.col.data()});
}

template <class Queue, class T>
Buffer<T> up(const Queue& q, const Buffer<T>& host)
{
    return to_queue(q, host.data(), host.size());
}

struct Outcome {
    std::vector<double> x;
    int fault;
};

[[maybe_unused]] void expect_stuck(const Outcome& got)
{
    EXPECT_TRUE(got.fault > stuck && got.fault <= chain_rows) << got.fault;  // or one of those that wait for it
    for (index_t i = stuck; i < chain_rows; ++i)
        EXPECT_TRUE(std::isnan(got.x[static_cast<std::size_t>(i)])) << "row " << i;
    for (index_t i = 0; build::simulated && i < stuck; ++i)
        EXPECT_FALSE(std::isnan(got.x[static_cast<std::size_t>(i)]))
            << "row " << i;  // a GPU under a tool may be slow enough to use up any spin_limit
}

template <class Queue, class F>
Outcome solve(const Queue& q, F&& kernel)
{
    const std::vector<double> ones(chain_rows, 1.0);
    const Buffer<double> b = to_queue(q, ones.data(), chain_rows);
    Buffer<double> x(q, chain_rows);
    const int fault = kernel(RhsView<double>{1.0, b.data(), 1, 0, x.data(), 1, 0, 1});
    Outcome got{std::vector<double>(chain_rows), fault};
    download(q, std::as_const(x).data(), got.x.data(), chain_rows);
    return got;
}

template <class Queue>
void check_tasks(const Queue& q, const HostCsr<double>& a, int team,
                 ExecutionScope execution_scope = ExecutionScope::device)
{
    const CpuQueue host(1);
    const Triangle t = chain(host, a);
    const Tasks h = make_tasks(host, t, t, merge(host, t, Merge::none), {false, team, 1});
    Tasks tasks{h.rows,
                h.levels,
                h.team,
                h.reversed,
                h.reordered,
                h.dense_size,
                up(q, h.task),
                up(q, h.row),
                up(q, h.diagonal),
                up(q, h.col),
                up(q, h.source),
                {},
                {},
                {},
                {}};
    std::vector<index_t> col(h.col.data(), h.col.data() + h.col.size());
    for (index_t& c : col)
        if (c == stuck - 1) c = stuck;
    upload(q, col.data(), tasks.col.data(), tasks.col.size());
    TaskValues<double> values{Buffer<double>(q, tasks.col.size()), Buffer<double>(q, chain_rows), {}, {}};
    const Buffer<double> value = to_queue(q, a.value.data(), std::ssize(a.value));
    fill_tasks(q, tasks, value.data(), most_growth, values);
    const Policy scheme{
        .kernel = Kernel::tasks, .warps_per_task = team, .warps = 4, .execution_scope = execution_scope, .blocks = 2};
    SolveScratch<double> shared = execution_scope == ExecutionScope::device
                                      ? make_shared<double>(q, chain_rows, tasks.task.size(), 4, team)
                                      : make_shared<double>(q, chain_rows, scheme);
    shared.spin_limit = little_patience;
    expect_stuck(solve(q, [&](const RhsView<double>& sides) {
        solve_tasks(q, tasks, values, shared, sides);
        return read_value(q, &std::as_const(shared.turns).data()->fault);
    }));
    if (team != most_team || execution_scope != ExecutionScope::device) return;
    SolveScratch<double> bundles =
        make_shared<double>(q, offset_t{chain_rows} * 2 * bundle_sides, tasks.task.size(), 4, team, 2);
    bundles.spin_limit = little_patience;
    expect_stuck(solve(q, [&](const RhsView<double>& sides) {
        solve_sides(q, tasks, values, bundles, sides);
        return read_value(q, &std::as_const(bundles.turns).data()->fault);
    }));
}

template <class Queue>
void check_many(const Queue& q, const HostCsr<double>& a)
{
    const CpuQueue host(1);
    const Triangle t = chain(host, a);
    const Rows h = make_rows(host, t, t, nullptr, Unknowns::by_place);
    Rows r{h.rows, up(q, h.row), up(q, h.begin), up(q, h.col), up(q, h.source), up(q, h.diagonal)};
    const index_t itself = stuck;
    upload(q, &itself, r.col.data() + stuck - 1, 1);
    RowValues<double> values{Buffer<double>(q, r.nonzeros()), Buffer<double>(q, chain_rows)};
    const Buffer<double> value = to_queue(q, a.value.data(), std::ssize(a.value));
    fill_rows(q, r, value.data(), values);
    SolveScratch<double> shared = make_shared<double>(q, offset_t{chain_rows} * sides_at_once, chain_rows, 4, 1);
    shared.spin_limit = little_patience;
    expect_stuck(solve(q, [&](const RhsView<double>& sides) {
        solve_many(q, r, values, shared, sides);
        return read_value(q, &std::as_const(shared.turns).data()->fault);
    }));
}

template <class Queue>
void check_groups(const Queue& q, const HostCsr<double>& a, int share_above)
{
    const CpuQueue host(1);
    const Triangle t = chain(host, a);
    const Rows h = make_rows(host, t, t, nullptr, Unknowns::by_place);
    const Policy scheme{.kernel = Kernel::groups,
                        .merge = Merge::fixed,
                        .rows = 1,
                        .warps = 2,
                        .subwarps = 2,
                        .share_above = share_above};
    Groups g = make_groups(host, h, merge(host, t, Merge::fixed, 1), scheme, 2);
    const Groups groups{g.subwarps,  g.share_above,       g.warps_per_block, g.blocks,
                        g.by_ticket, up(q, g.node_begin), up(q, g.node),     {},
                        {},          g.segments};
    Rows r{h.rows, up(q, h.row), up(q, h.begin), up(q, h.col), up(q, h.source), up(q, h.diagonal)};
    const index_t itself = stuck;
    upload(q, &itself, r.col.data() + stuck - 1, 1);
    RowValues<double> values{Buffer<double>(q, r.nonzeros()), Buffer<double>(q, chain_rows)};
    const Buffer<double> value = to_queue(q, a.value.data(), std::ssize(a.value));
    fill_rows(q, r, value.data(), values);
    Flags<double> flags = make_flags<double>(q, chain_rows, groups);
    flags.spin_limit = little_patience;
    expect_stuck(solve(q, [&](const RhsView<double>& sides) {
        solve_groups(q, r, values, groups, flags, sides);
        return read_value(q, std::as_const(flags.flag).data() + flags.flag.size() - 1);
    }));
}

TEST_P(SptrsvWaitsOn, EndAndNameTheRow)
{
    const auto c = ctx();
    if (c.backend() == Backend::cpu) GTEST_SKIP() << "threads of the CPU wait by a schedule that graph_test checks";
    const auto a = triangle_where<double>(chain_rows, 3, [](index_t i, index_t j) { return j == i - 1; });
    c.run([&](const auto& q) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(q)>, CudaQueue>) {
            check_tasks(q, a, 1);
            check_tasks(q, a, 4);
            for (const ExecutionScope execution_scope : {ExecutionScope::block, ExecutionScope::cluster}) {
                if (without_regimes()) continue;
                check_tasks(q, a, 1, execution_scope);
                check_tasks(q, a, 4, execution_scope);
            }
            check_many(q, a);
            check_groups(q, a, 0);
            check_groups(q, a, unlimited);
        }
    });
}

TULLE_ON_BACKENDS(SptrsvWaitsOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI::sptrsv
