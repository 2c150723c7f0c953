// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What lay_out_tasks does on the host, where the triangle is: rows are sorted by level, kind and node; rows with which a task begins are marked and counted
// (pack); a warp for each task finds its sizes and late columns (measure); sizes are added up (place). The layout is the host's, bit for bit.
#include "tulle/device/cuda/mailbox.cuh"
#include "tulle/prim/scan.hpp"
#include "tulle/prim/sort.hpp"
#include "tulle/sptrsv/cuda/nodes.cuh"
#include "tulle/sptrsv/cuda/task_entries.cuh"

namespace tulle::sptrsv {
namespace {

constexpr int threads = 256;
constexpr int measurers = 4;                               // warps of a block
constexpr int placers = 1024;                              // threads of the only block that adds sizes up
constexpr unsigned whole_warp = 0xffffffffu;
constexpr int kind_bits = 4;

// ---- pack

// Sorting keys of rows: level, kind, first row of the node. Equal ones stay in the order of rows.
struct Sorted {
    const std::uint64_t* key;
    const offset_t* row;
    index_t rows;
    int row_bits;
    NodesView nodes;

    __device__ std::uint64_t group(offset_t at) const { return key[at] >> row_bits; }
    __device__ int kind(offset_t at) const { return static_cast<int>(group(at) & ((1u << kind_bits) - 1)); }
    __device__ index_t level(offset_t at) const { return static_cast<index_t>(group(at) >> kind_bits); }
    __device__ index_t place(offset_t at) const { return nodes.place_of(static_cast<index_t>(row[at])); }
};

//   grid: one thread per row
__global__ void __launch_bounds__(threads)
write_keys_kernel(NodesView nodes, const offset_t* row_begin, index_t rows, int team, int row_bits, std::uint64_t* key, offset_t* row)
{
    const offset_t i = global_thread();
    if (i >= rows) return;
    const index_t first = nodes.first_of(static_cast<index_t>(i));
    const int kind = kind_of(nodes.rows_of(first), row_begin[first + 1] - row_begin[first], team);
    const auto group = (static_cast<std::uint64_t>(nodes.level_of(static_cast<index_t>(i))) << kind_bits) | static_cast<std::uint64_t>(kind);
    key[i] = (group << row_bits) | static_cast<std::uint64_t>(first);
    row[i] = i;
}

// Where the rows of each level and kind begin; where those of a level begin, and where its clusters end, which come first.
struct Bounds {
    index_t *of_group, *of_level, *clusters_end;
};

//   grid: one thread per row
__global__ void __launch_bounds__(threads) mark_groups_kernel(Sorted s, Bounds bounds)
{
    const offset_t at = global_thread();
    if (at >= s.rows) return;
    const auto here = static_cast<index_t>(at);
    if (at == 0 || s.group(at - 1) != s.group(at)) bounds.of_group[s.group(at)] = here;
    if (at == 0 || s.level(at - 1) != s.level(at)) bounds.of_level[s.level(at)] = here;
    const bool last = at + 1 == s.rows || s.level(at + 1) != s.level(at) || s.kind(at + 1) >= cluster_kinds;
    if (s.kind(at) < cluster_kinds && last) bounds.clusters_end[s.level(at)] = here + 1;
}

// Whether a task begins with this row.
__device__ bool begins_task(const Sorted& s, const Bounds& bounds, offset_t at, offset_t resident)
{
    const index_t begin = bounds.of_group[s.group(at)], level = s.level(at);
    if (at == begin) return true;
    if (s.place(at) != 0) return false;
    const offset_t in_clusters = s.kind(at) < cluster_kinds ? bounds.clusters_end[level] - bounds.of_level[level] : 0;
    const index_t stretch = stretch_of(s.kind(at), in_clusters, resident);
    return (at - begin) / stretch != (at - 1 - s.place(at - 1) - begin) / stretch;
}

//   grid: one thread per row
__global__ void __launch_bounds__(threads) mark_tasks_kernel(Sorted s, Bounds bounds, offset_t resident, offset_t* begins)
{
    const offset_t at = global_thread();
    if (at < s.rows) begins[at] = begins_task(s, bounds, at, resident) ? 1 : 0;
}

// task_before: of each row, tasks that began before it, and at the end all of them.      grid: one thread per row
__global__ void __launch_bounds__(threads) enter_tasks_kernel(Sorted s, const offset_t* task_before, index_t* order, Task* task, index_t* task_level)
{
    const offset_t at = global_thread();
    if (at >= s.rows) return;
    order[at] = static_cast<index_t>(s.row[at]);
    const offset_t p = task_before[at];
    if (task_before[at + 1] == p) return;
    const bool cluster = s.kind(at) < cluster_kinds;
    task[p].first = static_cast<index_t>(at);
    task[p].cluster = cluster ? 1 : 0;
    task[p].width = cluster ? 0 : static_cast<std::uint8_t>(1 << (s.kind(at) - cluster_kinds));
    task_level[p] = s.level(at);
}

// ---- measure

// Late columns by the order in which there is room for them: the higher level first, then by number.
using LateKey = unsigned;
constexpr LateKey no_column = 0xffffffffu;
constexpr LateKey lower_level = 0x80000000u;
static_assert(late_levels == 2);

constexpr int table_size = 1024, table_most = 768;         // late columns met by a task; a warp may add 31 more before it sees that they are too many
constexpr int most_room = lanes * most_team;

// A warp's shared memory.
struct Scratch {
    LateKey *table, *met, *chosen;
    int* count;
};

struct Measuring {
    const offset_t* row_begin;
    const index_t* col;
    NodesView nodes;
    const index_t *order, *task_level;
    index_t rows;
    offset_t tasks;
    int team;
    Task* task;
    index_t* late;
    offset_t* dense_entries;

