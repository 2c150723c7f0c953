// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Communities by agglomeration, as rabbit order finds them (Arai and others, IPDPS 2016, doi:10.1109/IPDPS.2016.110):
// vertices in ascending order of their degrees join the neighbour that raises the modularity most, and take their edges
// along. The order is that of a walk through the trees of who joined whom; within a community, vertices with more walks
// of two edges come first, by powers of two: their rows and columns in the square of the matrix are long.
#include "graph/order.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <utility>

#include "graph/trees.hpp"

namespace tulle::inline TULLE_ABI::graph {
namespace {

class Communities {
public:
    explicit Communities(const CsrView<float>& a)
        : tree_(static_cast<std::size_t>(a.rows)),
          edges_(tree_.size()),
          joined_(tree_.size()),
          degree_(tree_.size(), 0),
          weight_to_(tree_.size(), 0),
          walks_of_two_(tree_.size(), 0)
    {
        std::iota(tree_.begin(), tree_.end(), 0);
        for (index_t i = 0; i < a.rows; ++i)
            for (offset_t p = a.row_begin[i]; p < a.row_begin[i + 1]; ++p)
                if (a.col[p] != i) edges_[at(i)].push_back({a.col[p], 1.0});
        for (std::size_t v = 0; v < tree_.size(); ++v) degree_[v] = static_cast<double>(edges_[v].size());
        for (std::size_t v = 0; v < tree_.size(); ++v)
            for (const Edge& e : edges_[v]) walks_of_two_[v] += edges_[at(e.to)].size();
        all_ = std::accumulate(degree_.begin(), degree_.end(), 0.0);
    }

    void join_all()
    {
        Vertices order = tree_;
        std::stable_sort(order.begin(), order.end(),
                         [&](index_t u, index_t v) { return degree_[at(u)] < degree_[at(v)]; });
        for (const index_t v : order) join(v);
    }

    Vertices order() const
    {
        Vertices all, open;
        const auto is_larger = [&](index_t u, index_t v) {
            return std::bit_width(walks_of_two_[at(u)]) > std::bit_width(walks_of_two_[at(v)]);
        };
        for (index_t root = 0; at(root) < tree_.size(); ++root) {
            if (tree_[at(root)] != root) continue;
            const auto before = static_cast<std::ptrdiff_t>(all.size());
            open.push_back(root);
            while (!open.empty()) {
                const index_t v = open.back();
                open.pop_back();
                all.push_back(v);
                open.insert(open.end(), joined_[at(v)].begin(), joined_[at(v)].end());
            }
            std::stable_sort(all.begin() + before, all.end(), is_larger);
        }
        return all;
    }

private:
    struct Edge {
        index_t to;
        double weight;
    };
    static std::size_t at(index_t v) { return static_cast<std::size_t>(v); }

    // Edges of v to the communities that there are now, one each.
    std::vector<Edge> edges_now(index_t v)
    {
        std::vector<Edge> now;
        for (const Edge& e : edges_[at(v)]) {
            const index_t root = root_of(tree_, e.to);
            if (root == v) continue;
            if (weight_to_[at(root)] == 0) now.push_back({root, 0});
            weight_to_[at(root)] += e.weight;
        }
        for (Edge& e : now) e.weight = std::exchange(weight_to_[at(e.to)], 0);
        return now;
    }

    void join(index_t v)
    {
        std::vector<Edge> now = edges_now(v);
        double best = 0;
        index_t to = v;
        for (const Edge& e : now) {
            const double gain = e.weight - degree_[at(v)] * degree_[at(e.to)] / all_;
            if (gain > best) best = gain, to = e.to;
        }
        edges_[at(v)].clear();
        if (to != v) {
            tree_[at(v)] = to;
            degree_[at(to)] += degree_[at(v)];
            joined_[at(to)].push_back(v);
        }
        edges_[at(to)].insert(edges_[at(to)].end(), now.begin(), now.end());
    }

    Vertices tree_;
    std::vector<std::vector<Edge>> edges_;
    std::vector<Vertices> joined_;  // who joined each vertex
    std::vector<double> degree_, weight_to_;
    std::vector<std::uint64_t> walks_of_two_;  // walks of two edges from each vertex
    double all_ = 0;
};

}  // namespace

std::vector<index_t> order_by_community(const CsrView<float>& a)
{
    Communities communities(a);
    communities.join_all();
    return communities.order();
}

}  // namespace tulle::inline TULLE_ABI::graph
