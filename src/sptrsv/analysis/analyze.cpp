// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The analysis from a matrix to features and estimates: on the GPU where rows are what is stored there and levels are
// not too many, else on the host.
#include <algorithm>
#include <optional>
#include <utility>

#include "sptrsv/analysis.hpp"
#include "sptrsv/steps.hpp"
#include "tulle/memory.hpp"
#include "tulle/outline.hpp"
#include "tulle/text.hpp"
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

// Extracted there where rows are what is stored, and checked meanwhile; else, or where something is wrong with them,
// what is stored comes to the host.
template <class V>
std::optional<DeviceAnalysis> extract_on_device(const CpuQueue&, const WideView<V>&, const Options&)
{
    return std::nullopt;
}

template <class V>
std::optional<DeviceAnalysis> extract_on_device(const CudaQueue& q, const WideView<V>& a, const Options& options)
{
    const CsrView<V> m = as_rows(a);
    const TriangleSource s = stored_as(a, options);
    if (options.analysis != Analysis::device || s.transpose || !m.sorted || m.rows == 0) return std::nullopt;
    std::optional<DeviceTriangle> extracted = extract_triangle(q, s);
    if (!extracted) return std::nullopt;
    return DeviceAnalysis{.triangle = std::move(*extracted)};
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

HostAnalysis host_analysis_of(Triangle t)
{
    return {.pattern = static_cast<Pattern&&>(t), .sources = static_cast<Sources&&>(t)};
}

template <class V>
AnalysisState extract(const Context& ctx, const WideView<V>& a, const Options& options)
{
    const trace::Phase phase{"look"};
    AnalysisState known{.rows = as_rows(a).rows, .unit_diagonal = options.unit_diagonal};
    ctx.run([&](const auto& q) {
        known.device = extract_on_device(q, a, options);
        if (known.device) return;
        validate_all(ctx, a, options);
        known.host = host_analysis_of(triangle_of(q, ctx.host(), a, options));
    });
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

Widths widths_of(const Graph& graph)
{
    const auto rows = static_cast<index_t>(graph.node_of.size());
    Widths widths{std::vector<offset_t>(static_cast<std::size_t>(graph.levels), 0),
                  std::vector<offset_t>(static_cast<std::size_t>(graph.levels), 0)};
    for (index_t node = 0; node < graph.nodes; ++node)
        ++widths.nodes[static_cast<std::size_t>(graph.level.data()[node] - 1)];
    for (index_t i = 0; i < rows; ++i) ++widths.rows[static_cast<std::size_t>(graph.level_of(i) - 1)];
    return widths;
}

MergeEstimate estimate_of(Merge how, int rows, const Widths& widths, int multiprocessors)
{
    return {how, rows, static_cast<index_t>(widths.nodes.size()), count_tasks(widths, multiprocessors)};
}

MergeEstimate estimate_of(Merge how, int rows, const Graph& graph, const Limits& limits)
{
    return estimate_of(how, rows, widths_of(graph), limits.multiprocessors);
}

// Merges rows on the host, and estimates what that leaves.
void add_merge(const Context& ctx, const Limits& limits, Merge how, AnalysisState& known)
{
    std::vector<MergedGraph>& merged = known.host->merged;
    merged.push_back({how, most_rows, merge(ctx.host(), known.host->pattern, how, most_rows)});
    known.estimates.push_back(estimate_of(how, most_rows, merged.back().graph, limits));
}

// Rows of a chain that a scheme may want.
[[maybe_unused]] int chains_for(const Options& options)
{
    return options.force && options.force->merge == Merge::chains ? options.force->rows : most_rows;
}

// Found there, if the triangle is there and that should be sooner: a GPU goes through wide levels at once, but needs
// longer for each.
bool find_levels_on_device(const CpuQueue&, const Options&, AnalysisState&) { return false; }

template <class Queue>
bool find_levels_on_device(const Queue& q, const Options& options, AnalysisState& known)
{
    if (!known.device) return false;
    const DeviceTriangle& t = known.device->triangle;
    const index_t deepest = most_levels_on_device(t.rows, t.nonzeros());
    if (deepest == 0 || t.rows >= most_rows_swept) return false;
    LevelAnalysis swept = sweep(q, t, chains_for(options), deepest);
    const std::optional<Surveyed> found = survey(q, t, swept);
    if (!found) return false;
    known.wide = true;
    known.features = found->features;
    known.estimates = {estimate_of(Merge::none, 1, found->alone, multiprocessors(q)),
                       estimate_of(Merge::chains, swept.most, found->chained, multiprocessors(q))};
    known.device->nodes = std::move(swept);
    known.device->chain_levels = known.estimates.back().levels;
    return true;
}

template <class T>
Buffer<T> fetch(const Context& ctx, const Buffer<T>& there)
{
    Buffer<T> here = touched<T>(ctx.host(), there.size());
    ctx.run([&](const auto& q) { download(q, there.data(), here.data(), here.size()); });
    return here;
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

// The level of each row.
Buffer<index_t> fetch_levels(const Context& ctx, const LevelAnalysis& nodes)
{
    Buffer<index_t> level = touched<index_t>(ctx.host(), nodes.rows);
    ctx.run([&](const auto& q) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(q)>, CudaQueue>) {
            Buffer<index_t> there(q, level.size());
            write_levels(q, nodes, there.data());
            download(q, std::as_const(there).data(), level.data(), level.size());
        }
        (void)q;
    });
    return level;
}

}  // namespace

