// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What each kind of kernel works on: tasks are laid out where the triangle was analysed (on the GPU by default), what
// other kernels need is arranged on the host and copied. Values are filled in where the context works.
#include "sptrsv/analysis/prepare.hpp"

#include <algorithm>
#include <utility>

#include "tulle/memory.hpp"
#include "tulle/text.hpp"
#include "tulle/trace.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {
namespace {

template <class T>
Buffer<T> take_up(const CpuQueue&, Buffer<T>& host)
{
    return std::move(host);
}
template <class T>
Buffer<T> take_up(const CudaQueue& q, Buffer<T>& host)
{
    return to_queue(q, host.data(), host.size());
}

template <class Queue>
Rows take_up(const Queue& q, Rows host)
{
    return {host.rows,
            take_up(q, host.row),
            take_up(q, host.begin),
            take_up(q, host.col),
            take_up(q, host.source),
            take_up(q, host.diagonal)};
}

template <class Queue>
Tasks take_up(const Queue& q, Tasks host)
{
    return {host.rows,
            host.levels,
            host.team,
            host.reversed,
            host.reordered,
            host.dense_size,
            take_up(q, host.task),
            take_up(q, host.row),
            take_up(q, host.diagonal),
            take_up(q, host.col),
            take_up(q, host.source),
            take_up(q, host.late_col),
            take_up(q, host.dense_at),
            take_up(q, host.dense_source),
            take_up(q, host.dense_first)};
}

template <class Queue>
Groups take_up(const Queue& q, Groups host)
{
    return {host.subwarps,
            host.share_above,
            host.warps_per_block,
            host.blocks,
            host.by_ticket,
            take_up(q, host.node_begin),
            take_up(q, host.node),
            take_up(q, host.list),
            take_up(q, host.list_begin),
            std::move(host.segments)};
}

template <class V, class Queue>
RowValues<V> room_for(const Queue& q, const Rows& rows)
{
    return {Buffer<V>(q, rows.nonzeros()), Buffer<V>(q, rows.rows)};
}

template <class V, class Queue>
TaskValues<V> room_for(const Queue& q, const Tasks& tasks)
{
    return {Buffer<V>(q, tasks.col.size()), Buffer<V>(q, tasks.rows), array_for<V>(q, tasks.dense_size),
            array_for<index_t>(q, tasks.dense_size > 0 ? tasks.task.size() : 0)};
}

// The graph of a scheme, if it is one of those looked at. (A build without CUDA uses neither this nor the next.)
[[maybe_unused]] const Graph* find_graph(const AnalysisState& known, const Policy& s)
{
    if (s.merge == Merge::none) return &known.levels;
    for (std::size_t k = 1; k <= known.merged.size(); ++k)
        if (known.estimates[k].merge == s.merge && known.estimates[k].rows == s.rows) return &known.merged[k - 1];
    return nullptr;
}

[[maybe_unused]] Buffer<index_t> rows_by_level(const CpuQueue& host, const AnalysisState& known)
{
    Buffer<index_t> level(host, known.triangle.rows);
    for (index_t i = 0; i < known.triangle.rows; ++i) level.data()[i] = known.levels.level_of(i);
    return sort_into(host, level.data(), known.triangle.rows, known.levels.levels + 1).item;
}

template <class V>
void arrange(const Context&, const CpuQueue& q, const AnalysisState& known, const Options&, Prepared<V>& p)
{
    const bool shared = p.scheme.kernel == Kernel::levels, clusters = shared && p.scheme.merge != Merge::none;
    const Graph merged = clusters ? merge(q, known.triangle, p.scheme.merge, p.scheme.rows) : Graph{};
    const Graph& graph = clusters ? merged : known.levels;
    p.levels = graph.levels;
    if (shared)
        p.threads = plan_threads(q, known.triangle, graph, q.threads,
                                 p.scheme.limit > 0 ? p.scheme.limit : entries_worth_sharing);
    p.rows = make_rows(q, known.triangle, shared ? p.threads.order.data() : nullptr, Unknowns::by_row);
    p.row_values = room_for<V>(q, p.rows);
}

// The triangle where the kernels write tasks, if it was not taken there.
template <class Queue>
Triangle triangle_on(const Queue& q, const Triangle& t)
{
    const auto up = [&](const auto& host) { return to_queue(q, host.data(), host.size()); };
    return {t.rows, t.reversed, up(t.row_begin), up(t.col), up(t.source), up(t.diagonal)};
}

[[maybe_unused]] Tasks tasks_from_host(const Context& ctx, const CudaQueue& q, const CpuQueue& host,
                                       AnalysisState& known, const Options& options, const Policy& s,
                                       const Packing& packing)
{
    const Graph* found = find_graph(known, s);
    const Graph made = found ? Graph{} : merge(host, known.triangle, s.merge, s.rows, s.limit);
    const Graph& merged = found ? *found : made;
    if (options.analysis == Analysis::host || !can_take_nodes(known.triangle.rows, merged.levels)) {
        fetch_sources(ctx, known);
        return take_up(q, make_tasks(host, known.triangle, merged, packing));
    }
    const Triangle taken = known.there.rows > 0 ? Triangle{} : triangle_on(q, known.triangle);
    const Triangle& there = known.there.rows > 0 ? known.there : taken;
    return write_tasks(
        q, lay_out_tasks(q, there, upload_nodes(q, host, merged), !merged.size.empty(), merged.levels, packing), there);
}

[[maybe_unused]] TaskLayout lay_out_there(const CudaQueue& q, const AnalysisState& known, const Policy& s,
                                          const Packing& packing)
{
    const bool chains = s.merge == Merge::chains;
    return lay_out_tasks(q, known.there, known.swept, chains, known.estimates[chains ? 1 : 0].levels, packing);
}

template <class V>
void arrange_tasks(const Context& ctx, const CudaQueue& q, const CpuQueue& host, AnalysisState& known,
                   const Options& options, Prepared<V>& p)
{
    const Policy& s = p.scheme;
    require<ValueError>(
        fits(s, known.triangle.rows, sizeof(V), limits_on(q, {})),
        [&] {
            return concat(known.triangle.rows, " unknowns do not fit into the shared memory of one ",
                          to_text(s.execution_scope));
        },
        "ExecutionScope::device, or a cluster of more blocks");
    const Packing packing{s.reorder, s.team, std::max<offset_t>(1, offset_t{s.warps} * multiprocessors(q) / s.team)};
    p.tasks = is_device_resident(known, options, s) ? write_tasks(q, lay_out_there(q, known, s, packing), known.there)
                                                    : tasks_from_host(ctx, q, host, known, options, s, packing);
    p.levels = p.tasks.levels;
    p.task_values = room_for<V>(q, p.tasks);
    p.shared = s.execution_scope == ExecutionScope::device
                   ? make_shared<V>(q, p.tasks.rows, p.tasks.task.size(), s.warps, s.team)
                   : make_shared<V>(q, p.tasks.rows, s);
}

// The paper's four stages: rows in another order where asked for, merged in that order, grouped and dealt to warps.
template <class V>
void arrange_groups(const CudaQueue& q, const CpuQueue& host, const AnalysisState& known, Prepared<V>& p)
{
    const Policy& s = p.scheme;
    const Buffer<index_t> order = s.reorder ? rows_by_level(host, known) : Buffer<index_t>();
    Rows rows = make_rows(host, known.triangle, s.reorder ? order.data() : nullptr, Unknowns::by_place);
    const Triangle reordered{.rows = rows.rows,
                             .reversed = false,
                             .row_begin = to_queue(host, rows.begin.data(), rows.begin.size()),
                             .col = to_queue(host, rows.col.data(), rows.col.size()),
                             .source = {},
                             .diagonal = {}};
    const Graph merged = merge(host, reordered, s.merge, s.rows, s.limit);
    p.levels = merged.levels;
    p.groups = take_up(q, make_groups(host, rows, merged, s, multiprocessors(q)));
    p.rows = take_up(q, std::move(rows));
    p.row_values = room_for<V>(q, p.rows);
    p.flags = make_flags<V>(q, p.rows.rows, p.groups);
}

template <class V>
void arrange(const Context& ctx, const CudaQueue& q, AnalysisState& known, const Options& options, Prepared<V>& p)
{
    const CpuQueue host(0, q.memory);
    if (p.scheme.kernel == Kernel::groups) arrange_groups(q, host, known, p);
    else arrange_tasks(ctx, q, host, known, options, p);
    if (options.right_hand_sides <= 1) return;
    p.many = take_up(q, make_rows(host, known.triangle, rows_by_level(host, known).data(), Unknowns::by_place));
    p.many_values = room_for<V>(q, p.many);
    p.many_shared = make_shared<V>(q, offset_t{p.many.rows} * sides_at_once, p.many.rows, many_warps, 1);
}

template <class V>
index_t fill(const CpuQueue& q, const V* value, Prepared<V>& p)
{
    return fill_rows(q, p.rows, value, p.row_values);
}

template <class V>
index_t fill(const CudaQueue& q, const V* value, Prepared<V>& p)
{
    const index_t zero = p.scheme.kernel == Kernel::groups ? fill_rows(q, p.rows, value, p.row_values)
                                                           : fill_tasks(q, p.tasks, value, p.task_values);
    if (p.many.rows > 0) fill_rows(q, p.many, value, p.many_values);
    return zero;
}

template <class V>
void solve_on(const CpuQueue& q, const Prepared<V>& p, const RhsView<V>& sides)
{
    if (p.scheme.kernel == Kernel::levels) solve_levels(q, p.rows, p.row_values, p.threads, sides);
    else solve_serial(q, p.rows, p.row_values, sides);
}

template <class V>
void solve_on(const CudaQueue& q, const Prepared<V>& p, const RhsView<V>& sides)
{
    if (sides.columns > 1 && p.many.rows > 0) solve_many(q, p.many, p.many_values, p.many_shared, sides);
    else if (p.scheme.kernel == Kernel::groups) solve_groups(q, p.rows, p.row_values, p.groups, p.flags, sides);
    else solve_tasks(q, p.tasks, p.task_values, p.shared, sides);
}

}  // namespace

