// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Core numbers by peeling (Batagelj and Zaversnik 2003, arXiv cs/0310049): vertices are kept in order of the neighbours
// they have left; the first one goes, and its neighbours have one less. Time and memory are O(vertices + edges). One
// after the other, so on one thread of the host; the check of the graph uses all.
#include <utility>
#include <vector>

#include "graph/arguments.hpp"
#include "graph/directed.hpp"
#include "graph/trees.hpp"
#include "tulle/convert.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::graph {
namespace {

class Peeling {
public:
    Peeling(const Edges& edges, index_t vertices)
        : edges_(edges),
          left_(static_cast<std::size_t>(vertices)),
          order_(left_.size()),
          place_(left_.size()),
          first_(left_.size() + 1, 0)
    {
        for (index_t v = 0; v < vertices; ++v) {
            at(left_, v) = static_cast<index_t>(edges.degree(v)) - (edges.has(v, v) ? 1 : 0);
            ++at(first_, at(left_, v));
        }
        index_t before = 0;
        for (index_t& count : first_) before += std::exchange(count, before);
        Vertices next = first_;
        for (index_t v = 0; v < vertices; ++v) {
            at(place_, v) = at(next, at(left_, v))++;
            at(order_, at(place_, v)) = v;
        }
    }

    Vertices run()
    {
        for (std::size_t k = 0; k < order_.size(); ++k) {
            const index_t v = order_[k];
            for (offset_t p = edges_.begin[v]; p < edges_.begin[v + 1]; ++p)
                if (at(left_, edges_.col[p]) > at(left_, v)) lower(edges_.col[p]);
        }
        return std::move(left_);
    }

private:
    static index_t& at(Vertices& all, index_t v) { return all[static_cast<std::size_t>(v)]; }

    // One neighbour less: v changes places with the first vertex that has as many, and those begin behind it.
    void lower(index_t v)
    {
        const index_t to = at(first_, at(left_, v))++, other = at(order_, to);
        std::swap(at(order_, to), at(order_, at(place_, v)));
        std::swap(at(place_, v), at(place_, other));
        --at(left_, v);
    }

    Edges edges_;
    Vertices left_;   // neighbours that have not gone; of those that have, the core number
    Vertices order_;  // by left_
    Vertices place_;  // of each vertex in order_
    Vertices first_;  // place of the first vertex with so many left
};

}  // namespace

std::vector<index_t> core_numbers(const Context& ctx, const AnyCsr<double>& given)
{
    Buffer<offset_t> wide;
    const auto a = matrix::widened<CsrView<double>>(ctx, given, wide);
    require_graph(ctx, a);
    const bool is_here = ctx.backend() == Backend::cpu;
    const Context host = is_here ? ctx : Context::cpu(ctx.host().threads);
    const Csr<double> copy = is_here ? Csr<double>{} : to_host(ctx, a);
    const CsrView<double> here = is_here ? a : copy.view();
    const bool is_tidy = here.sorted && here.unique;
    const Csr<double> tidy = is_tidy ? Csr<double>{} : sum_duplicates(host, here);
    const CsrView<double> graph = is_tidy ? here : tidy.view();
    const Edges edges{graph.row_begin, graph.col};
    require_undirected(host.for_work(graph.nonzeros).host(), edges, graph.rows);
    return Peeling(edges, graph.rows).run();
}

}  // namespace tulle::inline TULLE_ABI::graph
