// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The paper's template of code variants (section 4.2), with its parameters as arguments. A warp is cut into subwarps,
// each works on a node of consecutive rows; nodes of a warp do not need each other. Rows of a node are solved one after
// the other by all lanes of the subwarp, or, where they are short, each by a lane of its own. A flag beside each
// unknown says that it is there; the reciprocal of the diagonal was formed when the values were filled in. Rows of one
// level, in a launch of their own, neither wait nor write flags nobody reads.
//
// By ticket, groups are handed out in the order of levels, and everything moves on however few blocks run. Lists made
// beforehand ask for all blocks to run at once, one on a multiprocessor; if they do not, waits run out of spin_limit
// and say so.
#include "sptrsv/solve/cuda/waiting.cuh"

#include <algorithm>

#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {
namespace {

constexpr int buffered_entries = 256;  // of a warp's groups, read together into shared memory
constexpr int most_block_warps = 16;

template <class V>
struct GroupsView {
    const index_t *node_begin, *node, *list, *list_begin;
    int subwarps, share_above;
    bool tells;  // somebody will wait for this launch's rows
    index_t first, last;
    const index_t *row, *col;
    const offset_t* begin;
    const V *value, *reciprocal;
    V* unknown;
    int *flag, *ticket, *fault;
    unsigned spin_limit;
};

// A subwarp's node, and where its entries are: in global memory, or copied to shared memory by the whole warp.
template <class V>
struct Node {
    index_t first, last;
    offset_t shift;  // subtracted from positions
    const index_t* col;
    const V* value;
};

template <bool Wait, class V>
__device__ bool is_there(const GroupsView<V>& g, index_t unknown)
{
    return !Wait || load_acquire(g.flag + unknown) != 0;
}

template <class V>
__device__ void finish(const GroupsView<V>& g, const RhsView<V>& sides, index_t i, V x)
{
    g.unknown[i] = x;
    if (g.tells) store_release(g.flag + i, 1);
    sides.x[g.row[i] * sides.x_row] = x;
}

template <class V>
__device__ V right_side(const GroupsView<V>& g, const RhsView<V>& sides, index_t i)
{
    return sides.alpha * sides.b[g.row[i] * sides.b_row] * g.reciprocal[i];
}

// Sum over the lanes of a subwarp, which alone is named.
template <class V>
__device__ V sum_of_subwarp(V sum, int size, unsigned mask)
{
    for (int distance = size / 2; distance > 0; distance /= 2) sum += __shfl_xor_sync(mask, sum, distance);
    return sum;
}

// One row after the other, all lanes of the subwarp on each.
template <bool Wait, class V>
__device__ void solve_together(const GroupsView<V>& g, const RhsView<V>& sides, const Node<V>& node, int lane, int size,
                               unsigned mask)
{
    for (index_t i = node.first; i < node.last; ++i) {
        V sum = lane == 0 ? right_side(g, sides, i) : V(0);
        for (offset_t k = g.begin[i] + lane; k < g.begin[i + 1]; k += size) {
            const index_t col = node.col[k - node.shift];
            unsigned polls = 0;
            while (!is_there<Wait>(g, col) && ++polls <= g.spin_limit) {}
            if (polls > g.spin_limit) atomicCAS(g.fault, 0, g.row[i] + 1);
            sum -= node.value[k - node.shift] * (polls > g.spin_limit ? number<V>(ordinary_nan<V>) : g.unknown[col]);
        }
        sum = sum_of_subwarp(sum, size, mask);
        if (lane == 0) finish(g, sides, i, sum);
        __syncwarp(mask);  // before the others wait for it
    }
}

// A row for each lane. Rows of a node may need each other, so no lane may wait while others cannot go on: each looks
// once and goes round again.
template <bool Wait, class V>
__device__ void solve_apart(const GroupsView<V>& g, const RhsView<V>& sides, const Node<V>& node, int lane, int size)
{
    for (index_t i = node.first + lane; i < node.last; i += size) {
        V sum = right_side(g, sides, i);
        offset_t k = g.begin[i];
        unsigned polls = 0;
        for (bool done = false; !done;) {
            if (k == g.begin[i + 1]) {
                finish(g, sides, i, sum);
                done = true;
            } else if (const index_t col = node.col[k - node.shift]; is_there<Wait>(g, col)) {
                sum -= node.value[k - node.shift] * g.unknown[col];
                ++k;
                polls = 0;
            } else if (++polls > g.spin_limit) {
                atomicCAS(g.fault, 0, g.row[i] + 1);
                sum = number<V>(ordinary_nan<V>);
                k = g.begin[i + 1];
            }
        }
    }
}

// Entries of the warp's nodes to shared memory, if they fit; otherwise they are read where they are.
template <class V>
__device__ Node<V> read_together(const GroupsView<V>& g, const index_t* nodes, int subwarp, int lane_of_warp,
                                 index_t* col, V* value)
{
    offset_t entries = 0;
    for (int s = 0; s < g.subwarps; ++s)
        if (nodes[s] >= 0) entries += g.begin[g.node_begin[nodes[s] + 1]] - g.begin[g.node_begin[nodes[s]]];
    const bool fits = entries <= buffered_entries && entries >= lanes;
    Node<V> mine{0, 0, 0, g.col, g.value};
    offset_t at = 0;
    for (int s = 0; s < g.subwarps; ++s) {
        if (nodes[s] < 0) continue;
        const index_t first = g.node_begin[nodes[s]], last = g.node_begin[nodes[s] + 1];
        const offset_t begin = g.begin[first], n = g.begin[last] - begin;
        if (s == subwarp) mine = {first, last, fits ? begin - at : 0, fits ? col : g.col, fits ? value : g.value};
        for (offset_t k = lane_of_warp; fits && k < n; k += lanes) {
            col[at + k] = g.col[begin + k];
            value[at + k] = g.value[begin + k];
        }
        at += n;
    }
    __syncwarp(whole_warp);
    return mine;
}

template <bool Wait, class V>
__device__ void solve_group(const GroupsView<V>& g, const RhsView<V>& sides, index_t group, int lane_of_warp,
                            index_t* col, V* value)
{
    const int size = lanes / g.subwarps, subwarp = lane_of_warp / size, lane = lane_of_warp % size;
    const unsigned mask = (size == lanes ? whole_warp : (1u << size) - 1) << (subwarp * size);
    const Node<V> node =
        read_together(g, g.node + static_cast<offset_t>(group) * g.subwarps, subwarp, lane_of_warp, col, value);
    const index_t rows = node.last - node.first;
    const offset_t entries = rows > 0 ? g.begin[node.last] - g.begin[node.first] + rows : 0;
    const bool together = g.share_above != unlimited && entries > offset_t{g.share_above} * rows;
    if (together) solve_together<Wait>(g, sides, node, lane, size, mask);
    else solve_apart<Wait>(g, sides, node, lane, size);
    __syncwarp(whole_warp);
}

//   grid: blocks of n_w warps
//   shared memory: 256 entries a warp
//   x: every row of the launch's groups written once
template <bool Wait, class V>
__global__ void __launch_bounds__(most_block_warps* lanes) solve_groups_kernel(GroupsView<V> g, RhsView<V> sides)
{
    TULLE_SHARED(index_t, col_of_warp, most_block_warps * buffered_entries);
    TULLE_DYNAMIC_SHARED(V, value_of_warp);
    const int lane = static_cast<int>(threadIdx.x) % lanes, warp = static_cast<int>(threadIdx.x) / lanes;
    index_t* col = col_of_warp + warp * buffered_entries;
    V* value = value_of_warp + warp * buffered_entries;
    if (g.list == nullptr) {
        for (;;) {
            const int taken = lane == 0 ? atomicAdd(g.ticket, 1) : 0;
            const index_t group = g.first + __shfl_sync(whole_warp, taken, 0);
            if (group >= g.last) break;
            solve_group<Wait>(g, sides, group, lane, col, value);
        }
        return;
    }
    const offset_t list = global_thread() / lanes;
    for (index_t k = g.list_begin[list]; k < g.list_begin[list + 1]; ++k)
        solve_group<Wait>(g, sides, g.list[k], lane, col, value);
}

template <class V>
void launch_segment(const CudaQueue& q, const Groups& groups, const Segment& segment, const GroupsView<V>& g,
                    const RhsView<V>& sides)
{
    const LaunchShape shape{groups.blocks, groups.warps_per_block * lanes,
                            static_cast<std::size_t>(groups.warps_per_block) * buffered_entries * sizeof(V)};
    if (segment.waits) launch(q, shape, solve_groups_kernel<true, V>, g, sides);
    else launch(q, shape, solve_groups_kernel<false, V>, g, sides);
}

}  // namespace