    __device__ int room() const { return lanes * team; }
};

// The rows of a task.
struct Pack {
    index_t first, rows, level;
    EntryList list;
};

// Number of levels below the task's; the key of a late column, or no_column.
__device__ LateKey late_key(index_t below, index_t col)
{
    return below < 1 || below > late_levels ? no_column : static_cast<LateKey>(col) | (below == 1 ? 0 : lower_level);
}

// f(below, col, row) for all entries of the task's rows, all lanes together: below is negative where a lane has none. row: lanes that have entries of this
// lane's row.
template <class F>
__device__ void each_entry(const Measuring& m, const Pack& pack, int lane, F&& f)
{
    const EntryList& list = pack.list;
    for (offset_t chunk = 0; chunk < list.total; chunk += entries_at_once * lanes) {
        index_t col[entries_at_once], below[entries_at_once];
#pragma unroll
        for (int n = 0; n < entries_at_once; ++n) {
            const offset_t e = chunk + n * lanes + lane;
            const offset_t at = __shfl_sync(whole_warp, list.begin - list.before, row_of_entry(list.before, e)) + e;
            col[n] = e < list.total ? m.col[at] : -1;
        }
#pragma unroll
        for (int n = 0; n < entries_at_once; ++n) below[n] = col[n] < 0 ? -1 : pack.level - m.nodes.level_of(col[n]);
#pragma unroll
        for (int n = 0; n < entries_at_once; ++n)
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

// All late columns into the table, while there is room; entries of each row that are not early, in its lane. Returns how many columns, or -1: too many.
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

// The keys of the table, side by side.
__device__ void gather_met(const Scratch& scratch, int lane)
{
    int before = 0;
    for (int k = lane; k < table_size; k += lanes) {
        const LateKey key = scratch.table[k];
        const unsigned there = __ballot_sync(whole_warp, key != no_column);
        if (key != no_column) scratch.met[before + __popc(there & ((1u << lane) - 1))] = key;
        before += __popc(there);
    }
    __syncwarp(whole_warp);
}

// Those there is room for, in their order.
__device__ void choose_met(const Scratch& scratch, int lane, int met, int room)
{
    gather_met(scratch, lane);
    for (int k = lane; k < met; k += lanes) {
        int rank = 0;
        for (int other = 0; other < met; ++other) rank += scratch.met[other] < scratch.met[k] ? 1 : 0;
        if (rank < room) scratch.chosen[rank] = scratch.met[k];
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
        for (int other = 0; other < count; ++other) before += (scratch.chosen[other] & ~lower_level) < col ? 1 : 0;
        late[before] = static_cast<index_t>(col);
    }
}

// Late columns of a cluster; entries of each row that are not early, in its lane. Returns how many columns.
__device__ int measure_cluster(const Measuring& m, const Pack& pack, int lane, const Scratch& scratch, index_t* late, int& apart)
{
    const int met = meet_all(m, pack, lane, scratch, apart), room = m.room();
    if (met >= 0) choose_met(scratch, lane, met, room);
    else choose_one_by_one(m, pack, lane, scratch, room);
    const int count = met < 0 || met > room ? room : met;
    write_late(scratch, lane, count, late);
    if (count == met) return count;
    const LateKey last = scratch.chosen[room - 1];         // whatever comes behind it is early after all
    apart = 0;
    each_entry(m, pack, lane, [&](index_t below, index_t col, unsigned row) {
        apart += __popc(__ballot_sync(whole_warp, below == 0 || (below > 0 && late_key(below, col) <= last && below <= late_levels)) & row);
    });
    return count;
}

// Late entries of rows alone, in each row's lane. Returns the most of a row.
__device__ int measure_alone(const Measuring& m, const Pack& pack, int lane, int width, int& apart)
{
    apart = 0;
    each_entry(m, pack, lane, [&](index_t below, index_t, unsigned row) { apart += __popc(__ballot_sync(whole_warp, below == 1) & row); });
    const int most = lanes / width < most_late ? lanes / width : most_late;
    if (m.room() == width || apart > most) apart = 0;
    return __reduce_max_sync(whole_warp, apart);
}

// A warp for each task.
//   grid: one warp per task      shared memory: a table, its keys and those chosen for each warp      task: rows, width, late, steps      late, dense_entries
__global__ void __launch_bounds__(measurers* lanes) measure_tasks_kernel(Measuring m)
{
    TULLE_SHARED(LateKey, table, measurers * table_size);
    TULLE_SHARED(LateKey, met, measurers * (table_most + lanes));
    TULLE_SHARED(LateKey, chosen, measurers * most_room);
    TULLE_SHARED(int, count, measurers);
    const int lane = static_cast<int>(threadIdx.x) % lanes, warp = static_cast<int>(threadIdx.x) / lanes;
    const offset_t p = global_thread() / lanes;
    if (p >= m.tasks) return;                              // the whole warp
    const Scratch scratch{table + warp * table_size, met + warp * (table_most + lanes), chosen + warp * most_room, count + warp};
    const index_t first = m.task[p].first, end = p + 1 < m.tasks ? m.task[p + 1].first : m.rows;
    const Pack pack{first, end - first, m.task_level[p], list_entries(m.row_begin, lane < end - first ? m.order[first + lane] : -1)};
    const bool cluster = m.task[p].cluster != 0;
    const int width = cluster ? 1 << logarithm_from(pack.rows) : m.task[p].width;
    int apart = 0;
    const int late = cluster ? measure_cluster(m, pack, lane, scratch, m.late + p * m.room(), apart) : measure_alone(m, pack, lane, width, apart);
    const int early = static_cast<int>(pack.list.count) - apart;
    const int longest = __reduce_max_sync(whole_warp, early), dense = slice_sum<lanes>(apart), lanes_per_row = m.room() / width;
    if (lane != 0) return;
    m.task[p].rows = static_cast<std::uint8_t>(pack.rows);
    m.task[p].width = static_cast<std::uint8_t>(width);
    m.task[p].late = static_cast<std::uint8_t>(late);
    m.task[p].steps = (longest + lanes_per_row - 1) / lanes_per_row;
    m.dense_entries[p] = cluster ? dense : 0;
}

// ---- place

constexpr int sizes_of_task = 4;                           // units of entries, numbers in matrices, late columns, entries in matrices

__device__ void add_sizes(const Task& task, offset_t dense_entries, int team, offset_t (&sum)[sizes_of_task])
{
    sum[0] += units_of(task, team);
    sum[1] += dense_of(task);
    sum[2] += task.cluster != 0 ? task.late : 0;
    sum[3] += dense_entries;
}

// Sizes become offsets; a thread for so many tasks behind each other.
//   grid: one block      dense_first: the entries of each task before, where they begin and the end after      total: the sums
__global__ void __launch_bounds__(placers) place_tasks_kernel(Task* task, offset_t tasks, int team, offset_t* dense_first, offset_t* total)
{
    TULLE_SHARED(offset_t, sums, placers * sizes_of_task);
    const int thread = static_cast<int>(threadIdx.x);
    const offset_t share = (tasks + placers - 1) / placers, begin = thread * share, end = begin + share < tasks ? begin + share : tasks;
    offset_t sum[sizes_of_task] = {}, before[sizes_of_task];
    for (offset_t p = begin; p < end; ++p) add_sizes(task[p], dense_first[p], team, sum);
    for (int k = 0; k < sizes_of_task; ++k) {
        before[k] = 0;
        sums[thread * sizes_of_task + k] = sum[k];
    }
    for (int distance = 1; distance < placers; distance *= 2) {
        __syncthreads();
        offset_t other[sizes_of_task] = {};
        for (int k = 0; k < sizes_of_task && thread >= distance; ++k) other[k] = sums[(thread - distance) * sizes_of_task + k];
        __syncthreads();
        for (int k = 0; k < sizes_of_task; ++k) {
            sums[thread * sizes_of_task + k] += other[k];
            before[k] += other[k];
        }
    }
    for (offset_t p = begin; p < end; ++p) {
        const offset_t entries = dense_first[p];
        task[p].step = before[0];
        task[p].dense = before[1];
        task[p].late_first = static_cast<index_t>(before[2]);
        dense_first[p] = before[3];
        add_sizes(task[p], entries, team, before);
    }
    if (thread != placers - 1) return;
    for (int k = 0; k < sizes_of_task; ++k) total[k] = before[k];
    dense_first[tasks] = before[3];
}

struct Totals {
    offset_t size[sizes_of_task];
};

}  // namespace

TaskLayout lay_out_tasks(const CudaQueue& q, const Triangle& there, const Swept& swept, bool chains, index_t levels, const Packing& packing)
{
    const NodesView nodes = view_of(swept, chains);
    const index_t rows = there.rows;
    const auto each_row = one_thread_each(rows, threads);
    const int row_bits = prim::bits_for(static_cast<std::uint64_t>(rows));
    Buffer<std::uint64_t> key(q, rows);
    Buffer<offset_t> of_rows(q, 2 * offset_t{rows} + 1);       // arrays that come and go together are one: to ask for them takes longer than a small kernel
    offset_t *row = of_rows.data(), *begins = row + rows;
    launch(q, each_row, write_keys_kernel, nodes, there.row_begin.data(), rows, packing.team, row_bits, key.data(), row);
    prim::sort_pairs(q, key.data(), row, rows, row_bits + kind_bits + prim::bits_for(static_cast<std::uint64_t>(levels) + 1));
    const offset_t each_level = offset_t{levels} + 1;
    Buffer<index_t> of_levels(q, (each_level << kind_bits) + 2 * each_level);
    const Sorted sorted{key.data(), row, rows, row_bits, nodes};
    const Bounds bounds{of_levels.data() + 2 * each_level, of_levels.data(), of_levels.data() + each_level};
    launch(q, each_row, mark_groups_kernel, sorted, bounds);
    launch(q, each_row, mark_tasks_kernel, sorted, bounds, packing.resident, begins);
    prim::exclusive_scan(q, begins, begins, rows);
    cuda::Mailbox<offset_t> count(q);
    cuda::post<offset_t>(q, begins + rows, count.there());
    const offset_t n = count.wait();

    const int room = lanes * packing.team;
    TaskLayout layout{.tasks = {}, .sizes = {}, .order = Buffer<index_t>(q, rows),
                      .task_level = Buffer<index_t>(q, n), .late = Buffer<index_t>(q, chains ? n * room : 0), .late_step = room};
    Tasks& tasks = layout.tasks;
    tasks.rows = rows;
    tasks.levels = levels;
    tasks.team = packing.team;
    tasks.reversed = there.reversed;
    tasks.reordered = packing.reorder;
    tasks.task = Buffer<Task>(q, n);
    tasks.dense_first = Buffer<offset_t>(q, n + 1);
    launch(q, each_row, enter_tasks_kernel, sorted, begins, layout.order.data(), tasks.task.data(), layout.task_level.data());
    launch(q, one_thread_each(n * lanes, measurers * lanes), measure_tasks_kernel,
           Measuring{there.row_begin.data(), there.col.data(), nodes, layout.order.data(), layout.task_level.data(), rows, n, packing.team,
                     tasks.task.data(), layout.late.data(), tasks.dense_first.data()});
    cuda::Mailbox<Totals> totals(q);
    launch(q, {1, placers}, place_tasks_kernel, tasks.task.data(), n, packing.team, tasks.dense_first.data(), totals.there()->size);
    const Totals& total = totals.wait();
    layout.sizes = {total.size[0], static_cast<index_t>(total.size[2]), total.size[3]};
    tasks.dense_size = total.size[1];
    return layout;
}

}  // namespace tulle::sptrsv
