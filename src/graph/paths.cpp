// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Searches: in every round the vertices that changed are multiplied with their rows of the graph, over min_first
// (breadth first: the smallest parent) or min_plus (shortest paths), and those that got better change next. On the CPU;
// cuda/search.cu does the same on a GPU.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

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

// A set of vertices, a bit for each.
class VertexSet {
public:
    explicit VertexSet(index_t vertices) : word_((static_cast<std::size_t>(vertices) + 63) / 64, 0) {}

    bool has(index_t v) const { return (word_[place(v)] >> (v % 64) & 1) != 0; }
    void add(index_t v) { word_[place(v)] |= std::uint64_t{1} << (v % 64); }
    offset_t words() const { return std::ssize(word_); }

    // The vertices in ascending order, to `to`; the set is empty then.
    void move_to(Vertices& to)
    {
        to.clear();
        for (std::size_t w = 0; w < word_.size(); ++w)
            for (std::uint64_t left = std::exchange(word_[w], 0); left != 0; left &= left - 1)
                to.push_back(static_cast<index_t>(64 * w) + std::countr_zero(left));
    }
    void remove(const Vertices& all)
    {
        for (const index_t v : all) word_[place(v)] = 0;  // all that are in it
    }

private:
    static std::size_t place(index_t v) { return static_cast<std::size_t>(v) / 64; }
    std::vector<std::uint64_t> word_;
};

// A breadth-first search, level by level. Vertices of a level push in ascending order, so that the first parent is the
// smallest. Every edge is looked at once in all: a pull, which looks at fewer, needs the transposed matrix, and to make
// that takes longer.
class LevelSearch {
public:
    LevelSearch(const CsrView<double>& a, index_t source)
        : a_(a),
          r_{Vertices(static_cast<std::size_t>(a.rows), -1), Vertices(static_cast<std::size_t>(a.rows), -1)},
          reached_(a.rows),
          fresh_(a.rows),
          now_{source}
    {
        r_.level[static_cast<std::size_t>(source)] = 0;
        reached_.add(source);
    }

    Levels run()
    {
        for (index_t level = 1; !now_.empty(); ++level) {
            next_.clear();
            push(level);
            sort_next();
            std::swap(now_, next_);
        }
        return std::move(r_);
    }

private:
    void push(index_t level)
    {
        for_each_edge(a_, now_, [&](index_t u, index_t v, double) {
            if (reached_.has(v)) return;
            reached_.add(v);
            fresh_.add(v);
            r_.level[static_cast<std::size_t>(v)] = level;
            r_.parent[static_cast<std::size_t>(v)] = u;
            next_.push_back(v);
        });
    }
    // Many vertices are in order in the words of their set.
    void sort_next()
    {
        if (std::ssize(next_) >= fresh_.words()) return fresh_.move_to(next_);
        fresh_.remove(next_);
        std::sort(next_.begin(), next_.end());
    }

    CsrView<double> a_;
    Levels r_;
    VertexSet reached_, fresh_;
    Vertices now_, next_;
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
        [&](const CpuQueue&) { return LevelSearch(a, source).run(); });
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
