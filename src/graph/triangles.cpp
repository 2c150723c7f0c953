// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Triangles: every edge is directed from the vertex with fewer edges to the one with more, which gives a matrix L
// without long rows; then C<L> = L L over plus_pair has, at each edge, the triangles that it closes.
#include <algorithm>
#include <numeric>
#include <vector>

#include "graph/arguments.hpp"
#include "graph/directed.hpp"
#include "graph/steps.hpp"
#include "prim/scan.hpp"
#include "tulle/convert.hpp"

namespace tulle::inline TULLE_ABI::graph {
namespace {

// Whether (i, j) is stored for every (j, i); columns of A are sorted.
void require_undirected(const CsrView<double>& a)
{
    for (index_t i = 0; i < a.rows; ++i)
        for (offset_t p = a.row_begin[i]; p < a.row_begin[i + 1]; ++p) {
            const index_t j = a.col[p];
            const bool back = std::binary_search(a.col + a.row_begin[j], a.col + a.row_begin[j + 1], i);
            if (!back) refuse_directed(i, j);
        }
}

// The edges from fewer to more edges, equal ones by number, without self loops; vertices are renamed in that order.
Csr<double> direct_by_degree(const CpuQueue& q, const CsrView<double>& a)
{
    std::vector<index_t> order(static_cast<std::size_t>(a.rows)), rank(order.size());
    std::iota(order.begin(), order.end(), 0);
    const auto degree = [&](index_t v) { return a.row_begin[v + 1] - a.row_begin[v]; };
    std::stable_sort(order.begin(), order.end(), [&](index_t u, index_t v) { return degree(u) < degree(v); });
    for (std::size_t r = 0; r < order.size(); ++r) rank[static_cast<std::size_t>(order[r])] = static_cast<index_t>(r);
    const auto rank_of = [&](index_t v) { return rank[static_cast<std::size_t>(v)]; };
    Buffer<offset_t> begin(q, offset_t{a.rows} + 1);
    for (index_t v = 0; v < a.rows; ++v)
        begin.data()[rank_of(v)] = std::count_if(a.col + a.row_begin[v], a.col + a.row_begin[v + 1],
                                                 [&](index_t u) { return rank_of(u) > rank_of(v); });
    prim::exclusive_scan(q, begin.data(), begin.data(), a.rows);
    Csr<double> l = Csr<double>::make(q, a.rows, a.rows, begin.data()[a.rows]);
    std::fill_n(l.value.data(), l.value.size(), 1.0);
    for (index_t v = 0; v < a.rows; ++v) {
        offset_t to = begin.data()[rank_of(v)];
        for (offset_t p = a.row_begin[v]; p < a.row_begin[v + 1]; ++p)
            if (rank_of(a.col[p]) > rank_of(v)) l.col.data()[to++] = rank_of(a.col[p]);
        std::sort(l.col.data() + begin.data()[rank_of(v)], l.col.data() + to);
    }
    l.row_begin = std::move(begin);
    return l;
}

offset_t count_by_product(const Context& ctx, const CpuQueue& q, const CsrView<double>& graph)
{
    require_undirected(graph);
    const Csr<double> l = direct_by_degree(q, graph);
    const Csr<double> c = multiply_masked(ctx, Semiring::plus_pair, l.view(), l.view(), l.view());
    offset_t triangles = 0;
    for (const double n : c.value.span()) triangles += static_cast<offset_t>(n);
    return triangles;
}

}  // namespace

offset_t count_triangles(const Context& ctx, const AnyCsr<double>& given)
{
    Buffer<offset_t> wide;
    const auto a = matrix::widened<CsrView<double>>(ctx, given, wide);
    require_graph(ctx, a);
    const bool is_tidy = a.sorted && a.unique;
    const Csr<double> tidy = is_tidy ? Csr<double>{} : sum_duplicates(ctx, a);
    const CsrView<double> graph = is_tidy ? a : tidy.view();
    return run_on(
        ctx, a.nonzeros, [&](const auto& q) { return count_triangles_on(q, graph); },
        [&](const CpuQueue& q) { return count_by_product(ctx, q, graph); });
}

}  // namespace tulle::inline TULLE_ABI::graph
