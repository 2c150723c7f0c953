// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Look and transform: the triangle in the order it is solved, its levels and features, and the merged graphs a GPU scheme could work on.
#include <algorithm>
#include <optional>
#include <utility>

#include "tulle/base/trace.hpp"
#include "tulle/device/copy.hpp"
#include "tulle/matrix/inspect_steps.hpp"
#include "tulle/matrix/validate.hpp"
#include "tulle/sptrsv/scratch.hpp"
#include "tulle/sptrsv/search.hpp"

namespace tulle::sptrsv {
namespace {

// How the caller's matrix is to be read, where the context works.
template <class V>
Stored stored_as(const AnyView<V>& a, const Options& options)
{
    const CsrView<V> m = as_rows(a);
    const bool transpose = std::holds_alternative<CscView<V>>(a) != (options.op == Op::transpose);
    return {.rows = m.rows, .row_begin = m.row_begin, .col = m.col, .transpose = transpose, .upper = (options.uplo == Uplo::upper) != (options.op == Op::transpose),
            .unit_diagonal = options.unit_diagonal, .ignore_other_side = options.other_side == OtherSide::ignore};
}

template <class V>
void look(const CpuQueue&, const CpuQueue& host, const AnyView<V>& a, const Options& options, Known& known)
{
    known.triangle = make_triangle(host, stored_as(a, options));
}

// Taken there where rows are what is stored; else, or where something is wrong with them, what is stored comes to the host.
template <class V>
void look(const CudaQueue& q, const CpuQueue& host, const AnyView<V>& a, const Options& options, Known& known)
{
    const CsrView<V> m = as_rows(a);
    Stored s = stored_as(a, options);
    if (options.analysis == Analysis::device && !s.transpose && m.sorted && m.rows > 0)
        if (std::optional<Taken> taken = take_triangle(q, host, s)) {
            known.triangle = std::move(taken->here);
            known.there = std::move(taken->there);
            return;
        }
    Buffer<offset_t> row_begin = touched<offset_t>(host, offset_t{m.rows} + 1);
    Buffer<index_t> col = touched<index_t>(host, m.nonzeros);
    download(q, m.row_begin, row_begin.data(), row_begin.size());
    download(q, m.col, col.data(), col.size());
    s.row_begin = row_begin.data();
    s.col = col.data();
    known.triangle = make_triangle(host, s);
}

template <class V>
Known look(const Context& ctx, const AnyView<V>& a, const Options& options)
{
    const trace::Phase phase{"look"};
    Known known;
    ctx.run([&](const auto& q) { look(q, ctx.host(), a, options, known); });
    if (!options.cache.empty()) fetch_sources(ctx, known);                // a triangle is remembered by what it has on the host
    return known;
}

// How many tasks a graph becomes, about: a node each, unless a level has more than the GPU takes at once; then 32 rows each.
offset_t count_tasks(const Graph& graph, index_t rows, int multiprocessors)
{
    const offset_t at_once = offset_t{8} * multiprocessors;
    std::vector<offset_t> nodes(static_cast<std::size_t>(graph.levels) + 1, 0), level_rows(nodes);
    for (index_t node = 0; node < graph.nodes; ++node) ++nodes[static_cast<std::size_t>(graph.level.data()[node])];
    for (index_t i = 0; i < rows; ++i) ++level_rows[static_cast<std::size_t>(graph.level_of(i))];
    offset_t tasks = 0;
    for (std::size_t level = 1; level < nodes.size(); ++level) tasks += std::min(nodes[level], std::max(at_once, level_rows[level] / most_rows));
    return tasks;
}

std::vector<offset_t> widths_of(const Graph& graph, index_t rows)
{
    std::vector<offset_t> width(static_cast<std::size_t>(graph.levels), 0);
    for (index_t i = 0; i < rows; ++i) ++width[static_cast<std::size_t>(graph.level_of(i) - 1)];
    return width;
}

// Whether a GPU's scheme is likely to want critical clusters; `levels` may be a guess. (A library without GPUs does not ask.)
[[maybe_unused]] bool may_cluster(const Options& options, const Triangle& t, double levels)
{
    if (options.force) return options.force->kernel == Kernel::tasks && options.force->merge == Merge::critical && options.force->rows == most_rows;
    return worth_clusters({.rows = t.rows, .nonzeros = t.nonzeros() + t.rows, .levels = static_cast<index_t>(std::min<double>(levels, t.rows))}, options.expected_calls);
}

// Found there, if the triangle is there and that should be sooner: a GPU goes through wide levels at once, but needs longer for each. The host clusters meanwhile.
bool find_levels_there(const CpuQueue&, const CpuQueue&, const Options&, Known&) { return false; }

template <class Queue>
bool find_levels_there(const Queue& q, const CpuQueue& host, const Options& options, Known& known)
{
    if (known.there.rows == 0) return false;
    const double levels = guess_levels(host, known.triangle);
    if (!worth_levels_there(known.triangle.rows, known.triangle.nonzeros(), levels)) return false;
    known.level_there = Buffer<index_t>(q, known.there.rows);
    inspect::find_levels(q, known.there.row_begin.data(), known.there.col.data(), known.there.rows, known.level_there.data());
    const auto survey = start_survey(q, known.there, known.level_there.data());
    if (may_cluster(options, known.triangle, levels)) {
        const trace::Phase phase{"clusters"};
        known.critical = merge(host, known.triangle, Merge::critical, most_rows);
    }
    known.features = features_of(q, known.there, survey);
    known.levels.levels = known.features.levels;
    return true;
}

template <class T>
void fetch(const Context& ctx, const Buffer<T>& there, Buffer<T>& here)
{
    if (here.size() == there.size()) return;
    here = touched<T>(ctx.host(), there.size());
    ctx.run([&](const auto& q) { download(q, there.data(), here.data(), here.size()); });
}

}  // namespace

void fetch_sources(const Context& ctx, Known& known)
{
    if (known.there.rows == 0) return;
    fetch(ctx, known.there.source, known.triangle.source);
    fetch(ctx, known.there.diagonal, known.triangle.diagonal);
}

void fetch_levels(const Context& ctx, Known& known)
{
    if (known.level_there.empty()) return;
    Buffer<index_t> level;
    fetch(ctx, known.level_there, level);
    known.levels = rows_alone(ctx.host(), std::move(level));
    known.level_there = {};
}

template <class V>
Known look_around(const Context& ctx, const AnyView<V>& a, const Options& options)
{
    Known known = look(ctx, a, options);
    const trace::Phase phase{"levels"};
    if (ctx.run([&](const auto& q) { return find_levels_there(q, ctx.host(), options, known); })) return known;
    known.levels = merge(ctx.host(), known.triangle, Merge::none);
    known.features = features_of(known.triangle, known.levels);
    return known;
}

Limits limits_of(const Context& ctx)
{
    const Limits limits{.backend = ctx.backend(), .threads = ctx.host().threads};
    return ctx.run([&](const auto& q) { return limits_on(q, limits); });
}

// The graphs a GPU scheme could work on.
void look_ahead(const Context& ctx, const Limits& limits, double expected_calls, Known& known)
{
    const trace::Phase phase{"transform"};
    if (limits.backend == Backend::cpu) return;
    fetch_levels(ctx, known);
    const auto outlook = [&](Merge how, int rows, const Graph& graph) { return Outlook{how, rows, graph.levels, count_tasks(graph, known.triangle.rows, limits.multiprocessors)}; };
    known.outlooks = {outlook(Merge::none, 1, known.levels)};
    if (!worth_clusters(known.features, expected_calls)) return;
    for (const Merge how : {Merge::critical, Merge::fixed}) {
        if (how == Merge::fixed && !favours_neighbours(known.features)) continue;
        known.merged.push_back(how == Merge::critical && known.critical ? std::move(*known.critical) : merge(ctx.host(), known.triangle, how, most_rows));
        if (how == Merge::critical) known.critical.reset();
        known.outlooks.push_back(outlook(how, most_rows, known.merged.back()));
    }
}

template <class V>
LevelWidths level_widths(const Context& ctx, const AnyView<V>& a, const Options& options)
{
    require_square(a);
    if (options.checked) std::visit([&](const auto& m) { check(ctx, m); }, a);
    const Known known = look(ctx, a, options);
    const Triangle& triangle = known.triangle;
    return {widths_of(merge(ctx.host(), triangle, Merge::none), triangle.rows), widths_of(merge(ctx.host(), triangle, Merge::critical, most_rows), triangle.rows)};
}

template LevelWidths level_widths(const Context&, const AnyView<float>&, const Options&);
template LevelWidths level_widths(const Context&, const AnyView<double>&, const Options&);
template Known look_around(const Context&, const AnyView<float>&, const Options&);
template Known look_around(const Context&, const AnyView<double>&, const Options&);

}  // namespace tulle::sptrsv
