// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Look and transform: the triangle in the order it is solved, its levels and features, and the merged graphs a GPU
// scheme could work on.
#include <algorithm>
#include <optional>
#include <utility>

#include "sptrsv/analysis/scratch.hpp"
#include "sptrsv/select/search.hpp"
#include "tulle/memory.hpp"
#include "tulle/outline.hpp"
#include "tulle/trace.hpp"
#include "tulle/validate.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {
namespace {

// How the caller's matrix is to be read, where the context works.
template <class V>
TriangleSource stored_as(const WideView<V>& a, const Options& options)
{
    const CsrView<V> m = as_rows(a);
    const bool transpose = std::holds_alternative<CscView<V>>(a) != (options.op == Op::transpose);
    return {.rows = m.rows,
            .row_begin = m.row_begin,
            .col = m.col,
            .nonzeros = m.nonzeros,
            .transpose = transpose,
            .upper = (options.uplo == Uplo::upper) != (options.op == Op::transpose),
            .unit_diagonal = options.unit_diagonal,
            .ignore_other_side = options.other_side == OtherSide::ignore};
}

template <class V>
void validate_all(const Context& ctx, const WideView<V>& a, const Options& options)
{
    if (!options.checked) return;
    const trace::Phase phase{"validate"};
    std::visit([&](const auto& m) { check(ctx, m); }, a);
}

// Taken there where rows are what is stored, and looked at while they are taken; else, or where something is wrong with
// them, what is stored comes to the host.
template <class V>
bool take_there(const CpuQueue&, const WideView<V>&, const Options&, AnalysisState&)
{
    return false;
}

template <class V>
bool take_there(const CudaQueue& q, const WideView<V>& a, const Options& options, AnalysisState& known)
{
    const CsrView<V> m = as_rows(a);
    const TriangleSource s = stored_as(a, options);
    if (options.analysis != Analysis::device || s.transpose || !m.sorted || m.rows == 0) return false;
    std::optional<Triangle> taken = extract_triangle(q, s);
    if (!taken) return false;
    known.there = std::move(*taken);
    known.triangle.rows = m.rows;
    known.triangle.reversed = known.there.reversed;
    return true;
}

// The triangle of what is stored, once that is on the host.
template <class V>
Triangle triangle_of(const CpuQueue&, const CpuQueue& host, const WideView<V>& a, const Options& options)
{
    return make_triangle(host, stored_as(a, options));
}

template <class V>
Triangle triangle_of(const CudaQueue& q, const CpuQueue& host, const WideView<V>& a, const Options& options)
{
    const CsrView<V> m = as_rows(a);
    TriangleSource s = stored_as(a, options);
    Buffer<offset_t> row_begin = touched<offset_t>(host, offset_t{m.rows} + 1);
    Buffer<index_t> col = touched<index_t>(host, m.nonzeros);
    download(q, m.row_begin, row_begin.data(), row_begin.size());
    download(q, m.col, col.data(), col.size());
    s.row_begin = row_begin.data();
    s.col = col.data();
    return make_triangle(host, s);
}

template <class V>
AnalysisState look(const Context& ctx, const WideView<V>& a, const Options& options)
{
    const trace::Phase phase{"look"};
    AnalysisState known;
    ctx.run([&](const auto& q) {
        if (take_there(q, a, options, known)) return;
        validate_all(ctx, a, options);
        known.triangle = triangle_of(q, ctx.host(), a, options);
    });
    if (!options.cache.empty()) {  // a triangle is remembered by what it has on the host
        fetch_triangle(ctx, known);
        fetch_sources(ctx, known);
    }
    return known;
}

// How many tasks a graph becomes, about: a node each, unless a level has more than the GPU takes at once; then 32 rows
// each.
offset_t count_tasks(const Widths& widths, int multiprocessors)
{
    const offset_t at_once = offset_t{8} * multiprocessors;
    offset_t tasks = 0;
    for (std::size_t k = 0; k < widths.nodes.size(); ++k)
        tasks += std::min(widths.nodes[k], std::max(at_once, widths.rows[k] / most_rows));
    return tasks;
}

Widths widths_of(const Graph& graph, index_t rows)
{
    Widths widths{std::vector<offset_t>(static_cast<std::size_t>(graph.levels), 0),
                  std::vector<offset_t>(static_cast<std::size_t>(graph.levels), 0)};
    for (index_t node = 0; node < graph.nodes; ++node)
        ++widths.nodes[static_cast<std::size_t>(graph.level.data()[node] - 1)];
    for (index_t i = 0; i < rows; ++i) ++widths.rows[static_cast<std::size_t>(graph.level_of(i) - 1)];
    return widths;
}

MergeEstimate outlook_of(Merge how, int rows, const Widths& widths, int multiprocessors)
{
    return {how, rows, static_cast<index_t>(widths.nodes.size()), count_tasks(widths, multiprocessors)};
}

// Rows of a chain that a scheme may want.
[[maybe_unused]] int chains_for(const Options& options)
{
    return options.force && options.force->merge == Merge::chains ? options.force->rows : most_rows;
}

// Found there, if the triangle is there and that should be sooner: a GPU goes through wide levels at once, but needs
// longer for each.
bool find_levels_there(const CpuQueue&, const Options&, AnalysisState&) { return false; }

template <class Queue>
bool find_levels_there(const Queue& q, const Options& options, AnalysisState& known)
{
    const Triangle& t = known.there;
    const index_t deepest = most_levels_there(t.rows, t.nonzeros());
    if (deepest == 0 || t.rows >= most_rows_swept) return false;
    LevelAnalysis swept = sweep(q, t, chains_for(options), deepest);
    const std::optional<Surveyed> found = survey(q, t, swept);
    if (!found) return false;
    known.wide = true;
    known.swept = std::move(swept);
    known.features = found->features;
    known.levels.levels = known.features.levels;
    known.estimates = {outlook_of(Merge::none, 1, found->alone, multiprocessors(q)),
                       outlook_of(Merge::chains, known.swept.most, found->chained, multiprocessors(q))};
    return true;
}

template <class T>
void fetch(const Context& ctx, const Buffer<T>& there, Buffer<T>& here)
{
    if (here.size() == there.size()) return;
    here = touched<T>(ctx.host(), there.size());
    ctx.run([&](const auto& q) { download(q, there.data(), here.data(), here.size()); });
}

// The sources of all entries, which follow each other in each row.
Buffer<offset_t> sources_of_rows(const CpuQueue& host, const offset_t* row_begin, const offset_t* row_source,
                                 index_t rows, bool downwards)
{
    Buffer<offset_t> source = touched<offset_t>(host, row_begin[rows]);
    offset_t* to = source.data();
#pragma omp parallel for num_threads(host.threads) schedule(static)
    for (index_t i = 0; i < rows; ++i)
        for (offset_t k = row_begin[i]; k < row_begin[i + 1]; ++k)
            to[k] = downwards ? row_source[i] - (k - row_begin[i]) : row_source[i] + (k - row_begin[i]);
    return source;
}

}  // namespace

