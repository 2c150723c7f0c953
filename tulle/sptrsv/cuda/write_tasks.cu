// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The part of the analysis that moves every entry, on the GPU: the entries of all tasks are written to the places that a layout gave them. The result is
// that of make_tasks on the host, bit for bit.
//
// A warp writes a task, row after row. The place of an entry follows from its rank: early entries first, then those kept apart, each by rising level and
// then by number. The warp keeps the keys of a row in shared memory and counts how many are smaller; very long rows stay in the order they are stored in.
#include "tulle/device/copy.hpp"
#include "tulle/device/cuda/kernel.cuh"
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

// One row of a task, as a warp sees it.
struct Row {
    Task task;
    index_t level;                                         // of the task
    const index_t* late;                                   // columns of the task
    int i;                                                 // among the task's rows
    int lanes_per_row;
    offset_t begin, count;
    bool keeps_late;                                       // alone, with late entries apart
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
__device__ index_t column_apart(const Writing& w, const Row& r, index_t col, index_t level)
{
    if (r.task.cluster == 0) return r.keeps_late && level == r.level - 1 ? 0 : -1;
    if (level == r.level) return w.place[col] - r.task.first;
    if (level < r.level - late_levels) return -1;
    const int j = find_late(r.late, r.task.late, col);
    return j < 0 ? -1 : r.task.width + j;
}

// Whether the late entries of a row alone are kept apart: all lanes get the same answer.
__device__ bool keeps_late(const Writing& w, const Row& r, int lane)
{
    if (r.task.cluster != 0 || r.lanes_per_row == 1) return false;
    int late = 0;
    for (offset_t k = 0; k < r.count; k += lanes) {
        const bool is_late = k + lane < r.count && w.level[w.t.col[r.begin + k + lane]] == r.level - 1;
        late += __popc(__ballot_sync(whole_warp, is_late));
    }
    const int room = lanes / r.task.width;
    return late <= (room < most_late ? room : most_late);
}

__device__ void put(const Writing& w, offset_t at, offset_t k)
{
    w.col[at] = w.unknown(w.t.col[k]);
    w.source[at] = w.t.source[k];
}

// Entry k of the triangle, the e-th of the row's early ones.
__device__ void write_early(const Writing& w, const Row& r, offset_t e, offset_t k)
{
    put(w, r.task.step * lanes + e / r.lanes_per_row * (lanes * w.team) + e % r.lanes_per_row * r.task.width + r.i, k);
}

// The e-th of those apart; `dense` is where the row's begin.
__device__ void write_apart(const Writing& w, const Row& r, offset_t e, offset_t k, index_t column, offset_t dense)
{
    if (r.task.cluster == 0) return put(w, (r.task.step + offset_t{r.task.steps} * w.team) * lanes + e * r.task.width + r.i, k);
    w.dense_at[dense + e] = r.task.dense + offset_t{column} * r.task.width + r.i;
    w.dense_source[dense + e] = w.t.source[k];
}

// By rank among the keys of the row. Returns how many are apart.
__device__ offset_t write_sorted(const Writing& w, const Row& r, int lane, offset_t dense, unsigned long long* keys)
{
    int apart = 0;
    for (offset_t k = 0; k < r.count; k += lanes) {
        bool is_apart = false;
        if (k + lane < r.count) {
            const index_t col = w.t.col[r.begin + k + lane], level = w.level[col];
            is_apart = column_apart(w, r, col, level) >= 0;
            keys[k + lane] = (is_apart ? apart_bit : 0) | (static_cast<unsigned long long>(level) << 32) | static_cast<unsigned long long>(k + lane);
        }
        apart += __popc(__ballot_sync(whole_warp, is_apart));
    }
    __syncwarp(whole_warp);
    const offset_t early = r.count - apart;
    for (offset_t k = lane; k < r.count; k += lanes) {
        const unsigned long long key = keys[k];
        offset_t rank = 0;
        for (offset_t m = 0; m < r.count; ++m) rank += keys[m] < key ? 1 : 0;
        const offset_t entry = r.begin + k;
        const index_t col = w.t.col[entry];
        if (rank < early) write_early(w, r, rank, entry);
        else write_apart(w, r, rank - early, entry, column_apart(w, r, col, w.level[col]), dense);
    }
    __syncwarp(whole_warp);                                // the next row takes the keys' place
    return apart;
}

// In the order they are stored in.
__device__ offset_t write_as_stored(const Writing& w, const Row& r, int lane, offset_t dense)
{
    offset_t early = 0, apart = 0;
    const unsigned before = (1u << lane) - 1;
    for (offset_t k = 0; k < r.count; k += lanes) {
        const bool there = k + lane < r.count;
        const offset_t entry = r.begin + k + lane;
        const index_t col = there ? w.t.col[entry] : 0;
        const index_t column = there ? column_apart(w, r, col, w.level[col]) : -1;
        const unsigned all = __ballot_sync(whole_warp, there), aparts = __ballot_sync(whole_warp, column >= 0), earlies = all & ~aparts;
        if (column >= 0) write_apart(w, r, apart + __popc(aparts & before), entry, column, dense);
        else if (there) write_early(w, r, early + __popc(earlies & before), entry);
        apart += __popc(aparts);
        early += __popc(earlies);
    }
    return apart;
}

// A warp for each task.
//   grid: one warp per task      shared memory: 256 keys a warp      col, source: -1 before
__global__ void __launch_bounds__(writers* lanes) write_tasks_kernel(Writing w)
{
    TULLE_SHARED(unsigned long long, keys_of_warp, writers * long_row);
    const int lane = static_cast<int>(threadIdx.x) % lanes, warp = static_cast<int>(threadIdx.x) / lanes;
    const offset_t p = global_thread() / lanes;
    if (p >= w.tasks) return;                              // the whole warp
    Row r{.task = w.task[p], .level = w.task_level[p], .late = w.late_of(p), .i = 0, .lanes_per_row = 1, .begin = 0, .count = 0, .keeps_late = false};
    r.lanes_per_row = lanes * w.team / r.task.width;
    if (r.task.cluster != 0)
        for (int j = lane; j < r.task.late; j += lanes) w.late_col[r.task.late_first + j] = w.unknown(r.late[j]);
    offset_t dense = w.dense_first[p];
    for (r.i = 0; r.i < r.task.rows; ++r.i) {
        const index_t row = w.order[r.task.first + r.i];
        if (lane == 0) {
            w.row[r.task.first + r.i] = w.t.reversed ? w.t.rows - 1 - row : row;
            if (w.t.diagonal) w.diagonal[r.task.first + r.i] = w.t.diagonal[row];
        }
        r.begin = w.t.row_begin[row];
        r.count = w.t.row_begin[row + 1] - r.begin;
        r.keeps_late = keeps_late(w, r, lane);
        dense += r.count > long_row ? write_as_stored(w, r, lane, dense) : write_sorted(w, r, lane, dense, keys_of_warp + warp * long_row);
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
        if (buffer.place().space != Space::device) buffer = to_queue(q, buffer.data(), buffer.size());
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
    launch(q, one_thread_each(n * lanes, writers * lanes), write_tasks_kernel,
           Writing{view_of(there), n, tasks.team, tasks.reordered, tasks.task.data(), layout.order.data(), level, place, layout.task_level.data(), layout.late.data(), layout.late_step, tasks.dense_first.data(),
                   tasks.row.data(), tasks.col.data(), tasks.late_col.data(), tasks.diagonal.data(), tasks.source.data(), tasks.dense_at.data(), tasks.dense_source.data()});
    return tasks;
}

}  // namespace tulle::sptrsv
