// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The part of the analysis that moves every entry, on the GPU: the entries of all tasks are written to the places that
// a layout gave them. The result is that of make_tasks on the host, bit for bit.
//
// A warp writes a task, or all warps of a block some of its rows each where it has many entries; what stands before a
// row is known. Those kept apart are written at once, in the order they are stored in. The place of an early one
// follows from its rank in its row, by rising level and then by number: the warp keeps the levels of early entries in
// shared memory and counts how many of a row are smaller. Very long rows stay in the order they are stored in.
#include "device/cuda/share_work.cuh"
#include "sptrsv/steps.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {
namespace {

[[maybe_unused]] constexpr int blocks_at_once = 6;  // on a multiprocessor; the simulated one has no such limit
constexpr unsigned whole_warp = 0xffffffffu;
constexpr int entries_at_once = 4;  // of a lane, whose loads are on their way together

struct TriangleView {
    index_t rows;
    bool reversed;
    const offset_t* row_begin;
    const index_t* col;
    const offset_t *source,
        *row_source;           // source of each entry; or row_source, not null: those of a row follow each other
    const offset_t* diagonal;  // null: ones

    // The source of entry k, from what it is less k, or together with k, for all of its row.
    __device__ offset_t source_of(offset_t k, offset_t shift) const
    {
        return !row_source ? source[k] : reversed ? shift - k : shift + k;
    }
    __device__ offset_t shift_of(index_t row_of_triangle) const
    {
        if (!row_source) return 0;
        return reversed ? row_source[row_of_triangle] + row_begin[row_of_triangle]
                        : row_source[row_of_triangle] - row_begin[row_of_triangle];
    }
};

// What the kernel reads of a layout, and where it writes.
struct Writing {
    TriangleView t;
    offset_t tasks;
    int of_block;  // tasks
    int team;
    bool reordered;
    const Task* task;
    const index_t *order, *level, *place, *apart, *task_level, *late;
    const offset_t* dense_first;
    index_t *row, *col, *late_col;
    offset_t *diagonal, *source, *dense_at, *dense_source;

    __device__ const index_t* late_of(offset_t p) const { return late + p * (lanes * team); }
    __device__ index_t unknown(index_t row_of_triangle) const
    {
        return reordered ? place[row_of_triangle] : row_of_triangle;
    }
};

// A task, as a warp sees it.
struct Writer {
    Task task;
    index_t level;
    const index_t* late;  // columns of the task
    int lanes_per_row;    // a power of two
    offset_t shift;       // of this lane's row

