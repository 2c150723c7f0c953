// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// nsparse, steps 1 to 3: products of every row, groups by products, nonzeros of every row of C.
#include "base/constant.hpp"
#include "device/cuda/forked_streams.hpp"
#include "spgemm/adaptive/cuda/pattern.hpp"
#include "spgemm/adaptive/cuda/totals.hpp"
#include "spgemm/nsparse/cuda/nsparse.cuh"
#include "spgemm/nsparse/cuda/nsparse.hpp"
#include "spgemm/nsparse/cuda/place_rows.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::spgemm::nsparse {
namespace {

// One thread per row (the paper's algorithm 1).
__global__ void __launch_bounds__(256) count_products_kernel(Pattern a, const offset_t* b_begin, offset_t* products)
{
    const offset_t row = global_thread();
    if (row >= a.rows) return;
    offset_t sum = 0;
    for (offset_t k = a.row_begin[row]; k < a.row_begin[row + 1]; ++k) sum += b_begin[a.col[k] + 1] - b_begin[a.col[k]];
    products[row] = sum;
}

// A team per row and a table of Table entries. Rows that do not fit are recorded; only the last group can have them.
//   grid: ceil(rows / teams in a block)
//   shared memory: Table words for every team
//   count: every row of the group, once
template <int Team, int Threads, int Table>
__global__ void __launch_bounds__(Threads) count_kernel(Pattern a, Pattern b, const index_t* list, offset_t rows,
                                                        offset_t* count, index_t* failed, unsigned* failures)
{
    TULLE_SHARED(index_t, keys, Table * (Threads / Team));
    TULLE_SHARED(int, cells, 2);
    const offset_t number = team_number<Team>();
    if (Team == 32 && number >= rows) return;
    const index_t row = list[number];
    const Keys<false> table{keys + threadIdx.x / Team * Table, Table};
    team_fill<Team>(table.key, Table, vacant);
    if (Team > 32 && threadIdx.x == 0) cells[1] = 0;
    team_sync<Team>();
    int nonzeros = 0;
    walk_products<Team>(a, b, row, [&](offset_t, offset_t l) {
        if (Team > 32 && peek(cells + 1) != 0) return;  // somebody found no room
        const Found found = table.insert(b.col[l]);
        nonzeros += found.is_new ? 1 : 0;
        if (Team > 32 && found.slot < 0) atomicOr(cells + 1, 1);
    });
    nonzeros = team_sum<Team>(nonzeros, cells);
    if (team_rank<Team>() != 0) return;
    if (Team > 32 && cells[1] != 0) failed[atomicAdd(failures, 1u)] = row;
    else count[row] = nonzeros;
}

// Rows that did not fit: a block per row, one row after the other, with a table of its own in global memory.
//   grid: rows at once      shared memory: a word      count: every row of the list, once
__global__ void __launch_bounds__(512) count_global_kernel(Pattern a, Pattern b, const index_t* list, offset_t rows,
                                                           index_t* keys, offset_t entries, offset_t* count)
{
    TULLE_SHARED(int, cell, 1);
    index_t* key = keys + static_cast<offset_t>(blockIdx.x) * entries;
    for (offset_t r = blockIdx.x; r < rows; r += gridDim.x) {
        for (offset_t k = threadIdx.x; k < entries; k += 512) key[k] = vacant;
        __syncthreads();
        const Keys<true> table{key, static_cast<unsigned>(entries)};
        int nonzeros = 0;
        walk_products<512>(a, b, list[r],
                           [&](offset_t, offset_t l) { nonzeros += table.insert(b.col[l]).is_new ? 1 : 0; });
        nonzeros = team_sum<512>(nonzeros, cell);
        if (threadIdx.x == 0) count[list[r]] = nonzeros;
        __syncthreads();
    }
}

// Each group beside the others.
void count_groups(const CudaQueue& q, const Pattern& pa, const Pattern& pb, bool side_by_side, const Workspace& work,
                  index_t* failed, unsigned* failures, offset_t* count)
{
    cuda::ForkedStreams side(q, branches_for(work.symbolic, side_by_side));
    for_each_index<groups>([&](auto k) {
        constexpr Group g = counting[k()];
        constexpr int team = g.warp_per_row ? 32 : g.threads;
        const RowGroup& rows = work.symbolic[k()];
        launch(side.next(), {ceil_div(rows.rows, offset_t{g.threads / team}), g.threads},
               count_kernel<team, g.threads, g.table>, pa, pb, work.list.data() + rows.begin, rows.rows, count, failed,
               failures);
    });
}

// The rows of the last group that the tables in shared memory could not hold.
void count_failed(const CudaQueue& q, const Pattern& a, const Pattern& b, const Workspace& work, const index_t* failed,
                  const unsigned* failures, offset_t* count)
{
    const offset_t rows = read_value(q, failures);
    if (rows == 0) return;
    const offset_t entries = global_entries(work.longest, b.cols),
                   at_once = std::min(rows, rows_at_once(entries, sizeof(index_t)));
    Buffer<index_t> keys(q, at_once * entries);
    launch(q, {at_once, 512}, count_global_kernel, a, b, failed, rows, keys.data(), entries, count);
}

}  // namespace

template <class V>
void analyse(const CudaQueue& q, const CsrView<V>& a, const CsrView<V>& b, Workspace& work)
{
    work.sizes = Buffer<offset_t>(q, a.rows);
    work.list = Buffer<index_t>(q, a.rows);
    launch(q, one_thread_each(a.rows), count_products_kernel, pattern_of(a), b.row_begin, work.sizes.data());
    const Placed placed = place(q, counting, work.sizes.data(), nullptr, 0, a.rows, work.list.data());
    work.products = placed.sum;
    work.longest = placed.longest;
    work.symbolic = named(placed, counting_names());
}

template <class V>
void count_nonzeros(const CudaQueue& q, const CsrView<V>& a, const CsrView<V>& b, bool side_by_side, Workspace& work,
                    offset_t* count)
{
    fill_zero(q, count, a.rows);
    const Pattern pa = pattern_of(a), pb = pattern_of(b);
    const RowGroup& last = work.symbolic.back();
    Buffer<index_t> failed(q, last.rows);
    Buffer<unsigned> failures(q, 1);
    fill_zero(q, failures.data(), 1);
    count_groups(q, pa, pb, side_by_side, work, failed.data(), failures.data(), count);
    if (last.rows > 0) count_failed(q, pa, pb, work, failed.data(), failures.data(), count);
}

template void analyse(const CudaQueue&, const CsrView<float>&, const CsrView<float>&, Workspace&);
template void analyse(const CudaQueue&, const CsrView<double>&, const CsrView<double>&, Workspace&);
template void count_nonzeros(const CudaQueue&, const CsrView<float>&, const CsrView<float>&, bool, Workspace&,
                             offset_t*);
template void count_nonzeros(const CudaQueue&, const CsrView<double>&, const CsrView<double>&, bool, Workspace&,
                             offset_t*);

}  // namespace tulle::inline TULLE_ABI::spgemm::nsparse
