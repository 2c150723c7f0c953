// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Triangles on a CPU: every edge is directed from the vertex with fewer edges to the one with more, which leaves no
// long lists. An edge closes a triangle with every vertex that is in the lists of both its ends: a thread marks the
// list of one vertex after the other in an array of bytes, and goes through the lists of its neighbours that are
// shorter.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "graph/cpu/rows.hpp"
#include "graph/directed.hpp"
#include "graph/steps.hpp"
#include "prim/scan.hpp"
#include "vector/cpu/pass.hpp"

namespace tulle::inline TULLE_ABI::graph {
namespace {

// Rows first … end-1 of a pattern against its columns: entries above the diagonal less those below, none of which may
// be without its mirror image; false in `symmetric` else. Entries (i, j) below the diagonal come in ascending order of
// i for every j, as the entries of row j behind its diagonal stand: next[j] is where the following one must be.
offset_t match_rows(const Edges& edges, index_t first, index_t end, offset_t* next, bool& symmetric)
{
    for (index_t j = 0; j < end; ++j)
        next[j] = edges.begin[j] + prim::lower_bound(edges.col + edges.begin[j], edges.degree(j), std::max(first, j));
    offset_t surplus = 0;
    for (index_t i = first; i < end; ++i)
        for (offset_t p = edges.begin[i]; p < edges.begin[i + 1]; ++p) {
            const index_t j = edges.col[p];
            surplus += j > i ? 1 : 0;
            if (j > i) continue;
            symmetric = symmetric && next[j] < edges.begin[j + 1] && edges.col[next[j]] == i;
            if (!symmetric) return surplus;
            ++next[j];
            surplus -= j < i ? 1 : 0;
        }
    return surplus;
}

bool is_symmetric(const CpuQueue& q, const Edges& edges, index_t rows)
{
    Buffer<offset_t> next(q, offset_t{rows} * q.threads);
    offset_t surplus = 0;
    bool symmetric = true;
#pragma omp parallel for num_threads(q.threads) schedule(static) reduction(+ : surplus) reduction(&& : symmetric)
    for (int t = 0; t < q.threads; ++t) {
        const auto [first, end] = rows_of(q, edges.begin, rows, t);
        surplus += match_rows(edges, first, end, next.data() + offset_t{t} * rows, symmetric);
    }
    return symmetric && surplus == 0;
}

void require_undirected(const CpuQueue& q, const Edges& edges, index_t rows)
{
    if (is_symmetric(q, edges, rows)) return;
    for (index_t i = 0; i < rows; ++i)
        for (offset_t p = edges.begin[i]; p < edges.begin[i + 1]; ++p)
            if (!edges.has(edges.col[p], i)) refuse_directed(i, edges.col[p]);
}

// Triangles at the edges between v and the neighbours whose lists are shorter, or as long and of a smaller vertex.
offset_t count_at(const Edges& all, const Edges& lists, index_t v, std::uint8_t* mark)
{
    const offset_t length = lists.degree(v);
    if (length == 0) return 0;
    for (offset_t p = lists.begin[v]; p < lists.begin[v + 1]; ++p) mark[lists.col[p]] = 1;
    offset_t count = 0;
    for (offset_t p = all.begin[v]; p < all.begin[v + 1]; ++p) {
        const index_t u = all.col[p];
        const offset_t first = lists.begin[u], end = lists.begin[u + 1];
        if (end - first > length || (end - first == length && u >= v)) continue;
        for (offset_t r = first; r < end; ++r) count += mark[lists.col[r]];
    }
    for (offset_t p = lists.begin[v]; p < lists.begin[v + 1]; ++p) mark[lists.col[p]] = 0;
    return count;
}

}  // namespace

offset_t count_triangles_on(const CpuQueue& q, const CsrView<double>& a)
{
    const Edges edges{a.row_begin, a.col};
    require_undirected(q, edges, a.rows);
    Buffer<offset_t> begin(q, offset_t{a.rows} + 1);
    vector::pass(q, a.rows, CountAscending{edges, begin.data()}, {});
    prim::exclusive_scan(q, begin.data(), begin.data(), a.rows);
    Buffer<index_t> col(q, begin.data()[a.rows]);
    vector::pass(q, a.rows, FillAscending{edges, begin.data(), col.data()}, {});
    Buffer<std::uint8_t> mark(q, offset_t{a.rows} * q.threads);
    fill_zero(q, mark.data(), mark.size());
    std::vector<offset_t> count(static_cast<std::size_t>(q.threads), 0);
    for_each_row_by_turns(q, a.rows, [&](int t, index_t v) {
        count[static_cast<std::size_t>(t)] +=
            count_at(edges, {begin.data(), col.data()}, v, mark.data() + offset_t{t} * a.rows);
    });
    return std::accumulate(count.begin(), count.end(), offset_t{0});
}

}  // namespace tulle::inline TULLE_ABI::graph