void fetch_triangle(const Context& ctx, AnalysisState& known)
{
    if (known.there.rows == 0) return;
    fetch(ctx, known.there.row_begin, known.triangle.row_begin);
    fetch(ctx, known.there.col, known.triangle.col);
}

void fetch_sources(const Context& ctx, AnalysisState& known)
{
    if (known.there.rows == 0) return;
    fetch(ctx, known.there.diagonal, known.triangle.diagonal);
    if (known.triangle.source.size() == known.there.nonzeros()) return;
    Buffer<offset_t> first;
    fetch(ctx, known.there.row_begin, known.triangle.row_begin);
    fetch(ctx, known.there.row_source, first);
    known.triangle.source = sources_of_rows(ctx.host(), known.triangle.row_begin.data(), first.data(),
                                            known.triangle.rows, known.triangle.reversed);
}

void fetch_levels(const Context& ctx, AnalysisState& known)
{
    if (known.swept.most == 0 || !known.levels.level.empty()) return;
    Buffer<index_t> level = touched<index_t>(ctx.host(), known.there.rows);
    ctx.run([&](const auto& q) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(q)>, CudaQueue>) {
            Buffer<index_t> there(q, level.size());
            write_levels(q, known.swept, there.data());
            download(q, std::as_const(there).data(), level.data(), level.size());
        }
        (void)q;
    });
    known.levels = rows_alone(ctx.host(), std::move(level));
}

