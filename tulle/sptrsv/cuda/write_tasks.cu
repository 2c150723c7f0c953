// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The part of the analysis that moves every entry, on the GPU: the entries of all tasks are written to the places that a layout gave them. The result is
// that of make_tasks on the host, bit for bit.
//
// A warp writes a task, as many rows at once as there is room for. The place of an entry follows from its rank in its row: early entries first, then those
// kept apart, each by rising level and then by number. The warp keeps the keys of rows in shared memory and counts how many of a row are smaller; very long
// rows stay in the order they are stored in.
#include "tulle/device/copy.hpp"
#include "tulle/sptrsv/cuda/task_entries.cuh"
#include "tulle/sptrsv/steps.hpp"

namespace tulle::sptrsv {
namespace {

constexpr int writers = 4;                                 // warps of a block
constexpr unsigned whole_warp = 0xffffffffu;
constexpr unsigned long long apart_bit = 1ull << 63;       // of a key: not early

struct TriangleView {
    index_t rows;
    bool reversed;
    const offset_t* row_begin;
    const index_t* col;
    const offset_t *source, *diagonal;                     // diagonal null: ones
};

// What the kernel reads of a layout, and where it writes.
struct Writing {
    TriangleView t;
    offset_t tasks;
    int team;
    bool reordered;
    const Task* task;
    const index_t *order, *level, *place, *task_level, *late;
    int late_step;
    const offset_t* dense_first;
    index_t *row, *col, *late_col;
    offset_t *diagonal, *source, *dense_at, *dense_source;

    __device__ const index_t* late_of(offset_t p) const { return late + (late_step > 0 ? p * late_step : task[p].late_first); }
    __device__ index_t unknown(index_t row_of_triangle) const { return reordered ? place[row_of_triangle] : row_of_triangle; }
};

// A task, as a warp sees it.
struct Writer {
    Task task;
    index_t level;
    const index_t* late;                                   // columns of the task
    int lanes_per_row;