    __device__ offset_t shift_of_row(int i) const { return __shfl_sync(whole_warp, shift, i); }  // all lanes together
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

// The column of the merged node's matrices an entry belongs to, or -1: an early one. Of a row alone: 0 for a late
// entry.
__device__ index_t column_apart(const Writing& w, const Writer& r, index_t col, index_t level)
{
    if (r.task.cluster == 0) return level == r.level - 1 ? 0 : -1;
    if (level == r.level) return w.place[col] - r.task.first;
    if (level < r.level - late_levels) return -1;
    const int j = find_late(r.late, r.task.late, col);
    return j < 0 ? -1 : r.task.width + j;
}

// The place of the e-th early entry of the task's row i; of the e-th that a row alone keeps apart.
template <class T>
__device__ offset_t early_place(const Writing& w, const Writer& r, int i, T e)
{
    const T step = e >> (31 - __clz(r.lanes_per_row)), lane = e & (r.lanes_per_row - 1);
    return r.task.step * lanes + offset_t{step} * (lanes * w.team) + lane * r.task.width + i;
}
__device__ offset_t kept_place(const Writing& w, const Writer& r, int i, offset_t e)
{
    return (r.task.step + offset_t{r.task.steps} * w.team) * lanes + e * r.task.width + i;
}

// Entry k of the triangle, of a row with this shift.
__device__ void put(const Writing& w, offset_t at, offset_t k, offset_t shift)
{
    w.col[at] = w.unknown(w.t.col[k]);
    w.source[at] = w.t.source_of(k, shift);
}

__device__ void put_nothing(const Writing& w, offset_t at)
{
    w.col[at] = -1;
    w.source[at] = -1;
}

// Places that no entry takes, of rows first … end - 1: a lane for each, which knows how many entries it has. Rows
// beyond the task's have none.
__device__ void leave_empty(const Writing& w, const Writer& r, int lane, int first, int end, offset_t early, int kept)
{
    if (lane < first || lane >= end) return;
    const offset_t room = offset_t{r.task.steps} * r.lanes_per_row;
    for (offset_t e = early; e < room; ++e) put_nothing(w, early_place(w, r, lane, e));
    if (r.task.cluster != 0 || r.task.late == 0) return;
    for (int e = kept; e < lanes / r.task.width; ++e) put_nothing(w, kept_place(w, r, lane, e));
}

// The e-th of those apart: of a merged node's, or of a row alone.
__device__ void write_apart(const Writing& w, const Writer& r, int i, offset_t e, offset_t k, offset_t shift,
                            index_t column)
{
    if (r.task.cluster == 0) return put(w, kept_place(w, r, i, e), k, shift);
    w.dense_at[e] = r.task.dense + offset_t{column} * r.task.width + i;
    w.dense_source[e] = w.t.source_of(k, shift);
}

// f(first, row, entry, column, level) for the entries of a list, all lanes together: lane l has entry first + l of it;
// column is that of the merged node's matrices, -1 for an early entry, -2 where a lane has none. keeps: this lane's
// row, if it is alone, keeps its late entries apart.
template <class T, class F>
__device__ void each_entry(const Writing& w, const Writer& r, const EntryList<T>& list, int lane, bool keeps, F&& f)
{
    for (T chunk = 0; chunk < list.total; chunk += entries_at_once * lanes) {
        int row[entries_at_once];
        offset_t entry[entries_at_once];
        index_t col[entries_at_once], level[entries_at_once];
#pragma unroll
        for (int n = 0; n < entries_at_once; ++n) {
            const T e = chunk + n * lanes + lane;
            row[n] = row_of_entry(list.before, e);
            entry[n] = __shfl_sync(whole_warp, list.begin, row[n]) + e;
            col[n] = e < list.total ? w.t.col[entry[n]] : -1;
        }
#pragma unroll
        for (int n = 0; n < entries_at_once; ++n) level[n] = col[n] < 0 ? 0 : w.level[col[n]];
#pragma unroll
        for (int n = 0; n < entries_at_once; ++n) {
            if (chunk + n * lanes >= list.total) continue;  // all lanes
            const bool may_be_apart = r.task.cluster != 0 || __shfl_sync(whole_warp, keeps ? 1 : 0, row[n]) != 0;
            const index_t column = col[n] < 0 ? -2 : may_be_apart ? column_apart(w, r, col[n], level[n]) : -1;
            f(chunk + n * lanes, row[n], entry[n], column, level[n]);
        }
    }
}

// A warp's shared memory: early entries of the rows it works on, row after row.
struct Early {
    index_t* level;
    std::uint8_t* entry;  // its number among all entries of those rows
};
static_assert(long_row <= 256);

// How many of the levels first … end - 1 come before that at `at`: lower ones, and equal ones that stand before it.
__device__ int rank_of(const index_t* level, int first, int at, int end)
{
    const index_t mine = level[at];
    int rank = 0;
#pragma unroll 8
    for (int m = first; m < at; ++m) rank += level[m] <= mine ? 1 : 0;
#pragma unroll 8
    for (int m = at + 1; m < end; ++m) rank += level[m] < mine ? 1 : 0;
    return rank;
}

// Early entries to their places by rank; early_of_row: how many this lane's row has.
__device__ void write_ranked(const Writing& w, const Writer& r, const EntryList<int>& list, int lane, int early_of_row,
                             const Early& early)
{
    const int running = warp_running_sum(early_of_row), before = running - early_of_row,
              all = __shfl_sync(whole_warp, running, lanes - 1);
    for (int chunk = 0; chunk < all; chunk += lanes) {
        const int at = chunk + lane, row = row_of_entry(before, at);
        const int first = __shfl_sync(whole_warp, before, row), end = __shfl_sync(whole_warp, running, row);
        const offset_t begin = __shfl_sync(whole_warp, list.begin, row), shift = r.shift_of_row(row);
        if (at < all)
            put(w, early_place(w, r, row, rank_of(early.level, first, at, end)), begin + early.entry[at], shift);
    }
}

// All entries of rows i … i + n - 1. dense: of a merged node, where those apart begin. Ranked: early ones by level,
// else as they are stored.
template <bool Ranked>
__device__ void write_rows(const Writing& w, const Writer& r, const EntryList<offset_t>& all, int lane, int i, int n,
                           bool keeps, offset_t dense, const Early& early)
{
    using T = std::conditional_t<Ranked, int, offset_t>;
    const EntryList<T> list = all.part<T>(lane, i, n);
    const unsigned lanes_before = (1u << lane) - 1;
    int apart = 0, apart_of_row = 0;
    T all_early = 0, early_of_row = 0;
    each_entry(w, r, list, lane, keeps, [&](T first, int row, offset_t entry, index_t column, index_t level) {
        const unsigned aparts = __ballot_sync(whole_warp, column >= 0),
                       earlies = __ballot_sync(whole_warp, column == -1);
        const unsigned of_row = list.lanes_from(first);
        const offset_t shift = r.shift_of_row(row);
        const int behind = r.task.cluster != 0 ? apart : __shfl_sync(whole_warp, apart_of_row, row);
        const unsigned beside = r.task.cluster != 0 ? whole_warp : __shfl_sync(whole_warp, of_row, row);
        if (column >= 0)
            write_apart(w, r, row, dense + behind + __popc(aparts & beside & lanes_before), entry, shift, column);
        const T at = all_early + __popc(earlies & lanes_before);
        if constexpr (Ranked) {
            if (column == -1) {
                early.level[at] = level;
                early.entry[at] = static_cast<std::uint8_t>(first + lane);
            }
        } else if (column == -1) {
            put(w, early_place(w, r, row, at), entry, shift);
        }
        apart += __popc(aparts);
        apart_of_row += __popc(aparts & of_row);
        all_early += __popc(earlies);
        early_of_row += __popc(earlies & of_row);
    });
    if constexpr (Ranked) {
        __syncwarp(whole_warp);
        write_ranked(w, r, list, lane, early_of_row, early);
        __syncwarp(whole_warp);  // the next rows take their place
    }
}

// This warp's share of a long row alone that keeps nothing apart.
__device__ void copy_row(const Writing& w, const Writer& r, const EntryList<offset_t>& list, int lane, int member,
                         int members)
{
    const offset_t begin = __shfl_sync(whole_warp, list.begin, 0), shift = r.shift_of_row(0),
                   end = list.total * (member + 1) / members;
#pragma unroll 4
    for (offset_t e = list.total * member / members + lane; e < end; e += lanes)
        put(w, early_place(w, r, 0, e), begin + e, shift);
}

// Task p by one warp, or this warp's share of it, one of `members` equal ones.
__device__ void write_task(const Writing& w, offset_t p, int lane, int member, int members, const Early& early)
{
    const Task task = w.task[p];
    const bool there = lane < task.rows;
    const index_t row = there ? w.order[task.first + lane] : -1, apart = there ? w.apart[task.first + lane] : 0;
    const Writer r{task, w.task_level[p], w.late_of(p), lanes * w.team / task.width, there ? w.t.shift_of(row) : 0};
    if (task.cluster != 0 && member == 0)
        for (int j = lane; j < task.late; j += lanes) w.late_col[task.late_first + j] = w.unknown(r.late[j]);
    if (there && member == 0) {
        w.row[task.first + lane] = w.t.reversed ? w.t.rows - 1 - row : row;
        if (w.t.diagonal) w.diagonal[task.first + lane] = w.t.diagonal[row];
    }
    const EntryList<offset_t> list = list_entries(w.t.row_begin, row);
    const int begin = task.rows * member / members, end = task.rows * (member + 1) / members;
    const int apart_next = __shfl_down_sync(whole_warp, apart, 1),
              all_apart = task.cluster != 0 ? static_cast<int>(w.dense_first[p + 1] - w.dense_first[p]) : 0;
    const int apart_here = task.cluster == 0      ? apart
                           : lane + 1 < task.rows ? apart_next - apart
                           : there                ? all_apart - apart
                                                  : 0;
    leave_empty(w, r, lane, begin, member == members - 1 ? task.width : end, list.count - apart_here, apart_here);
    if (task.cluster == 0 && list.total > long_row && __shfl_sync(whole_warp, apart, 0) == 0)
        return copy_row(w, r, list, lane, member, members);
    const bool keeps = task.cluster == 0 && apart > 0;
    for (int i = begin; i < end;) {
        const offset_t first = __shfl_sync(whole_warp, list.before, i);
        const bool fits = lane >= i && lane < end && list.before + list.count - first <= long_row;
        const int n = __popc(__ballot_sync(whole_warp, fits));
        const offset_t dense = task.cluster != 0 ? w.dense_first[p] + __shfl_sync(whole_warp, apart, i) : 0;
        if (n > 0) write_rows<true>(w, r, list, lane, i, n, keeps, dense, early);
        else write_rows<false>(w, r, list, lane, i, 1, keeps, dense, early);
        i += n == 0 ? 1 : n;
    }
}

//   grid: shape_for(tasks)      shared memory: 256 early entries a warp      col, source: every place written once
__global__ void __launch_bounds__(sharers* lanes, blocks_at_once) write_tasks_kernel(Writing w)
{
    TULLE_SHARED(index_t, levels_of_warp, sharers * long_row);
    TULLE_SHARED(std::uint8_t, entries_of_warp, sharers * long_row);
    const int lane = static_cast<int>(threadIdx.x) % lanes, warp = static_cast<int>(threadIdx.x) / lanes;
    const Early early{levels_of_warp + warp * long_row, entries_of_warp + warp * long_row};
    const auto places = [&](offset_t p) {
        return offset_t{w.task[p].steps} * w.team * lanes + (w.dense_first[p + 1] - w.dense_first[p]);
    };
    share_tasks(w.tasks, w.of_block, places,
                [&](offset_t p, int member, int members) { write_task(w, p, lane, member, members, early); });
}

const offset_t* or_null(const Buffer<offset_t>& array) { return array.empty() ? nullptr : array.data(); }

TriangleView view_of(const Triangle& t)
{
    return {t.rows, t.reversed, t.row_begin.data(), t.col.data(), t.source.data(), nullptr, or_null(t.diagonal)};
}

TriangleView view_of(const DeviceTriangle& t)
{
    return {t.rows, t.reversed, t.row_begin.data(), t.col.data(), nullptr, t.row_source.data(), or_null(t.diagonal)};
}

Tasks write(const CudaQueue& q, TaskLayout layout, const TriangleView& there, offset_t nonzeros)
{
    Tasks tasks = std::move(layout.tasks);
    make_room(q, layout.sizes, there.diagonal != nullptr, tasks);
    const offset_t n = tasks.task.size();
    const index_t* late =
        layout.late.empty() ? layout.order.data() : layout.late.data();  // rows alone have none, and read none
    const int of_block = tasks_of_block(n, nonzeros);
    launch(q, shape_for(n, of_block), write_tasks_kernel,
           Writing{there,
                   n,
                   of_block,
                   tasks.team,
                   tasks.reordered,
                   tasks.task.data(),
                   layout.order.data(),
                   layout.level.data(),
                   layout.place.data(),
                   layout.apart.data(),
                   layout.task_level.data(),
                   late,
                   tasks.dense_first.data(),
                   tasks.row.data(),
                   tasks.col.data(),
                   tasks.late_col.data(),
                   tasks.diagonal.data(),
                   tasks.source.data(),
                   tasks.dense_at.data(),
                   tasks.dense_source.data()});
    return tasks;
}

}  // namespace

Tasks write_tasks(const CudaQueue& q, TaskLayout layout, const DeviceTriangle& there)
{
    return write(q, std::move(layout), view_of(there), there.nonzeros());
}

Tasks write_tasks(const CudaQueue& q, TaskLayout layout, const Triangle& uploaded)
{
    return write(q, std::move(layout), view_of(uploaded), uploaded.nonzeros());
}

}  // namespace tulle::inline TULLE_ABI::sptrsv
