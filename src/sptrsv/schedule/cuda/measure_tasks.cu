// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A warp for each task finds its sizes and late columns.
#include "sptrsv/schedule/cuda/tasks.cuh"

namespace tulle::inline TULLE_ABI::sptrsv {
namespace {

constexpr int measurers = 4;                        // warps of a block
[[maybe_unused]] constexpr int blocks_at_once = 8;  // on a multiprocessor; the simulated one has no such limit
constexpr unsigned whole_warp = 0xffffffffu;

// Late columns by the order in which there is room for them: the higher level first, then by number.
using LateKey = unsigned;
constexpr LateKey no_column = 0xffffffffu;
constexpr LateKey lower_level = 0x80000000u;
static_assert(late_levels == 2);

constexpr int table_size = 1024,
              table_most =
                  768;  // late columns met by a task; a warp may add 31 more before it sees that they are too many
constexpr int most_room = lanes * most_team;

// A warp's shared memory.
struct Scratch {
    LateKey *table, *chosen;
    int* count;
};

struct Measuring {
    const offset_t* row_begin;
    const index_t* col;
    const index_t *order, *level, *task_level;
    index_t rows;
    offset_t tasks;
    int team;
    Task* task;
    index_t *late, *apart;
    offset_t* dense_entries;

    __device__ int room() const { return lanes * team; }
};

// The rows of a task.
struct Pack {
    index_t first, rows, level;
    EntryList<offset_t> list;
};

// Number of levels below the task's; the key of a late column, or no_column.
__device__ LateKey late_key(index_t below, index_t col)
{
    return below < 1 || below > late_levels ? no_column : static_cast<LateKey>(col) | (below == 1 ? 0 : lower_level);
}

// f(below, col, row) for all entries of the task's rows, all lanes together: below is negative where a lane has none.
// row: lanes that have entries of this lane's row.
template <class F>
__device__ void each_entry(const Measuring& m, const Pack& pack, int lane, F&& f)
{
    const EntryList<offset_t>& list = pack.list;
    constexpr int at_once = 2 * entries_at_once;
    for (offset_t chunk = 0; chunk < list.total; chunk += at_once * lanes) {
        index_t col[at_once], below[at_once];
#pragma unroll
        for (int n = 0; n < at_once; ++n) {
            const offset_t e = chunk + n * lanes + lane;
            const offset_t at = __shfl_sync(whole_warp, list.begin, row_of_entry(list.before, e)) + e;
            col[n] = e < list.total ? m.col[at] : -1;
        }
#pragma unroll
        for (int n = 0; n < at_once; ++n) below[n] = col[n] < 0 ? -1 : pack.level - m.level[col[n]];
#pragma unroll
        for (int n = 0; n < at_once; ++n)
            if (chunk + n * lanes < list.total) f(below[n], col[n], list.lanes_from(chunk + n * lanes));
    }
}

// Once into the table.
__device__ void meet_late(const Scratch& scratch, LateKey key)
{
    for (unsigned at = key * 2654435761u >> 22;; at = (at + 1) % table_size) {
        const LateKey found = atomicCAS(&scratch.table[at], no_column, key);
        if (found == no_column) atomicAdd(scratch.count, 1);
        if (found == no_column || found == key) return;
    }
}
static_assert(table_size == 1 << (32 - 22));

// All late columns into the table, while there is room; entries of each row that are not early, in its lane. Returns
// how many columns, or -1: too many.
__device__ int meet_all(const Measuring& m, const Pack& pack, int lane, const Scratch& scratch, int& apart)
{
    for (int k = lane; k < table_size; k += lanes) scratch.table[k] = no_column;
    if (lane == 0) *scratch.count = 0;
    __syncwarp(whole_warp);
    apart = 0;
    bool full = false;
    each_entry(m, pack, lane, [&](index_t below, index_t col, unsigned row) {
        apart += __popc(__ballot_sync(whole_warp, below >= 0 && below <= late_levels) & row);
        const LateKey key = late_key(below, col);
        if (key != no_column && !full) meet_late(scratch, key);
        __syncwarp(whole_warp);
        full = *scratch.count > table_most;
        __syncwarp(whole_warp);
    });
    return full ? -1 : *scratch.count;
}

// The keys of the table, side by side; to: another array, or the table itself.
__device__ void gather_met(const Scratch& scratch, int lane, LateKey* to)
{
    int before = 0;
    for (int k = lane; k < table_size; k += lanes) {
        const LateKey key = scratch.table[k];
        const unsigned there = __ballot_sync(whole_warp, key != no_column);
        __syncwarp(whole_warp);  // all have read what some of them now write over
        if (key != no_column) to[before + __popc(there & ((1u << lane) - 1))] = key;
        before += __popc(there);
    }
    __syncwarp(whole_warp);
}

// Those there is room for, in their order; all of them in any.
__device__ void choose_met(const Scratch& scratch, int lane, int met, int room)
{
    if (met <= room) return gather_met(scratch, lane, scratch.chosen);
    gather_met(scratch, lane, scratch.table);
    for (int k = lane; k < met; k += lanes) {
        const LateKey key = scratch.table[k];
        int rank = 0;
#pragma unroll 8
        for (int other = 0; other < met; ++other) rank += scratch.table[other] < key ? 1 : 0;
        if (rank < room) scratch.chosen[rank] = key;
    }
    __syncwarp(whole_warp);
}

// The same where the table was too small: one after the other, each by going through all entries.
__device__ void choose_one_by_one(const Measuring& m, const Pack& pack, int lane, const Scratch& scratch, int room)
{
    for (int n = 0; n < room; ++n) {
        const bool is_first = n == 0;
        const LateKey before = is_first ? 0 : scratch.chosen[n - 1];
        LateKey next = no_column;
        each_entry(m, pack, lane, [&](index_t below, index_t col, unsigned) {
            const LateKey key = late_key(below, col);
            if ((is_first || key > before) && key < next) next = key;
        });
        next = slice_min<lanes>(next);
        if (lane == 0) scratch.chosen[n] = next;
        __syncwarp(whole_warp);
    }
}

// Chosen columns by number to where the task's stand.
__device__ void write_late(const Scratch& scratch, int lane, int count, index_t* late)
{
    for (int k = lane; k < count; k += lanes) {
        const LateKey col = scratch.chosen[k] & ~lower_level;
        int before = 0;
#pragma unroll 8
        for (int other = 0; other < count; ++other) before += (scratch.chosen[other] & ~lower_level) < col ? 1 : 0;
        late[before] = static_cast<index_t>(col);
    }
}

// Late columns of a cluster; entries of each row that are not early, in its lane. Returns how many columns.
__device__ int measure_cluster(const Measuring& m, const Pack& pack, int lane, const Scratch& scratch, index_t* late,
                               int& apart)
{
    const int met = meet_all(m, pack, lane, scratch, apart), room = m.room();
    if (met >= 0) choose_met(scratch, lane, met, room);
    else choose_one_by_one(m, pack, lane, scratch, room);
    const int count = met < 0 || met > room ? room : met;
    write_late(scratch, lane, count, late);
    if (count == met) return count;
    const LateKey last = scratch.chosen[room - 1];  // whatever comes behind it is early after all
    apart = 0;
    each_entry(m, pack, lane, [&](index_t below, index_t col, unsigned row) {
        apart += __popc(__ballot_sync(whole_warp, below == 0 || (below > 0 && late_key(below, col) <= last &&
                                                                 below <= late_levels)) &
                        row);
    });
    return count;
}

// Late entries of rows alone, in each row's lane. Returns the most of a row.
__device__ int measure_alone(const Measuring& m, const Pack& pack, int lane, int width, int& apart)
{
    apart = 0;
    each_entry(m, pack, lane, [&](index_t below, index_t, unsigned row) {
        apart += __popc(__ballot_sync(whole_warp, below == 1) & row);
    });
    const int most = lanes / width < most_late ? lanes / width : most_late;
    if (m.room() == width || apart > most) apart = 0;
    return __reduce_max_sync(whole_warp, apart);
}

// A warp for each task.
//   grid: one warp per task
//   shared memory: a table and the keys chosen for each warp
//   task: rows, width, late, steps
//   late, apart, dense_entries
__global__ void __launch_bounds__(measurers* lanes, blocks_at_once) measure_tasks_kernel(Measuring m)
{
    TULLE_SHARED(LateKey, table, measurers * table_size);
    TULLE_SHARED(LateKey, chosen, measurers * most_room);
    TULLE_SHARED(int, count, measurers);
    const int lane = static_cast<int>(threadIdx.x) % lanes, warp = static_cast<int>(threadIdx.x) / lanes;
    const offset_t p = global_thread() / lanes;
    if (p >= m.tasks) return;  // the whole warp
    const Scratch scratch{table + warp * table_size, chosen + warp * most_room, count + warp};
    const index_t first = m.task[p].first, end = p + 1 < m.tasks ? m.task[p + 1].first : m.rows;
    const Pack pack{first, end - first, m.task_level[p],
                    list_entries(m.row_begin, lane < end - first ? m.order[first + lane] : -1)};
    const bool cluster = m.task[p].cluster != 0;
    const int width = cluster ? power_of_two_from(pack.rows) : m.task[p].width;
    int apart = 0;
    const int late = cluster ? measure_cluster(m, pack, lane, scratch, m.late + p * m.room(), apart)
                             : measure_alone(m, pack, lane, width, apart);
    const int early = static_cast<int>(pack.list.count) - apart;
    const int longest = __reduce_max_sync(whole_warp, early), running = warp_running_sum(apart),
              lanes_per_row = m.room() / width;
    if (lane < pack.rows) m.apart[first + lane] = cluster ? running - apart : apart;
    __syncwarp(whole_warp);  // all lanes have read what is known of the task
    if (lane != lanes - 1) return;
    m.task[p].rows = static_cast<std::uint8_t>(pack.rows);
    m.task[p].width = static_cast<std::uint8_t>(width);
    m.task[p].late = static_cast<std::uint8_t>(late);
    m.task[p].steps = (longest + lanes_per_row - 1) / lanes_per_row;
    m.dense_entries[p] = cluster ? running : 0;
}

}  // namespace

void measure_tasks(const CudaQueue& q, const Pattern& there, TaskLayout& layout)
{
    Tasks& tasks = layout.tasks;
    const offset_t n = tasks.task.size();
    launch(q, one_thread_each(n * lanes, measurers * lanes), measure_tasks_kernel,
           Measuring{there.row_begin.data(), there.col.data(), layout.order.data(), layout.level.data(),
                     layout.task_level.data(), tasks.rows, n, tasks.team, tasks.task.data(), layout.late.data(),
                     layout.apart.data(), tasks.dense_first.data()});
}

}  // namespace tulle::inline TULLE_ABI::sptrsv