    __device__ bool may_keep_late() const { return task.cluster == 0 && lanes_per_row > 1; }      // late entries of rows alone apart, if a row has few
    __device__ int most_kept() const { return lanes / task.width < most_late ? lanes / task.width : most_late; }
};

// The place of a column among the late ones, or -1.
__device__ int find_late(const index_t* late, int count, index_t wanted)
{
    int low = 0, high = count;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (late[middle] < wanted) low = middle + 1;
        else high = middle;
    }
    return low < count && late[low] == wanted ? low : -1;
}

// The column of the cluster's matrices an entry belongs to, or -1: an early one. Of a row alone: 0 for a late entry.
__device__ index_t column_apart(const Writing& w, const Writer& r, index_t col, index_t level)
{
    if (r.task.cluster == 0) return r.may_keep_late() && level == r.level - 1 ? 0 : -1;
    if (level == r.level) return w.place[col] - r.task.first;
    if (level < r.level - late_levels) return -1;
    const int j = find_late(r.late, r.task.late, col);
    return j < 0 ? -1 : r.task.width + j;
}

__device__ void put(const Writing& w, offset_t at, offset_t k)
{
    w.col[at] = w.unknown(w.t.col[k]);
    w.source[at] = w.t.source[k];
}

// Entry k of the triangle, the e-th of the early ones of the task's row i.
__device__ void write_early(const Writing& w, const Writer& r, int i, offset_t e, offset_t k)
{
    put(w, r.task.step * lanes + e / r.lanes_per_row * (lanes * w.team) + e % r.lanes_per_row * r.task.width + i, k);
}

// The e-th of those apart; `dense` is where the row's begin.
__device__ void write_apart(const Writing& w, const Writer& r, int i, offset_t e, offset_t k, index_t column, offset_t dense)
{
    if (r.task.cluster == 0) return put(w, (r.task.step + offset_t{r.task.steps} * w.team) * lanes + e * r.task.width + i, k);
    w.dense_at[dense + e] = r.task.dense + offset_t{column} * r.task.width + i;
    w.dense_source[dense + e] = w.t.source[k];
}

// A row among those written at once.
struct Share {
    int first, count;                                      // of its keys
    int early, apart_before;                               // apart: of the rows before it
};

// A warp's shared memory.
struct Scratch {
    unsigned long long* keys;
    Share* share;
};

// The keys of entries first … end - 1, which begin with a row. Returns how many of this lane's row are apart.
__device__ int write_keys(const Writing& w, const Writer& r, const EntryList& list, int lane, offset_t first, offset_t end, const Scratch& scratch)
{
    int apart = 0;
    for (offset_t chunk = first; chunk < end; chunk += entries_at_once * lanes) {
        offset_t in_row[entries_at_once];
        index_t col[entries_at_once], level[entries_at_once];
#pragma unroll
        for (int n = 0; n < entries_at_once; ++n) {
            const offset_t e = chunk + n * lanes + lane;
            const int row = row_of_entry(list.before, e);
            const offset_t begin = __shfl_sync(whole_warp, list.begin, row);
            in_row[n] = e - __shfl_sync(whole_warp, list.before, row);
            col[n] = e < end ? w.t.col[begin + in_row[n]] : -1;
        }
#pragma unroll
        for (int n = 0; n < entries_at_once; ++n) level[n] = col[n] < 0 ? 0 : w.level[col[n]];
#pragma unroll
        for (int n = 0; n < entries_at_once; ++n) {
            const bool is_apart = col[n] >= 0 && column_apart(w, r, col[n], level[n]) >= 0;
            const unsigned all = __ballot_sync(whole_warp, is_apart);
            apart += __popc(all & list.lanes_from(chunk + n * lanes));
            if (col[n] < 0) continue;
            const auto by_level = (static_cast<unsigned long long>(level[n]) << 32) | static_cast<unsigned long long>(in_row[n]);
            scratch.keys[chunk + n * lanes + lane - first] = (is_apart ? apart_bit : 0) | by_level;
        }
    }
    return apart;
}

// How many keys of a row come before this one. keeps: whether those apart come last.
__device__ int rank_of(const Scratch& scratch, const Share& share, unsigned long long key, unsigned long long mask)
{
    int rank = 0;
    for (int m = share.first; m < share.first + share.count; ++m) rank += (scratch.keys[m] & mask) < (key & mask) ? 1 : 0;
    return rank;
}

// Rows i … i + n - 1, by rank among the keys of each. Returns how many are apart.
__device__ int write_sorted(const Writing& w, const Writer& r, const EntryList& list, int lane, int i, int n, offset_t dense, const Scratch& scratch)
{
    const offset_t first = __shfl_sync(whole_warp, list.before, i), end = __shfl_sync(whole_warp, list.before + list.count, i + n - 1);
    int apart = write_keys(w, r, list, lane, first, end, scratch);
    if (r.task.cluster == 0 && apart > r.most_kept()) apart = 0;
    const bool mine = lane >= i && lane < i + n;
    const int running = warp_running_sum(mine ? apart : 0), all = __shfl_sync(whole_warp, running, lanes - 1);
    const int count = static_cast<int>(list.count);
    if (mine) scratch.share[lane] = {static_cast<int>(list.before - first), count, count - apart, running - apart};
    __syncwarp(whole_warp);
    for (offset_t chunk = first; chunk < end; chunk += lanes) {
        const offset_t e = chunk + lane;
        const int row = row_of_entry(list.before, e);
        const offset_t entry = __shfl_sync(whole_warp, list.begin - list.before, row) + e;
        if (e >= end) continue;
        const Share share = scratch.share[row];
        const unsigned long long key = scratch.keys[e - first], mask = share.early == share.count ? ~apart_bit : ~0ull;
        const int rank = rank_of(scratch, share, key, mask);
        if (rank < share.early) {
            write_early(w, r, row, rank, entry);
        } else {
            const auto level = static_cast<index_t>((key & ~apart_bit) >> 32);
            write_apart(w, r, row, rank - share.early, entry, column_apart(w, r, w.t.col[entry], level), dense + share.apart_before);
        }
    }
    __syncwarp(whole_warp);                                // the next rows take the keys' place
    return all;
}

// Whether the late entries of a row alone are kept apart: all lanes get the same answer.
__device__ bool keeps_late(const Writing& w, const Writer& r, int lane, offset_t begin, offset_t count)
{
    if (!r.may_keep_late()) return false;
    int late = 0;
    for (offset_t k = 0; k < count; k += lanes) {
        const bool is_late = k + lane < count && w.level[w.t.col[begin + k + lane]] == r.level - 1;
        late += __popc(__ballot_sync(whole_warp, is_late));
    }
    return late <= r.most_kept();
}

// Row i in the order it is stored in.
__device__ int write_as_stored(const Writing& w, const Writer& r, const EntryList& list, int lane, int i, offset_t dense)
{
    const offset_t begin = __shfl_sync(whole_warp, list.begin, i), count = __shfl_sync(whole_warp, list.count, i);
    const bool keeps_apart = r.task.cluster != 0 || keeps_late(w, r, lane, begin, count);
    offset_t early = 0;
    int apart = 0;
    const unsigned before = (1u << lane) - 1;
    for (offset_t k = 0; k < count; k += lanes) {
        const bool there = k + lane < count;
        const offset_t entry = begin + k + lane;
        const index_t col = there ? w.t.col[entry] : 0;
        const index_t column = there && keeps_apart ? column_apart(w, r, col, w.level[col]) : -1;
        const unsigned all = __ballot_sync(whole_warp, there), aparts = __ballot_sync(whole_warp, column >= 0), earlies = all & ~aparts;
        if (column >= 0) write_apart(w, r, i, apart + __popc(aparts & before), entry, column, dense);
        else if (there) write_early(w, r, i, early + __popc(earlies & before), entry);
        apart += __popc(aparts);
        early += __popc(earlies);
    }
    return apart;
}

// A warp for each task.
//   grid: one warp per task      shared memory: 256 keys a warp, and what is known of 32 rows      col, source: -1 before
__global__ void __launch_bounds__(writers* lanes) write_tasks_kernel(Writing w)
{
    TULLE_SHARED(unsigned long long, keys_of_warp, writers * long_row);
    TULLE_SHARED(Share, share_of_warp, writers * lanes);
    const int lane = static_cast<int>(threadIdx.x) % lanes, warp = static_cast<int>(threadIdx.x) / lanes;
    const offset_t p = global_thread() / lanes;
    if (p >= w.tasks) return;                              // the whole warp
    const Scratch scratch{keys_of_warp + warp * long_row, share_of_warp + warp * lanes};
    const Task task = w.task[p];
    const Writer r{task, w.task_level[p], w.late_of(p), lanes * w.team / task.width};
    if (task.cluster != 0)
        for (int j = lane; j < task.late; j += lanes) w.late_col[task.late_first + j] = w.unknown(r.late[j]);
    const index_t row = lane < task.rows ? w.order[task.first + lane] : -1;
    if (row >= 0) {
        w.row[task.first + lane] = w.t.reversed ? w.t.rows - 1 - row : row;
        if (w.t.diagonal) w.diagonal[task.first + lane] = w.t.diagonal[row];
    }
    const EntryList list = list_entries(w.t.row_begin, row);
    offset_t dense = w.dense_first[p];
    for (int i = 0; i < task.rows;) {
        const offset_t first = __shfl_sync(whole_warp, list.before, i);
        const bool fits = lane >= i && lane < task.rows && list.before + list.count - first <= long_row;
        const int n = __popc(__ballot_sync(whole_warp, fits));
        dense += n == 0 ? write_as_stored(w, r, list, lane, i, dense) : write_sorted(w, r, list, lane, i, n, dense, scratch);
        i += n == 0 ? 1 : n;
    }
}

// The place and the level of each row of the triangle, from the tasks.
//   grid: one warp per task      place, level: every row written once
__global__ void __launch_bounds__(writers* lanes) place_rows_kernel(const Task* tasks, offset_t n, const index_t* order, const index_t* task_level, index_t* place, index_t* level)
{
    const offset_t p = global_thread() / lanes;
    const int lane = static_cast<int>(threadIdx.x) % lanes;
    if (p >= n || lane >= tasks[p].rows) return;
    const index_t at = tasks[p].first + lane, row = order[at];
    place[row] = at;
    level[row] = task_level[p];
}

TriangleView view_of(const Triangle& t)
{
    return {t.rows, t.reversed, t.row_begin.data(), t.col.data(), t.source.data(), t.diagonal.empty() ? nullptr : t.diagonal.data()};
}

}  // namespace

