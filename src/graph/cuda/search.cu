// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Searches on a GPU, a round at a time. Levels: while the vertices of the last level have few edges, a thread for each
// of those pushes along its edges, and the smallest parent stays; else vertices that were not reached pull along
// theirs. Distances: rounds of min-plus over the edges to every vertex. Components: the smallest name around, and the
// name of the vertex that one is named by, which halves the way.
#include <limits>

#include "device/cuda/kernel.cuh"
#include "graph/steps.hpp"
#include "tulle/convert.hpp"
#include "vector/cuda/pass.cuh"

namespace tulle::inline TULLE_ABI::graph {
namespace {

constexpr int threads = 256;
// Pulling looks at all edges of vertices that were not reached, until it finds one: worth it for a sixteenth of all
// edges (Beamer, Asanović, Patterson 2012, doi:10.1109/SC.2012.50: 1/14).
constexpr double pull_share = 16;

//   grid: one thread per vertex      shared memory: none      parent: the smallest, by atomics
__global__ void __launch_bounds__(threads)
    push_level_kernel(offset_t n, Edges out, const index_t* level, index_t last, index_t* parent)
{
    const offset_t u = global_thread();
    if (u >= n || level[u] != last) return;
    for (offset_t p = out.begin[u]; p < out.begin[u + 1]; ++p)
        if (level[out.col[p]] < 0) atomicMin(&parent[out.col[p]], static_cast<index_t>(u));
}

template <class T>
Buffer<T> filled(const CudaQueue& q, offset_t n, T value)
{
    const std::vector<T> here(static_cast<std::size_t>(n), value);
    return to_queue(q, here.data(), n);
}

template <class T>
std::vector<T> fetched(const CudaQueue& q, const Buffer<T>& x)
{
    std::vector<T> here(static_cast<std::size_t>(x.size()));
    download(q, x.data(), here.data(), x.size());
    return here;
}

std::vector<index_t> fetched_parents(const CudaQueue& q, const Buffer<index_t>& parent)
{
    std::vector<index_t> here = fetched(q, parent);
    for (index_t& v : here) v = v == no_vertex ? -1 : v;
    return here;
}

template <class V>
Edges edges_of(const CsrView<V>& a)
{
    return {a.row_begin, a.col};
}

}  // namespace

Levels search_levels(const Context& ctx, const CudaQueue& q, const CsrView<double>& a, index_t source)
{
    const offset_t n = a.rows;
    Buffer<index_t> level = filled(q, n, index_t{-1}), parent = filled(q, n, no_vertex);
    const index_t zero = 0;
    upload(q, &zero, level.data() + source, 1);
    vector::PassBuffer room(q, n);
    Buffer<double> state(q, 2);
    Csr<double> back;  // made when it is first needed
    double found[2] = {1, 0};
    for (index_t now = 1; found[0] > 0; ++now) {
        if (found[1] * pull_share <= static_cast<double>(a.nonzeros))
            launch(q, one_thread_each(n, threads), push_level_kernel, n, edges_of(a), level.data(), now - 1,
                   parent.data());
        else {
            if (back.rows == 0) back = transpose(ctx, a);
            vector::pass(q, n, PullLevel{edges_of(back.view()), level.data(), now - 1, parent.data()}, {});
        }
        vector::pass(q, n, SetLevel{a.row_begin, parent.data(), now, level.data(), state.data()}, room.space());
        download(q, state.data(), found, 2);
    }
    return {fetched(q, level), fetched_parents(q, parent)};
}

Paths search_paths(const Context& ctx, const CudaQueue& q, const CsrView<double>& a, index_t source)
{
    const offset_t n = a.rows;
    Buffer<double> distance = filled(q, n, std::numeric_limits<double>::infinity()), next(q, n), changed(q, 1);
    Buffer<index_t> parent = filled(q, n, no_vertex);
    fill_zero(q, distance.data() + source, 1);
    const Csr<double> back = transpose(ctx, a);
    vector::PassBuffer room(q, n);
    do {
        vector::pass(q, n, Relax{changed.data(), back.view(), distance.data(), next.data(), parent.data()},
                     room.space());
        std::swap(distance, next);
    } while (read_value(q, changed.data()) > 0);
    return {fetched(q, distance), fetched_parents(q, parent)};
}

std::vector<index_t> name_components(const Context& ctx, const CudaQueue& q, const CsrView<double>& a)
{
    const offset_t n = a.rows;
    std::vector<index_t> own(static_cast<std::size_t>(n));
    for (std::size_t v = 0; v < own.size(); ++v) own[v] = static_cast<index_t>(v);
    Buffer<index_t> name = to_queue(q, own.data(), n), spread(q, n), next(q, n);
    const Csr<double> back = transpose(ctx, a);
    vector::PassBuffer room(q, n);
    Buffer<double> changed(q, 1);
    do {
        vector::pass(q, n, SpreadName{edges_of(a), edges_of(back.view()), name.data(), spread.data()}, {});
        vector::pass(q, n, ShortenName{changed.data(), spread.data(), name.data(), next.data()}, room.space());
        std::swap(name, next);
    } while (read_value(q, changed.data()) > 0);
    return fetched(q, name);
}

}  // namespace tulle::inline TULLE_ABI::graph
