// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Look and transform: the triangle in the order it is solved, its levels and features, and the merged graphs a GPU scheme could work on.
#include <algorithm>
#include <utility>

#include "tulle/base/trace.hpp"
#include "tulle/device/copy.hpp"
#include "tulle/matrix/inspect_steps.hpp"
#include "tulle/matrix/validate.hpp"
#include "tulle/sptrsv/search.hpp"

namespace tulle::sptrsv {
namespace {

template <class V>
Triangle look(const Context& ctx, const AnyView<V>& a, const Options& options)
{
    const trace::Phase phase{"look"};
    const CsrView<V> stored = as_rows(a);
    const bool transpose = std::holds_alternative<CscView<V>>(a) != (options.op == Op::transpose);
    Stored s{.rows = stored.rows, .row_begin = stored.row_begin, .col = stored.col, .transpose = transpose, .upper = (options.uplo == Uplo::upper) != (options.op == Op::transpose),
             .unit_diagonal = options.unit_diagonal, .ignore_other_side = options.other_side == OtherSide::ignore};
    if (ctx.backend() == Backend::cpu) return make_triangle(ctx.host(), s);
    Buffer<offset_t> row_begin(ctx.host(), offset_t{stored.rows} + 1);
    Buffer<index_t> col(ctx.host(), stored.nonzeros);
    ctx.run([&](const auto& q) {
        download(q, stored.row_begin, row_begin.data(), row_begin.size());
        download(q, stored.col, col.data(), col.size());
    });
    s.row_begin = row_begin.data();
    s.col = col.data();
    return make_triangle(ctx.host(), s);
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

// Where they should be found sooner: a GPU goes through wide levels at once, but needs longer for each.
template <class V>
Graph levels_of(const Context& ctx, const AnyView<V>& a, const Options& options, const Triangle& t)
{
    const auto* rows = std::get_if<CsrView<V>>(&a);
    const bool may_be_there = ctx.backend() == Backend::cuda && options.analysis == Analysis::device && rows && options.op == Op::none;
    if (may_be_there && worth_levels_there(t.rows, t.nonzeros(), guess_levels(ctx.host(), t))) return find_levels_there(ctx, *rows, options.uplo == Uplo::upper);
    return merge(ctx.host(), t, Merge::none);
}

}  // namespace

template <class V>
Graph find_levels_there(const Context& ctx, const CsrView<V>& a, bool upper)
{
    const CpuQueue host = ctx.host();
    Buffer<index_t> here(host, a.rows);
    ctx.run([&](const auto& q) {
        Buffer<index_t> level(q, a.rows);
        inspect::find_levels(q, a.row_begin, a.col, a.rows, level.data(), upper);
        download(q, std::as_const(level).data(), here.data(), here.size());
    });
    if (upper) std::reverse(here.data(), here.data() + a.rows);
    return rows_alone(host, std::move(here));
}

template <class V>
Known look_around(const Context& ctx, const AnyView<V>& a, const Options& options)
{
    Known known{look(ctx, a, options), {}, {}, {}, {}};
    const trace::Phase phase{"levels"};
    known.levels = levels_of(ctx, a, options, known.triangle);
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
    const auto outlook = [&](Merge how, int rows, const Graph& graph) { return Outlook{how, rows, graph.levels, count_tasks(graph, known.triangle.rows, limits.multiprocessors)}; };
    known.outlooks = {outlook(Merge::none, 1, known.levels)};
    if (!worth_clusters(known.features, expected_calls)) return;
    for (const Merge how : {Merge::critical, Merge::fixed}) {
        if (how == Merge::fixed && !favours_neighbours(known.features)) continue;
        known.merged.push_back(merge(ctx.host(), known.triangle, how, most_rows));
        known.outlooks.push_back(outlook(how, most_rows, known.merged.back()));
    }
}

template <class V>
LevelWidths level_widths(const Context& ctx, const AnyView<V>& a, const Options& options)
{
    require_square(a);
    if (options.checked) std::visit([&](const auto& m) { check(ctx, m); }, a);
    const Triangle triangle = look(ctx, a, options);
    return {widths_of(merge(ctx.host(), triangle, Merge::none), triangle.rows), widths_of(merge(ctx.host(), triangle, Merge::critical, most_rows), triangle.rows)};
}

template LevelWidths level_widths(const Context&, const AnyView<float>&, const Options&);
template LevelWidths level_widths(const Context&, const AnyView<double>&, const Options&);
template Graph find_levels_there(const Context&, const CsrView<float>&, bool);
template Graph find_levels_there(const Context&, const CsrView<double>&, bool);
template Known look_around(const Context&, const AnyView<float>&, const Options&);
template Known look_around(const Context&, const AnyView<double>&, const Options&);

}  // namespace tulle::sptrsv