Tasks write_tasks(const CudaQueue& q, TaskLayout layout, const Triangle& there)
{
    const auto take_up = [&](auto& buffer) {
        if (!buffer.empty() && buffer.place().space != Space::device) buffer = to_queue(q, buffer.data(), buffer.size());
    };
    take_up(layout.tasks.task);
    take_up(layout.tasks.dense_first);
    take_up(layout.order);
    take_up(layout.task_level);
    take_up(layout.late);
    Tasks tasks = std::move(layout.tasks);
    make_room(q, layout.sizes, !there.diagonal.empty(), tasks);
    fill_bytes(q, tasks.col.data(), 0xff, tasks.col.bytes());
    fill_bytes(q, tasks.source.data(), 0xff, tasks.source.bytes());
    const offset_t n = tasks.task.size();
    Buffer<index_t> of_rows(q, 2 * offset_t{there.rows});
    index_t *place = of_rows.data(), *level = place + there.rows;
    launch(q, one_thread_each(n * lanes, writers * lanes), place_rows_kernel, tasks.task.data(), n, layout.order.data(), layout.task_level.data(), place, level);
    const index_t* late = layout.late.empty() ? layout.order.data() : layout.late.data();      // rows alone have none, and read none
    launch(q, one_thread_each(n * lanes, writers * lanes), write_tasks_kernel,
           Writing{view_of(there), n, tasks.team, tasks.reordered, tasks.task.data(), layout.order.data(), level, place, layout.task_level.data(), late, layout.late_step, tasks.dense_first.data(),
                   tasks.row.data(), tasks.col.data(), tasks.late_col.data(), tasks.diagonal.data(), tasks.source.data(), tasks.dense_at.data(), tasks.dense_source.data()});
    return tasks;
}

}  // namespace tulle::sptrsv