template <class V>
AnalysisState analyze_pattern(const Context& ctx, const WideView<V>& a, const Options& options)
{
    AnalysisState known = look(ctx, a, options);
    const trace::Phase phase{"levels"};
    if (ctx.run([&](const auto& q) { return find_levels_there(q, options, known); })) return known;
    fetch_triangle(ctx, known);
    known.levels = merge(ctx.host(), known.triangle, Merge::none);
    known.features = features_of(known.triangle, known.levels);
    known.wide = ctx.backend() == Backend::cuda &&
                 known.levels.levels <= most_levels_there(known.triangle.rows, known.triangle.nonzeros());
    return known;
}

Limits limits_of(const Context& ctx)
{
    const Limits limits{.backend = ctx.backend(), .threads = ctx.host().threads};
    return ctx.run([&](const auto& q) { return limits_on(q, limits); });
}

void look_at_chains(const Context& ctx, const Limits& limits, double expected_calls, AnalysisState& known)
{
    const index_t rows = known.triangle.rows;
    if (!known.estimates.empty()) {  // found there
        if (!chains_pay(expected_calls)) known.estimates.resize(1);
        return;
    }
    known.estimates = {outlook_of(Merge::none, 1, widths_of(known.levels, rows), limits.multiprocessors)};
    if (!chains_pay(expected_calls)) return;
    known.merged.push_back(merge(ctx.host(), known.triangle, Merge::chains, most_rows));
    known.estimates.push_back(
        outlook_of(Merge::chains, most_rows, widths_of(known.merged.back(), rows), limits.multiprocessors));
}

void evaluate_merges(const Context& ctx, const Limits& limits, double expected_calls, AnalysisState& known)
{
    const trace::Phase phase{"transform"};
    if (limits.backend == Backend::cpu) return;
    fetch_triangle(ctx, known);
    fetch_levels(ctx, known);
    const auto estimate = [&](Merge how, int rows, const Graph& graph) {
        return outlook_of(how, rows, widths_of(graph, known.triangle.rows), limits.multiprocessors);
    };
    known.merged.clear();
    known.estimates = {estimate(Merge::none, 1, known.levels)};
    if (!clusters_pay(known.features, expected_calls)) return;
    for (const Merge how : {Merge::critical, Merge::fixed}) {
        if (how == Merge::fixed && !favours_neighbours(known.features)) continue;
        known.merged.push_back(merge(ctx.host(), known.triangle, how, most_rows));
        known.estimates.push_back(estimate(how, most_rows, known.merged.back()));
    }
}

template <class V>
LevelWidths level_widths(const Context& ctx, const AnyView<V>& given, const Options& options)
{
    Buffer<offset_t> wide;
    const auto a = matrix::widened<WideView<V>>(ctx, given, wide);
    require_square(a);
    AnalysisState known = look(ctx, a, options);
    fetch_triangle(ctx, known);
    const auto rows_by_level = [&](Merge how) {
        return widths_of(merge(ctx.host(), known.triangle, how, most_rows), known.triangle.rows).rows;
    };
    return {rows_by_level(Merge::none), rows_by_level(Merge::critical)};
}

template LevelWidths level_widths(const Context&, const AnyView<float>&, const Options&);
template LevelWidths level_widths(const Context&, const AnyView<double>&, const Options&);
template AnalysisState analyze_pattern(const Context&, const WideView<float>&, const Options&);
template AnalysisState analyze_pattern(const Context&, const WideView<double>&, const Options&);

}  // namespace tulle::inline TULLE_ABI::sptrsv