template <class V>
Flags<V> make_flags(const CudaQueue& q, index_t rows, const Groups& groups)
{
    Flags<V> flags{.unknown = Buffer<V>(q, rows),
                   .flag = Buffer<int>(q, offset_t{rows} + std::ssize(groups.segments) + 1)};
    fill_zero(q, flags.flag.data(), flags.flag.size());
    return flags;
}

template <class V>
void solve_groups(const CudaQueue& q, const Rows& rows, const RowValues<V>& values, const Groups& groups,
                  const Flags<V>& flags, const RhsView<V>& sides)
{
    int* flag = const_cast<int*>(flags.flag.data());
    int* ticket = flag + rows.rows;
    int* fault = ticket + groups.segments.size();
    for (index_t j = 0; j < sides.columns; ++j) {
        RhsView<V> one = sides;
        one.b += j * sides.b_col;
        one.x += j * sides.x_col;
        fill_zero(q, flag, flags.flag.size() - 1);
        for (std::size_t s = 0; s < groups.segments.size(); ++s) {
            const Segment& segment = groups.segments[s];
            const GroupsView<V> g{groups.node_begin.data(),
                                  groups.node.data(),
                                  groups.by_ticket ? nullptr : groups.list.data(),
                                  groups.by_ticket ? nullptr : groups.list_begin.data() + segment.list,
                                  groups.subwarps,
                                  groups.share_above,
                                  segment.tells,
                                  segment.first,
                                  segment.last,
                                  rows.row.data(),
                                  rows.col.data(),
                                  rows.begin.data(),
                                  values.value.data(),
                                  values.reciprocal.data(),
                                  const_cast<V*>(flags.unknown.data()),
                                  flag,
                                  ticket + s,
                                  fault,
                                  flags.spin_limit};
            launch_segment(q, groups, segment, g, one);
        }
    }
}

template Flags<float> make_flags(const CudaQueue&, index_t, const Groups&);
template Flags<double> make_flags(const CudaQueue&, index_t, const Groups&);
template void solve_groups(const CudaQueue&, const Rows&, const RowValues<float>&, const Groups&, const Flags<float>&,
                           const RhsView<float>&);
template void solve_groups(const CudaQueue&, const Rows&, const RowValues<double>&, const Groups&, const Flags<double>&,
                           const RhsView<double>&);

}  // namespace tulle::inline TULLE_ABI::sptrsv
