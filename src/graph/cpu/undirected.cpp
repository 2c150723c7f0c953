// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Whether a pattern is symmetric, in one walk over all columns at once.
#include <algorithm>

#include "graph/cpu/rows.hpp"
#include "graph/directed.hpp"

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

}  // namespace

void require_undirected(const CpuQueue& q, const Edges& edges, index_t rows)
{
    if (is_symmetric(q, edges, rows)) return;
    for (index_t i = 0; i < rows; ++i)
        for (offset_t p = edges.begin[i]; p < edges.begin[i + 1]; ++p)
            if (!edges.has(edges.col[p], i)) refuse_directed(i, edges.col[p]);
}

}  // namespace tulle::inline TULLE_ABI::graph
