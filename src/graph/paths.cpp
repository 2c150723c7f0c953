// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Searches: in every round the vertices that changed are multiplied with their rows of the graph, over min_first
// (breadth first: the smallest parent) or min_plus (shortest paths), and those that got better change next. Breadth
// first, vertices that were not reached pull from the transposed matrix while the last level has many edges (Beamer and
// others, SC 2012, doi:10.1109/SC.2012.50). On the CPU; cuda/search.cu does the same on a GPU.
#include <algorithm>
#include <limits>
#include <numeric>

#include "graph/arguments.hpp"
#include "graph/steps.hpp"
#include "graph/trees.hpp"
#include "tulle/convert.hpp"
#include "vector/cpu/pass.hpp"

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

// A breadth-first search, level by level.
class LevelSearch {
public:
    LevelSearch(const Context& ctx, const CpuQueue& q, const CsrView<double>& a, index_t source)
        : ctx_(ctx),
          q_(q),
          a_(a),
          r_{Vertices(static_cast<std::size_t>(a.rows), -1), Vertices(static_cast<std::size_t>(a.rows), -1)},
          now_{source}
    {
        r_.level[static_cast<std::size_t>(source)] = 0;
    }

    Levels run()
    {
        for (index_t level = 1; !now_.empty(); ++level) {
            next_.clear();
            if (edges_of_last() * pull_share <= a_.nonzeros) push(level);
            else pull(level);
            std::swap(now_, next_);
        }
        return std::move(r_);
    }

private:
    // Pull when so many times the edges of the last level are more than all (as cuda/search.cu).
    static constexpr offset_t pull_share = 16;

    offset_t edges_of_last() const
    {
        offset_t edges = 0;
        for (const index_t u : now_) edges += a_.row_begin[u + 1] - a_.row_begin[u];
        return edges;
    }

    void push(index_t level)
    {
        for_each_edge(a_, now_, [&](index_t u, index_t v, double) {
            const auto at = static_cast<std::size_t>(v);
            if (r_.level[at] >= 0) return;
            r_.level[at] = level;
            r_.parent[at] = u;
            next_.push_back(v);
        });
        std::sort(next_.begin(), next_.end());
    }

    void pull(index_t level)
    {
        if (back_.rows != a_.rows) back_ = transpose(ctx_, a_);
        const Edges back{back_.row_begin.data(), back_.col.data()};
        vector::pass(q_, a_.rows, PullLevel{back, r_.level.data(), level - 1, r_.parent.data()}, {});
        for (index_t v = 0; v < a_.rows; ++v) {
            const auto at = static_cast<std::size_t>(v);
            if (r_.level[at] >= 0 || r_.parent[at] < 0) continue;
            r_.level[at] = level;
            next_.push_back(v);
        }
    }

    const Context& ctx_;
    const CpuQueue& q_;
    CsrView<double> a_;
    Levels r_;
    Vertices now_, next_;
    Csr<double> back_;  // transposed, made when it is first needed
};

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
        [&](const CpuQueue& q) { return LevelSearch(ctx, q, a, source).run(); });
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
