// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// nsparse, step 6: columns and values. The hash table of step 3 with a sum beside every key; then the table is made
// compact, every entry counts the smaller ones and so knows its place (count sort). Sums are added by atomics, in no
// fixed order.
#include "base/constant.hpp"
#include "device/cuda/forked_streams.hpp"
#include "spgemm/adaptive/cuda/totals.hpp"
#include "spgemm/nsparse/cuda/nsparse.cuh"
#include "spgemm/nsparse/cuda/nsparse.hpp"

namespace tulle::inline TULLE_ABI::spgemm::nsparse {
namespace {

constexpr int global_threads = 512;

// How many threads of the team before this one hold something, and in `total` how many there are.
template <int Team>
__device__ int place_in_team(bool holds, int* warp_total, int& total)
{
    const int lane = team_rank<Team>() % 32, warp = team_rank<Team>() / 32;
    const unsigned mask = __ballot_sync(all_lanes, holds);
    int before = __popc(mask & ((1u << lane) - 1));
    total = __popc(mask);
    if constexpr (Team > 32) {
        if (lane == 0) warp_total[warp] = total;
        __syncthreads();
        total = 0;
        for (int w = 0; w < Team / 32; ++w) {
            if (w < warp) before += warp_total[w];
            total += warp_total[w];
        }
    }
    return before;
}

// Moves the entries to the front of the table, Team slots at a time: what is written has been read.
template <int Team, class V>
__device__ void make_compact(index_t* key, V* sum, offset_t entries, int* warp_total)
{
    offset_t to = 0;
    for (offset_t base = 0; base < entries; base += Team) {
        const offset_t k = base + team_rank<Team>();
        const index_t mine = k < entries ? key[k] : vacant;
        const V value = k < entries ? sum[k] : V(0);
        int total = 0;
        const int before = place_in_team<Team>(mine != vacant, warp_total, total);
        team_sync<Team>();
        if (mine != vacant) {
            key[to + before] = mine;
            sum[to + before] = value;
        }
        to += total;
        team_sync<Team>();
    }
}

template <int Team, class V>
__device__ void write_counted(const index_t* key, const V* sum, offset_t nonzeros, index_t* col, V* value)
{
    for (offset_t k = team_rank<Team>(); k < nonzeros; k += Team) {
        offset_t rank = 0;
        for (offset_t other = 0; other < nonzeros; ++other) rank += key[other] < key[k] ? 1 : 0;
        col[rank] = key[k];
        value[rank] = sum[k];
    }
}

// The row of C through a table that is vacant.
template <int Team, bool Global, class V>
__device__ void fill_row(const Keys<Global>& table, V* sum, const CsrView<V>& a, const CsrView<V>& b, index_t row,
                         const RowRange<V>& c, int* warp_total)
{
    walk_products<Team>(a, b, row, [&](offset_t k, offset_t l) {
        atomicAdd(sum + table.insert(b.col[l]).slot, a.value[k] * b.value[l]);
    });
    team_sync<Team>();
    make_compact<Team>(table.key, sum, table.entries, warp_total);
    const offset_t to = c.row_begin[row] - c.base;
    write_counted<Team>(table.key, sum, c.row_begin[row + 1] - c.row_begin[row], c.col + to, c.value + to);
}

// A team per row.
//   grid: ceil(rows / teams in a block)
//   shared memory: keys and sums for every team
//   c: every entry of the group's rows, once
template <int Team, int Threads, int Table, class V>
__global__ void __launch_bounds__(Threads)
    fill_kernel(CsrView<V> a, CsrView<V> b, const index_t* list, offset_t rows, RowRange<V> c)
{
    TULLE_DYNAMIC_SHARED(V, sums);  // sums, keys, and a word for each of 32 warps
    const offset_t number = team_number<Team>();
    if (Team == 32 && number >= rows) return;
    const int team = static_cast<int>(threadIdx.x) / Team;
    V* sum = sums + team * Table;
    const Keys<false> table{reinterpret_cast<index_t*>(sums + Threads / Team * Table) + team * Table, Table};
    int* warp_total = reinterpret_cast<index_t*>(sums + Threads / Team * Table) + Threads / Team * Table;
    team_fill<Team>(table.key, Table, vacant);
    team_fill<Team>(sum, Table, V(0));
    team_sync<Team>();
    fill_row<Team>(table, sum, a, b, list[number], c, warp_total);
}

// A block per row, one row after the other, with a table of its own in global memory.
//   grid: rows at once      c: every entry of the group's rows, once
template <class V>
__global__ void __launch_bounds__(global_threads)
    fill_global_kernel(CsrView<V> a, CsrView<V> b, const index_t* list, offset_t rows, index_t* keys, V* sums,
                       offset_t entries, RowRange<V> c)
{
    TULLE_SHARED(int, warp_total, 32);
    const Keys<true> table{keys + static_cast<offset_t>(blockIdx.x) * entries, static_cast<unsigned>(entries)};
    V* sum = sums + static_cast<offset_t>(blockIdx.x) * entries;
    for (offset_t r = blockIdx.x; r < rows; r += gridDim.x) {
        for (offset_t k = threadIdx.x; k < entries; k += global_threads) {
            table.key[k] = vacant;
            sum[k] = 0;
        }
        __syncthreads();
        fill_row<global_threads>(table, sum, a, b, list[r], c, warp_total);
        __syncthreads();
    }
}

struct GlobalTables {
    offset_t entries, rows_at_once;
};

GlobalTables global_tables(const Workspace& work, offset_t rows, std::size_t value_bytes)
{
    const offset_t entries = power_of_two_from(work.longest_nonzeros);
    return {entries, std::min(rows, rows_at_once(entries, static_cast<offset_t>(sizeof(index_t) + value_bytes)))};
}

}  // namespace

template <class V>
void fill(const CudaQueue& q, const CsrView<V>& a, const CsrView<V>& b, bool side_by_side, Workspace& work,
          const RowRange<V>& c)
{
    const RowGroup& last = work.numeric.back();
    const GlobalTables tables = global_tables(work, last.rows, sizeof(V));
    Buffer<index_t> keys(q, last.rows == 0 ? 0 : tables.rows_at_once * tables.entries);
    Buffer<V> sums(q, last.rows == 0 ? 0 : tables.rows_at_once * tables.entries);
    cuda::ForkedStreams side(q, branches_for(work.numeric, side_by_side));
    for_each_index<groups - 1>([&](auto k) {
        constexpr Group g = filling[k()];
        constexpr int team = g.warp_per_row ? 32 : g.threads;
        constexpr std::size_t bytes = g.threads / team * g.table * (sizeof(V) + sizeof(index_t)) + 32 * sizeof(int);
        const RowGroup& rows = work.numeric[k()];
        launch(side.next(), {ceil_div(rows.rows, offset_t{g.threads / team}), g.threads, bytes},
               fill_kernel<team, g.threads, g.table, V>, a, b, work.list.data() + rows.begin, rows.rows, c);
    });
    if (last.rows == 0) return;
    launch(side.next(), {tables.rows_at_once, global_threads}, fill_global_kernel<V>, a, b,
           work.list.data() + last.begin, last.rows, keys.data(), sums.data(), tables.entries, c);
}

std::size_t fill_bytes(const Workspace& work, offset_t rows, index_t cols, std::size_t value_bytes)
{
    const offset_t most = std::min(work.longest, offset_t{cols});
    if (rows == 0 || most <= filling[groups - 2].up_to) return 0;
    const offset_t entries = power_of_two_from(most),
                   at_once = rows_at_once(entries, static_cast<offset_t>(sizeof(index_t) + value_bytes));
    return static_cast<std::size_t>(at_once * entries) * (sizeof(index_t) + value_bytes);
}

template void fill(const CudaQueue&, const CsrView<float>&, const CsrView<float>&, bool, Workspace&,
                   const RowRange<float>&);
template void fill(const CudaQueue&, const CsrView<double>&, const CsrView<double>&, bool, Workspace&,
                   const RowRange<double>&);

}  // namespace tulle::inline TULLE_ABI::spgemm::nsparse
