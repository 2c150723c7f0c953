// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Triangles on a GPU: edges from fewer to more edges, and a thread for each of them that merges the lists of its two
// ends. The sum is exact below 2^53.
#include "graph/directed.hpp"
#include "graph/steps.hpp"
#include "prim/reduce.hpp"
#include "prim/scan.hpp"
#include "vector/cuda/pass.cuh"

namespace tulle::inline TULLE_ABI::graph {
namespace {

void require_undirected(const CudaQueue& q, const CsrView<double>& a)
{
    Buffer<offset_t> first(q, a.rows);
    vector::pass(q, a.rows, FindOneWay{{a.row_begin, a.col}, first.data()}, {});
    const offset_t bad = prim::minimum(q, first.data(), a.rows, no_entry);
    if (bad == no_entry) return;
    std::vector<offset_t> begin(static_cast<std::size_t>(a.rows) + 1);
    download(q, a.row_begin, begin.data(), std::ssize(begin));
    refuse_directed(prim::upper_bound(begin.data(), std::ssize(begin), bad) - 1, read_value(q, a.col + bad));
}

}  // namespace

offset_t count_triangles_on(const CudaQueue& q, const CsrView<double>& a)
{
    require_undirected(q, a);
    const Edges edges{a.row_begin, a.col};
    Buffer<offset_t> begin(q, offset_t{a.rows} + 1);
    vector::pass(q, a.rows, CountAscending{edges, begin.data()}, {});
    prim::exclusive_scan(q, begin.data(), begin.data(), a.rows);
    Buffer<index_t> col(q, read_value(q, begin.data() + a.rows));
    vector::pass(q, a.rows, FillAscending{edges, begin.data(), col.data()}, {});
    Buffer<double> count(q, 1);
    vector::PassBuffer room(q, col.size());
    vector::pass(q, col.size(), CountClosed{count.data(), {begin.data(), col.data()}, a.rows}, room.space());
    return static_cast<offset_t>(read_value(q, count.data()));
}

}  // namespace tulle::inline TULLE_ABI::graph
