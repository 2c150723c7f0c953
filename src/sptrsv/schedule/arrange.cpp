// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// From the analysis to what a policy's kernel works on: tasks are laid out where the triangle was analysed (on the GPU
// by default), what other kernels need is arranged on the host and copied. Values are filled in where the context
// works.
#include "sptrsv/steps.hpp"

#include <algorithm>
#include <concepts>
#include <utility>

#include "tulle/memory.hpp"
#include "tulle/text.hpp"
#include "tulle/trace.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {
namespace {

template <class T>
Buffer<T> move_to_queue(const CpuQueue&, Buffer<T>& host)
{
    return std::move(host);
}
template <class T>
Buffer<T> move_to_queue(const CudaQueue& q, Buffer<T>& host)
{
    return to_queue(q, host.data(), host.size());
}

template <class Queue>
Rows move_to_queue(const Queue& q, Rows host)
{
    return {host.rows,
            move_to_queue(q, host.row),
            move_to_queue(q, host.begin),
            move_to_queue(q, host.col),
            move_to_queue(q, host.source),
            move_to_queue(q, host.diagonal)};
}

template <class Queue>
Tasks move_to_queue(const Queue& q, Tasks host)
{
    return {host.rows,
            host.levels,
            host.team,
            host.reversed,
            host.reordered,
            host.dense_size,
            move_to_queue(q, host.task),
            move_to_queue(q, host.row),
            move_to_queue(q, host.diagonal),
            move_to_queue(q, host.col),
            move_to_queue(q, host.source),
            move_to_queue(q, host.late_col),
            move_to_queue(q, host.dense_at),
            move_to_queue(q, host.dense_source),
            move_to_queue(q, host.dense_first)};
}

template <class Queue>
Groups move_to_queue(const Queue& q, Groups host)
{
    return {host.subwarps,
            host.share_above,
            host.warps_per_block,
            host.blocks,
            host.by_ticket,
            move_to_queue(q, host.node_begin),
            move_to_queue(q, host.node),
            move_to_queue(q, host.list),
            move_to_queue(q, host.list_begin),
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

// (A build without CUDA uses neither this nor the next.)
[[maybe_unused]] const Graph* find_merged(const HostAnalysis& analysis, const Policy& s)
{
    for (const MergedGraph& one : analysis.merged)
        if (one.merge == s.merge && one.rows == s.rows) return &one.graph;
    return nullptr;
}

[[maybe_unused]] Buffer<index_t> rows_by_level(const CpuQueue& host, const Graph& levels)
{
    const auto rows = static_cast<index_t>(levels.node_of.size());
    Buffer<index_t> level(host, rows);
    for (index_t i = 0; i < rows; ++i) level.data()[i] = levels.level_of(i);
    return sort_into(host, level.data(), rows, levels.levels + 1).item;
}

template <class V>
void arrange(const Context&, const CpuQueue& q, const AnalysisState& known, const Options&, Prepared<V>& p)
{
    const Pattern& t = known.host->pattern;
    const bool shared = p.policy.kernel == Kernel::levels, merges = shared && p.policy.merge != Merge::none;
    const Graph merged = merges ? merge(q, t, p.policy.merge, p.policy.rows) : Graph{};
    const Graph& graph = merges ? merged : *known.host->levels;
    p.levels = graph.levels;
    if (shared)
        p.threads = plan_threads(q, t, graph, q.threads, p.policy.limit > 0 ? p.policy.limit : entries_worth_sharing);
    p.rows = make_rows(q, t, *known.host->sources, shared ? p.threads.order.data() : nullptr, Unknowns::by_row);
    p.row_values = room_for<V>(q, p.rows);
}

// A triangle that was extracted on the host, where kernels write tasks.
template <class Queue>
Triangle upload_triangle(const Queue& q, const Pattern& t, const Sources& sources)
{
    const auto up = [&](const auto& host) { return to_queue(q, host.data(), host.size()); };
    return {{t.rows, t.reversed, up(t.row_begin), up(t.col)}, {up(sources.source), up(sources.diagonal)}};
}

// Templates, so that a build without CUDA makes none of them, optimised or not.
// Nodes are found on the host; tasks are laid out on the GPU unless the host is asked to, or there are too many levels.
template <std::same_as<CudaQueue> Gpu>
Tasks tasks_from_host(const Context& ctx, const Gpu& q, const CpuQueue& host, AnalysisState& known,
                      const Options& options, const Policy& s, const Packing& packing)
{
    const Pattern& t = pattern_on_host(ctx, known);
    const Graph* found = s.merge == Merge::none ? &levels_on_host(ctx, known) : find_merged(*known.host, s);
    const Graph made = found ? Graph{} : merge(host, t, s.merge, s.rows, s.limit);
    const Graph& merged = found ? *found : made;
    if (options.analysis == Analysis::host || !can_take_nodes(t.rows, merged.levels))
        return move_to_queue(q, make_tasks(host, t, sources_on_host(ctx, known), merged, packing));
    const auto write = [&](const auto& there) {
        const LevelAnalysis nodes = upload_nodes(q, host, merged);
        return write_tasks(q, lay_out_tasks(q, there, nodes, !merged.size.empty(), merged.levels, packing), there);
    };
    return known.device ? write(known.device->triangle) : write(upload_triangle(q, t, sources_on_host(ctx, known)));
}

template <std::same_as<CudaQueue> Gpu>
Tasks tasks_from_device(const Gpu& q, const AnalysisState& known, const Policy& s, const Packing& packing)
{
    const DeviceAnalysis& there = *known.device;
    const bool chains = s.merge == Merge::chains;
    const index_t levels = chains ? there.chain_levels : known.features.levels;
    return write_tasks(q, lay_out_tasks(q, there.triangle, *there.nodes, chains, levels, packing), there.triangle);
}

template <class V>
void arrange_tasks(const Context& ctx, const CudaQueue& q, const CpuQueue& host, AnalysisState& known,
                   const Options& options, Prepared<V>& p)
{
    const Policy& s = p.policy;
    require<ValueError>(
        fits(s, known.rows, sizeof(V), limits_of(ctx)),
        [&] {
            return concat(known.rows, " unknowns do not fit into the shared memory of one ",
                          to_text(s.execution_scope));
        },
        "ExecutionScope::device, or a cluster of more blocks");
    const int bundles = takes_bundles(s) ? bundles_for(options.right_hand_sides) : 1;
    const Packing packing{s.reorder, s.warps_per_task,
                          std::max<offset_t>(1, offset_t{s.warps} * multiprocessors(q) / (s.warps_per_task * bundles))};
    p.tasks = is_device_resident(known, options, s) ? tasks_from_device(q, known, s, packing)
                                                    : tasks_from_host(ctx, q, host, known, options, s, packing);
    p.levels = p.tasks.levels;
    p.task_values = room_for<V>(q, p.tasks);
    fill_zero(q, p.task_values.substitute.data(),
              p.task_values.substitute.size());  // of merged nodes alone it is written
    p.shared = s.execution_scope == ExecutionScope::device
                   ? make_shared<V>(q, p.tasks.rows, p.tasks.task.size(), s.warps, s.warps_per_task)
                   : make_shared<V>(q, p.tasks.rows, s);
}

// The paper's four stages: rows in another order where asked for, merged in that order, grouped and dealt to warps.
template <class V>
void arrange_groups(const Context& ctx, const CudaQueue& q, const CpuQueue& host, AnalysisState& known, Prepared<V>& p)
{
    const Policy& s = p.policy;
    const Buffer<index_t> order = s.reorder ? rows_by_level(host, levels_on_host(ctx, known)) : Buffer<index_t>();
    Rows rows = make_rows(host, pattern_on_host(ctx, known), sources_on_host(ctx, known),
                          s.reorder ? order.data() : nullptr, Unknowns::by_place);
    const Pattern reordered{.rows = rows.rows,
                            .row_begin = to_queue(host, rows.begin.data(), rows.begin.size()),
                            .col = to_queue(host, rows.col.data(), rows.col.size())};
    const Graph merged = merge(host, reordered, s.merge, s.rows, s.limit);
    p.levels = merged.levels;
    p.groups = move_to_queue(q, make_groups(host, rows, merged, s, multiprocessors(q)));
    p.rows = move_to_queue(q, std::move(rows));
    p.row_values = room_for<V>(q, p.rows);
    p.flags = make_flags<V>(q, p.rows.rows, p.groups);
}

// Many right-hand sides with the tasks, or with rows alone.
template <class V>
SolveScratch<V> make_bundles(const CudaQueue& q, const Tasks& tasks, const Policy& s, index_t sides)
{
    const int bundles = bundles_for(sides);
    return make_shared<V>(q, offset_t{tasks.rows} * bundles * bundle_sides, tasks.task.size(), s.warps,
                          s.warps_per_task, bundles);
}

template <class V>
void arrange_many(const Context& ctx, const CudaQueue& q, const CpuQueue& host, AnalysisState& known, Prepared<V>& p)
{
    p.many = move_to_queue(q, make_rows(host, pattern_on_host(ctx, known), sources_on_host(ctx, known),
                                        rows_by_level(host, levels_on_host(ctx, known)).data(), Unknowns::by_place));
    p.many_values = room_for<V>(q, p.many);
    p.many_shared = make_shared<V>(q, offset_t{p.many.rows} * sides_at_once, p.many.rows, many_warps, 1);
}

template <class V>
void arrange(const Context& ctx, const CudaQueue& q, AnalysisState& known, const Options& options, Prepared<V>& p)
{
    const CpuQueue host(0, q.memory);
    if (p.policy.kernel == Kernel::groups) arrange_groups(ctx, q, host, known, p);
    else arrange_tasks(ctx, q, host, known, options, p);
    if (options.right_hand_sides <= 1) return;
    if (takes_bundles(p.policy)) p.many_shared = make_bundles<V>(q, p.tasks, p.policy, options.right_hand_sides);
    else arrange_many(ctx, q, host, known, p);
}

template <class V>
index_t fill(const CpuQueue& q, const V* value, Prepared<V>& p)
{
    return fill_rows(q, p.rows, value, p.row_values);
}

template <class V>
index_t fill(const CudaQueue& q, const V* value, Prepared<V>& p)
{
    const bool tasks = p.policy.kernel != Kernel::groups;
    const index_t zero = tasks ? fill_tasks(q, p.tasks, value, growth_allowed(p.accuracy), p.task_values)
                               : fill_rows(q, p.rows, value, p.row_values);
    if (p.many.rows > 0) fill_rows(q, p.many, value, p.many_values);
    if (tasks && zero < 0 && p.accuracy == Accuracy::tested) test_tasks(q, p.tasks, value, p.shared, p.task_values);
    return zero;
}

}  // namespace

Rows make_rows(const CpuQueue& host, const Pattern& t, const Sources& sources, const index_t* order, Unknowns unknowns)
{
    Rows rows{.rows = t.rows,
              .row = Buffer<index_t>(host, t.rows),
              .begin = Buffer<offset_t>(host, offset_t{t.rows} + 1),
              .col = Buffer<index_t>(host, t.nonzeros()),
              .source = Buffer<offset_t>(host, t.nonzeros()),
              .diagonal = Buffer<offset_t>(host, sources.diagonal.size())};
    Buffer<index_t> place(host, t.rows);
    const auto at = [&](index_t k) { return order ? order[k] : k; };
    rows.begin.data()[0] = 0;
    for (index_t k = 0; k < t.rows; ++k) {
        place.data()[at(k)] = k;
        rows.begin.data()[k + 1] = rows.begin.data()[k] + t.row_begin.data()[at(k) + 1] - t.row_begin.data()[at(k)];
    }
#pragma omp parallel for num_threads(host.threads) schedule(static)
    for (index_t k = 0; k < t.rows; ++k) {
        const index_t i = at(k);
        rows.row.data()[k] = t.row_of(i);
        if (!sources.diagonal.empty()) rows.diagonal.data()[k] = sources.diagonal.data()[i];
        offset_t to = rows.begin.data()[k];
        for (offset_t from = t.row_begin.data()[i]; from < t.row_begin.data()[i + 1]; ++from, ++to) {
            const index_t col = t.col.data()[from];
            rows.col.data()[to] = unknowns == Unknowns::by_row ? t.row_of(col) : place.data()[col];
            rows.source.data()[to] = sources.source.data()[from];
        }
    }
    return rows;
}

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
    if (scheme.kernel != Kernel::tasks || (options.right_hand_sides > 1 && !takes_bundles(scheme))) return false;
    if (!known.device || !known.device->nodes) return false;
    return scheme.merge == Merge::none || (scheme.merge == Merge::chains && scheme.rows == known.device->nodes->most);
}

template <class V>
Prepared<V> prepare(const Context& ctx, const WideView<V>& a, const Options& options, AnalysisState& known,
                    const Policy& scheme)
{
    Prepared<V> p;
    p.policy = scheme;
    p.accuracy = options.accuracy;
    {
        const trace::Phase phase{"arrange"};
        ctx.run([&](const auto& q) { arrange(ctx, q, known, options, p); });
    }
    set_values(ctx, as_rows(a).value, p);
    return p;
}

template void set_values(const Context&, const float*, Prepared<float>&);
template Prepared<float> prepare(const Context&, const WideView<float>&, const Options&, AnalysisState&, const Policy&);
template void set_values(const Context&, const double*, Prepared<double>&);
template Prepared<double> prepare(const Context&, const WideView<double>&, const Options&, AnalysisState&,
                                  const Policy&);

}  // namespace tulle::inline TULLE_ABI::sptrsv
