// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Searches: in every round the vertices that changed are multiplied with their rows of the graph, over min_first
// (breadth first: the smallest parent) or min_plus (shortest paths), and those that got better change next. On the CPU;
// cuda/search.cu does the same on a GPU.
#include <algorithm>
#include <limits>
#include <numeric>

#include "graph/arguments.hpp"
#include "graph/steps.hpp"
#include "graph/trees.hpp"

namespace tulle::inline TULLE_ABI::graph {
namespace {

constexpr double unreached = std::numeric_limits<double>::infinity();

// Each vertex after every edge of the vertices in `from`, in ascending order of those.
template <class Visit>
void for_each_edge(const CsrView<double>& a, const Vertices& from, Visit&& visit)
{
    for (const index_t u : from)
        for (offset_t p = a.row_begin[u]; p < a.row_begin[u + 1]; ++p) visit(u, a.col[p], a.value[p]);
}

Levels levels_from(const CsrView<double>& a, index_t source)
{
    Levels r{Vertices(static_cast<std::size_t>(a.rows), -1), Vertices(static_cast<std::size_t>(a.rows), -1)};
    r.level[static_cast<std::size_t>(source)] = 0;
    Vertices now{source}, next;
    for (index_t level = 1; !now.empty(); ++level) {
        next.clear();
        for_each_edge(a, now, [&](index_t u, index_t v, double) {
            const auto at = static_cast<std::size_t>(v);
            if (r.level[at] >= 0) return;
            r.level[at] = level;
            r.parent[at] = u;
            next.push_back(v);
        });
        std::sort(next.begin(), next.end());
        std::swap(now, next);
    }
    return r;
}

Paths paths_from(const CsrView<double>& a, index_t source)
{
    Paths r{std::vector<double>(static_cast<std::size_t>(a.rows), unreached),
            Vertices(static_cast<std::size_t>(a.rows), -1)};
    r.distance[static_cast<std::size_t>(source)] = 0;
    std::vector<bool> changes(r.distance.size(), false);
    Vertices now{source}, next;
    while (!now.empty()) {
        next.clear();
        for_each_edge(a, now, [&](index_t u, index_t v, double length) {
            const auto at = static_cast<std::size_t>(v);
            const double through = r.distance[static_cast<std::size_t>(u)] + length;
            if (!(through < r.distance[at])) return;
            r.distance[at] = through;
            r.parent[at] = u;
            if (!changes[at]) next.push_back(v);
            changes[at] = true;
        });
        for (const index_t v : next) changes[static_cast<std::size_t>(v)] = false;
        std::sort(next.begin(), next.end());
        std::swap(now, next);
    }
    return r;
}

Vertices components_of(const CsrView<double>& a)
{
    Vertices tree(static_cast<std::size_t>(a.rows));
    std::iota(tree.begin(), tree.end(), 0);
    for (index_t i = 0; i < a.rows; ++i)
        for (offset_t p = a.row_begin[i]; p < a.row_begin[i + 1]; ++p) {
            const index_t u = root_of(tree, i), v = root_of(tree, a.col[p]);
            tree[static_cast<std::size_t>(std::max(u, v))] = std::min(u, v);
        }
    for (index_t i = 0; i < a.rows; ++i) tree[static_cast<std::size_t>(i)] = root_of(tree, i);
    return tree;
}

}  // namespace

Levels breadth_first(const Context& ctx, const AnyCsr<double>& given, index_t source)
{
    Buffer<offset_t> wide;
    const auto a = matrix::widened<CsrView<double>>(ctx, given, wide);
    require_graph(ctx, a);
    require_vertex(source, a.rows);
    return run_on(
        ctx, a.nonzeros, [&](const auto& q) { return search_levels(ctx, q, a, source); },
        [&](const CpuQueue&) { return levels_from(a, source); });
}

Paths shortest_paths(const Context& ctx, const AnyCsr<double>& given, index_t source)
{
    Buffer<offset_t> wide;
    const auto a = matrix::widened<CsrView<double>>(ctx, given, wide);
    require_graph(ctx, a);
    require_vertex(source, a.rows);
    require_weights(ctx, a, false);
    return run_on(
        ctx, a.nonzeros, [&](const auto& q) { return search_paths(ctx, q, a, source); },
        [&](const CpuQueue&) { return paths_from(a, source); });
}

std::vector<index_t> components(const Context& ctx, const AnyCsr<double>& given)
{
    Buffer<offset_t> wide;
    const auto a = matrix::widened<CsrView<double>>(ctx, given, wide);
    require_graph(ctx, a);
    return run_on(
        ctx, a.nonzeros, [&](const auto& q) { return name_components(ctx, q, a); },
        [&](const CpuQueue&) { return components_of(a); });
}

}  // namespace tulle::inline TULLE_ABI::graph
