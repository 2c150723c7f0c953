// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// One undirected graph as every contender gets it, and what the algorithms give for it by plain loops.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tulle/convert.hpp"
#include "tulle/csr.hpp"
#include "tulle/graph_ops.hpp"
#include "tulle/transfer.hpp"

namespace tulle::bench {

inline constexpr int rank_iterations = 50;
inline constexpr double rank_damping = 0.85;

class GraphProblem {
public:
    // A + A^T with weights of 1; from its vertex with the most edges searches begin.
    GraphProblem(const Context& context, const Csr<double>& matrix) : ctx(context)
    {
        const Context cpu = Context::cpu();
        const Csr<double> tidy = sum_duplicates(cpu, matrix.view()), back = transpose(cpu, tidy.view());
        host = graph::add(cpu, graph::Monoid::max, tidy.view(), back.view());
        std::fill_n(host.value.data(), host.nonzeros(), 1.0);
        for (index_t v = 1; v < host.rows; ++v) source = degree(v) > degree(source) ? v : source;
        if (ctx.backend() == Backend::cuda) copy_ = to_device(ctx, host.view());
    }

    offset_t degree(index_t v) const { return host.row_begin.data()[v + 1] - host.row_begin.data()[v]; }
    CsrView<double> view() const { return ctx.backend() == Backend::cuda ? copy_.view() : host.view(); }

    // What an algorithm gives: the number of triangles, levels, ranks, sums of the rows of A A at the positions of A.
    std::vector<double> expected(const std::string& algorithm) const
    {
        if (algorithm == "triangles") return {triangles()};
        if (algorithm == "bfs") return levels();
        return algorithm == "pagerank" ? ranks() : masked_sums();
    }

    const Context& ctx;
    Csr<double> host;
    index_t source = 0;

private:
    template <class Visit>
    void for_each_neighbour(index_t v, Visit&& visit) const
    {
        for (offset_t p = host.row_begin.data()[v]; p < host.row_begin.data()[v + 1]; ++p) visit(host.col.data()[p]);
    }

    // visit(i, count) with the number of paths of two edges beside every edge from i.
    template <class Visit>
    void for_each_edge(Visit&& visit) const
    {
        std::vector<index_t> mark(static_cast<std::size_t>(host.rows), -1);
        for (index_t i = 0; i < host.rows; ++i) {
            for_each_neighbour(i, [&](index_t j) { mark[static_cast<std::size_t>(j)] = i; });
            for_each_neighbour(i, [&](index_t k) {
                for_each_neighbour(k, [&](index_t j) {
                    if (mark[static_cast<std::size_t>(j)] == i) visit(i, k, j);
                });
            });
        }
    }

    double triangles() const
    {
        double count = 0;
        for_each_edge([&](index_t i, index_t k, index_t j) { count += i < k && k < j ? 1 : 0; });
        return count;
    }

    std::vector<double> masked_sums() const
    {
        std::vector<double> sum(static_cast<std::size_t>(host.rows), 0);
        for_each_edge([&](index_t i, index_t, index_t) { sum[static_cast<std::size_t>(i)] += 1; });
        return sum;
    }

    std::vector<double> levels() const
    {
        std::vector<double> level(static_cast<std::size_t>(host.rows), -1);
        std::vector<index_t> queue{source};
        level[static_cast<std::size_t>(source)] = 0;
        for (std::size_t k = 0; k < queue.size(); ++k)
            for_each_neighbour(queue[k], [&](index_t v) {
                if (level[static_cast<std::size_t>(v)] >= 0) return;
                level[static_cast<std::size_t>(v)] = level[static_cast<std::size_t>(queue[k])] + 1;
                queue.push_back(v);
            });
        return level;
    }

    std::vector<double> ranks() const
    {
        const double n = host.rows;
        std::vector<double> rank(static_cast<std::size_t>(host.rows), 1 / n), next(rank.size());
        for (int k = 0; k < rank_iterations; ++k) {
            double dangling = 0;
            for (index_t v = 0; v < host.rows; ++v) dangling += degree(v) == 0 ? rank[static_cast<std::size_t>(v)] : 0;
            std::fill(next.begin(), next.end(), (1 - rank_damping + rank_damping * dangling) / n);
            for (index_t v = 0; v < host.rows; ++v)
                for_each_neighbour(v, [&](index_t u) {
                    next[static_cast<std::size_t>(u)] +=
                        rank_damping * rank[static_cast<std::size_t>(v)] / static_cast<double>(degree(v));
                });
            std::swap(rank, next);
        }
        return rank;
    }

    Csr<double> copy_;
};

// The largest difference in units of what is allowed: right if not above 1.
inline double worst_share(const std::vector<double>& got, const std::vector<double>& want)
{
    if (got.size() != want.size()) return std::numeric_limits<double>::infinity();
    double worst = 0;
    for (std::size_t k = 0; k < got.size(); ++k)
        worst = std::fmax(worst, std::abs(got[k] - want[k]) / (1e-9 * (std::abs(want[k]) + 1e-3)));
    return worst;
}

}  // namespace tulle::bench
