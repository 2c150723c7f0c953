// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Merging in one pass over the entries each, levels with it. Section 4.3 of the paper, and Merge::critical, which is
// ours: a row joins the node of the parent that finishes last if no other node finishes as late. A node's
// level is fixed by its first row, because those that join need, beside the node itself, only lower levels; so the
// merged graph has no cycle. Merge::chains lets a row join only behind the last one, and only the first row that needs
// that one: who joins then depends on the rows a row needs alone, not on all rows before it.
#include "sptrsv/analysis.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

namespace tulle::inline TULLE_ABI::sptrsv {
namespace {

offset_t length(const Pattern& t, index_t row) { return t.row_begin.data()[row + 1] - t.row_begin.data()[row]; }

// The highest level among the nodes a row needs, the node that has it, and whether only one has.
struct Latest {
    index_t level = 0, node = 0;
    bool alone = true;
};

// Level and node of a row in one word: the latest parent has the largest. Turned round, the smallest node of a level is
// the largest word; it is the same node where the latest is alone. Nothing branches on what is found.
constexpr std::uint64_t node_bits = 0xffff'ffff;
std::uint64_t standing_of(index_t level, index_t node)
{
    return (static_cast<std::uint64_t>(level) << 32) | static_cast<std::uint32_t>(node);
}

Latest latest_parent(const Pattern& t, const std::uint64_t* standing, index_t row)
{
    std::uint64_t largest = 0, turned = 0;
    const index_t *col = t.col.data() + t.row_begin.data()[row], *end = t.col.data() + t.row_begin.data()[row + 1];
    for (; col != end; ++col) {
        const std::uint64_t one = standing[*col];
        largest = std::max(largest, one);
        turned = std::max(turned, one ^ node_bits);
    }
    return {static_cast<index_t>(largest >> 32), static_cast<index_t>(largest & node_bits),
            (turned ^ node_bits) == largest};
}

index_t highest_parent(const Pattern& t, const index_t* level, index_t row)
{
    index_t highest = 0;
    for (offset_t k = t.row_begin.data()[row]; k < t.row_begin.data()[row + 1]; ++k)
        highest = std::max(highest, level[t.col.data()[k]]);
    return highest;
}

// The first row that needs each row; none: beyond all rows.
Buffer<index_t> first_dependent(const CpuQueue& host, const Pattern& t)
{
    Buffer<index_t> first = touched<index_t>(host, t.rows);
    std::fill_n(first.data(), t.rows, t.rows);
    for (index_t i = t.rows; i-- > 0;)
        for (offset_t k = t.row_begin.data()[i]; k < t.row_begin.data()[i + 1]; ++k) first.data()[t.col.data()[k]] = i;
    return first;
}

void merge_critical(const CpuQueue& host, const Pattern& t, int rows, bool chains, Graph& g)
{
    const Buffer<index_t> first = chains ? first_dependent(host, t) : Buffer<index_t>();
    Buffer<index_t> last = touched<index_t>(host, chains ? t.rows : 0);  // row of each chain
    Buffer<std::uint64_t> standing = touched<std::uint64_t>(host, t.rows);
    index_t *size = g.size.data(), *level = g.level.data();
    for (index_t i = 0; i < t.rows; ++i) {
        const Latest latest = latest_parent(t, standing.data(), i);
        const bool is_long = length(t, i) > long_row;
        index_t node = latest.node;
        if (latest.level == 0 || !latest.alone || is_long || size[node] >= rows ||
            (chains && first.data()[last.data()[node]] != i)) {
            node = g.nodes++;
            size[node] = 0;
            level[node] = latest.level + 1;
        }
        g.node_of.data()[i] = node;
        g.position.data()[i] = static_cast<std::uint16_t>(size[node]);
        size[node] = is_long ? rows + 1 : size[node] + 1;  // nobody joins a long row
        standing.data()[i] = standing_of(level[node], node);
        if (chains) last.data()[node] = i;
    }
    for (index_t node = 0; node < g.nodes; ++node)
        if (size[node] > rows) size[node] = 1;
}

// Where a node of consecutive rows that begins at `first` ends.
index_t end_of_run(const Pattern& t, index_t first, Merge how, int rows, int limit)
{
    const index_t last = static_cast<index_t>(std::min<offset_t>(t.rows, offset_t{first} + rows));
    if (how == Merge::average) {
        const offset_t entries =
            t.row_begin.data()[last] - t.row_begin.data()[first] + (last - first);  // the diagonal counts
        return entries <= offset_t{limit} * (last - first) ? last : first + 1;
    }
    const offset_t longest = how == Merge::threshold ? limit - 1 : long_row;
    index_t end = first;
    while (end < last && length(t, end) <= longest) ++end;
    return std::max(end, first + 1);
}

void merge_consecutive(const Pattern& t, Merge how, int rows, int limit, index_t* level, Graph& g)
{
    for (index_t first = 0; first < t.rows;) {
        const index_t end = end_of_run(t, first, how, rows, limit), node = g.nodes++;
        std::fill(g.node_of.data() + first, g.node_of.data() + end, node);
        if (!g.size.empty()) {
            g.size.data()[node] = end - first;
            std::iota(g.position.data() + first, g.position.data() + end, std::uint16_t{0});
        }
        std::fill(level + first, level + end, 0);  // of itself, while it is being looked at
        index_t highest = 0;
        for (index_t i = first; i < end; ++i) highest = std::max(highest, highest_parent(t, level, i));
        g.level.data()[node] = highest + 1;
        std::fill(level + first, level + end, highest + 1);
        first = end;
    }
}

double variation(double sum, double squares, double n)
{
    const double mean = sum / n;
    return mean > 0 ? std::sqrt(std::max(0.0, squares / n - mean * mean)) / mean : 0;
}

}  // namespace

Graph merge(const CpuQueue& host, const Pattern& t, Merge how, int rows, int limit)
{
    const index_t merged = how == Merge::none ? 0 : t.rows;
    Graph g{.nodes = 0,
            .levels = 0,
            .node_of = touched<index_t>(host, t.rows),
            .level = touched<index_t>(host, t.rows),
            .size = touched<index_t>(host, merged),
            .position = touched<std::uint16_t>(host, merged)};
    if (how == Merge::critical || how == Merge::chains) {
        merge_critical(host, t, rows, how == Merge::chains, g);
    } else {
        Buffer<index_t> level = touched<index_t>(host, t.rows);  // of each row's node
        merge_consecutive(t, how, how == Merge::none ? 1 : rows, limit, level.data(), g);
    }
    for (index_t node = 0; node < g.nodes; ++node) g.levels = std::max(g.levels, g.level.data()[node]);
    return g;
}

Graph rows_alone(const CpuQueue& host, Buffer<index_t> level)
{
    const auto rows = static_cast<index_t>(level.size());
    Graph g{.nodes = rows,
            .levels = 0,
            .node_of = touched<index_t>(host, rows),
            .level = std::move(level),
            .size = {},
            .position = {}};
    std::iota(g.node_of.data(), g.node_of.data() + rows, 0);
    for (index_t i = 0; i < rows; ++i) g.levels = std::max(g.levels, g.level.data()[i]);
    return g;
}

Features features_of(const Pattern& t, const Graph& graph)
{
    std::vector<unsigned long long> of_level(static_cast<std::size_t>(graph.levels), 0);
    RowSums sums{.squares = 0,
                 .dependency_nearness = 0,
                 .longest = 0,
                 .levels = static_cast<unsigned long long>(graph.levels)};
    for (index_t i = 0; i < t.rows; ++i) {
        const auto entries = static_cast<unsigned long long>(length(t, i) + 1);
        sums.squares += entries * entries;
        sums.longest = std::max(sums.longest, entries);
        of_level[static_cast<std::size_t>(graph.level_of(i) - 1)] += entries;
        if (entries > 1)
            sums.dependency_nearness +=
                near_unit / static_cast<unsigned long long>(i - t.col.data()[t.row_begin.data()[i + 1] - 1]);
    }
    return features_from(t.rows, t.nonzeros(), sums, of_level);
}

Features features_from(index_t rows, offset_t nonzeros, const RowSums& sums,
                       const std::vector<unsigned long long>& of_level)
{
    Features f{.rows = rows, .nonzeros = nonzeros + rows, .levels = static_cast<index_t>(sums.levels)};
    if (rows == 0) return f;
    const auto all = static_cast<double>(f.nonzeros), levels = static_cast<double>(sums.levels);
    f.dependency_nearness = static_cast<double>(sums.dependency_nearness) / static_cast<double>(near_unit) / rows;
    f.row_longest = static_cast<double>(sums.longest);
    f.row_mean = all / rows;
    f.row_variation = variation(all, static_cast<double>(sums.squares), rows);
    double level_squares = 0;
    for (const unsigned long long count : of_level) {
        const auto entries = static_cast<double>(count);
        level_squares += entries * entries;
        f.level_longest = std::max(f.level_longest, entries);
    }
    f.level_mean = all / levels;
    f.level_variation = variation(all, level_squares, levels);
    return f;
}

Bins sort_into(const CpuQueue& host, const index_t* bin, index_t items, index_t bins)
{
    Bins sorted{.begin = Buffer<index_t>(host, offset_t{bins} + 1), .item = Buffer<index_t>(host, items)};
    index_t* begin = sorted.begin.data();
    std::fill_n(begin, bins + offset_t{1}, 0);
    for (index_t i = 0; i < items; ++i) ++begin[bin[i]];
    index_t sum = 0;
    for (index_t b = 0; b <= bins; ++b) {
        const index_t here = b < bins ? begin[b] : 0;
        begin[b] = sum;
        sum += here;
    }
    for (index_t i = 0; i < items; ++i) sorted.item.data()[begin[bin[i]]++] = i;
    for (index_t b = bins; b > 0; --b) begin[b] = begin[b - 1];
    begin[0] = 0;
    return sorted;
}

Bins rows_of_nodes(const CpuQueue& host, const Graph& graph)
{
    const auto rows = static_cast<index_t>(graph.node_of.size());
    Bins sorted{.begin = Buffer<index_t>(host, offset_t{graph.nodes} + 1), .item = Buffer<index_t>(host, rows)};
    index_t* begin = sorted.begin.data();
    begin[0] = 0;
    for (index_t node = 0; node < graph.nodes; ++node)
        begin[node + 1] = begin[node] + (graph.size.empty() ? 1 : graph.size.data()[node]);
#pragma omp parallel for num_threads(host.threads) schedule(static)
    for (index_t i = 0; i < rows; ++i)
        sorted.item.data()[begin[graph.node_of.data()[i]] + (graph.position.empty() ? 0 : graph.position.data()[i])] =
            i;
    return sorted;
}

}  // namespace tulle::inline TULLE_ABI::sptrsv