template <class V>
void set_values(const Context& ctx, const V* value, Prepared<V>& p)
{
    const trace::Phase phase{"fill"};
    const index_t zero = ctx.run([&](const auto& q) { return fill(q, value, p); });
    require<ValueError>(
        zero < 0,
        [&] { return concat("row ", zero, " (counted from 0): the diagonal is zero, the triangle is singular"); },
        "set Options::unit_diagonal if it is meant to be one");
}

bool is_device_resident(const AnalysisState& known, const Options& options, const Policy& scheme)
{
    if (scheme.kernel != Kernel::tasks || options.right_hand_sides > 1 || known.swept.most == 0) return false;
    return scheme.merge == Merge::none || (scheme.merge == Merge::chains && scheme.rows == known.swept.most);
}

template <class V>
Prepared<V> prepare(const Context& ctx, const WideView<V>& a, const Options& options, AnalysisState& known,
                    const Policy& scheme)
{
    Prepared<V> p;
    p.scheme = scheme;
    {
        const trace::Phase phase{"arrange"};
        const bool needs_more = scheme.kernel != Kernel::tasks || options.right_hand_sides > 1;
        if (!is_device_resident(known, options, scheme)) fetch_triangle(ctx, known);
        if (needs_more) fetch_sources(ctx, known);
        if (needs_more || (scheme.merge == Merge::none && !is_device_resident(known, options, scheme)))
            fetch_levels(ctx, known);
        ctx.run([&](const auto& q) { arrange(ctx, q, known, options, p); });
    }
    set_values(ctx, as_rows(a).value, p);
    return p;
}

template <class V>
void run(const Context& ctx, const Prepared<V>& p, const RhsView<V>& sides)
{
    ctx.run([&](const auto& q) { solve_on(q, p, sides); });
}

template void set_values(const Context&, const float*, Prepared<float>&);
template Prepared<float> prepare(const Context&, const WideView<float>&, const Options&, AnalysisState&, const Policy&);
template void run(const Context&, const Prepared<float>&, const RhsView<float>&);
template void set_values(const Context&, const double*, Prepared<double>&);
template Prepared<double> prepare(const Context&, const WideView<double>&, const Options&, AnalysisState&,
                                  const Policy&);
template void run(const Context&, const Prepared<double>&, const RhsView<double>&);

}  // namespace tulle::inline TULLE_ABI::sptrsv