const Pattern& pattern_on_host(const Context& ctx, AnalysisState& known)
{
    if (!known.host) {
        const DeviceTriangle& t = known.device->triangle;
        known.host = HostAnalysis{.pattern = {t.rows, t.reversed, fetch(ctx, t.row_begin), fetch(ctx, t.col)}};
    }
    return known.host->pattern;
}

const Sources& sources_on_host(const Context& ctx, AnalysisState& known)
{
    const Pattern& t = pattern_on_host(ctx, known);
    std::optional<Sources>& sources = known.host->sources;
    if (!sources) {
        const Buffer<offset_t> first = fetch(ctx, known.device->triangle.row_source);
        sources = Sources{sources_of_rows(ctx.host(), t.row_begin.data(), first.data(), t.rows, t.reversed),
                          fetch(ctx, known.device->triangle.diagonal)};
    }
    return *sources;
}

const Graph& levels_on_host(const Context& ctx, AnalysisState& known)
{
    pattern_on_host(ctx, known);
    std::optional<Graph>& levels = known.host->levels;
    if (!levels) levels = rows_alone(ctx.host(), fetch_levels(ctx, *known.device->nodes));
    return *levels;
}

template <class V>
void require_square(const WideView<V>& a)
{
    const CsrView<V> m = as_rows(a);
    require(m.rows == m.cols, [&] { return concat("a triangle is square, the matrix is ", m.rows, " x ", m.cols); });
}

template <class V>
AnalysisState analyze_pattern(const Context& ctx, const WideView<V>& a, const Options& options)
{
    AnalysisState known = extract(ctx, a, options);
    const trace::Phase phase{"levels"};
    if (ctx.run([&](const auto& q) { return find_levels_on_device(q, options, known); })) return known;
    const Pattern& t = pattern_on_host(ctx, known);
    const Graph& levels = known.host->levels.emplace(merge(ctx.host(), t, Merge::none));
    known.features = features_of(t, levels);
    known.wide = ctx.backend() == Backend::cuda && levels.levels <= most_levels_on_device(t.rows, t.nonzeros());
    return known;
}

// For one thread of a CPU: the rows at once, without levels.
template <class V>
std::optional<Rows> extract_rows(const Context& ctx, const WideView<V>& a, const Options& options)
{
    const trace::Phase phase{"look"};
    validate_all(ctx, a, options);
    return rows_as_stored(ctx.host(), stored_as(a, options));
}

Limits limits_of(const Context& ctx)
{
    Limits limits{.backend = ctx.backend(), .threads = ctx.host().threads};
    if (ctx.backend() == Backend::cpu) return limits;
    const cuda::DeviceLimits device = cuda::device_limits(ctx);
    limits.multiprocessors = device.multiprocessors;
    limits.block_bytes = device.block_bytes;
    limits.cluster_blocks = std::min(limits.cluster_blocks, device.cluster_blocks);
    while (limits.cluster_blocks > limits.multiprocessors) limits.cluster_blocks /= 2;
    return limits;
}

void look_at_chains(const Context& ctx, const Limits& limits, double expected_calls, AnalysisState& known)
{
    if (!known.estimates.empty()) {  // found there
        if (!chain_merge_pays(expected_calls)) known.estimates.resize(1);
        return;
    }
    known.estimates = {estimate_of(Merge::none, 1, levels_on_host(ctx, known), limits)};
    if (chain_merge_pays(expected_calls)) add_merge(ctx, limits, Merge::chains, known);
}

void evaluate_merges(const Context& ctx, const Limits& limits, double expected_calls, AnalysisState& known)
{
    const trace::Phase phase{"transform"};
    if (limits.backend == Backend::cpu) {
        if (!merges_pay_on_cpu(known.features, limits, expected_calls)) return;
        const Graph merged = merge(ctx.host(), pattern_on_host(ctx, known), Merge::critical, most_rows);
        known.estimates = {{Merge::none, 1, known.features.levels, known.features.rows},
                           {Merge::critical, most_rows, merged.levels, merged.nodes}};
        return;
    }
    known.estimates = {estimate_of(Merge::none, 1, levels_on_host(ctx, known), limits)};
    known.host->merged.clear();
    if (!critical_merge_pays(known.features, expected_calls)) return;
    add_merge(ctx, limits, Merge::critical, known);
    if (depends_on_neighbours(known.features)) add_merge(ctx, limits, Merge::fixed, known);
}

template <class V>
LevelWidths level_widths(const Context& ctx, const AnyView<V>& given, const Options& options)
{
    Buffer<offset_t> wide;
    const auto a = matrix::widened<WideView<V>>(ctx, given, wide);
    require_square(a);
    AnalysisState known = extract(ctx, a, options);
    const Pattern& t = pattern_on_host(ctx, known);
    const auto rows_by_level = [&](Merge how) { return widths_of(merge(ctx.host(), t, how, most_rows)).rows; };
    return {rows_by_level(Merge::none), rows_by_level(Merge::critical)};
}

template LevelWidths level_widths(const Context&, const AnyView<float>&, const Options&);
template LevelWidths level_widths(const Context&, const AnyView<double>&, const Options&);
template std::optional<Rows> extract_rows(const Context&, const WideView<float>&, const Options&);
template std::optional<Rows> extract_rows(const Context&, const WideView<double>&, const Options&);
template void require_square(const WideView<float>&);
template void require_square(const WideView<double>&);
template AnalysisState analyze_pattern(const Context&, const WideView<float>&, const Options&);
template AnalysisState analyze_pattern(const Context&, const WideView<double>&, const Options&);

}  // namespace tulle::inline TULLE_ABI::sptrsv
