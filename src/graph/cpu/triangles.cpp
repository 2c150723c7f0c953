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
