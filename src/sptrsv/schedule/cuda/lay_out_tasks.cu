// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Tasks are laid out on the GPU, in three steps, as make_tasks does on the host:
//
//   pack      rows are sorted by level, kind and node: brought into the order of nodes, then sorted by the rest, which
//             takes few bits; rows with which a task begins are marked and counted
//   measure   a warp for each task finds its sizes and late columns
//   place     sizes are added up: those of a block's tasks by the first kernel, so that each block of the second knows
//             what stands before its own
#include "device/cuda/look_back.cuh"
#include "device/cuda/pinned_readback.hpp"
#include "device/cuda/share_work.cuh"
#include "prim/sort.hpp"
#include "sptrsv/steps.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {
namespace {

// --- Pack ---

// Rows by level, kind and node, and with which of them a task begins. The layout gets room for what is known of rows,
// while the GPU counts tasks.
struct Packed {
    offset_t tasks = 0;
    Buffer<offset_t> of_rows = {};  // what the next two point into, unless what is sorted has room of its own
    const offset_t* task_before =
        nullptr;  // of each row in that order the tasks that began before it, and at the end all of them
    prim::SortedPairs<std::uint32_t> sorted = {};
};

constexpr int threads = 256;
constexpr int adders = 1024;  // threads of a block where blocks wait for each other: fewer have less to wait for

// Rows by level and kind, those of a node side by side.
struct Sorted {
    const std::uint32_t* key;
    const offset_t* row;
    index_t rows;
    NodesView nodes;

    __device__ int kind(offset_t at) const { return static_cast<int>(key[at] % node_kinds); }
    __device__ index_t level(offset_t at) const { return static_cast<index_t>(key[at] / node_kinds) + 1; }
    __device__ index_t place(offset_t at) const { return nodes.place_of(static_cast<index_t>(row[at])); }
};
static_assert(most_rows_swept <= max_index / node_kinds);

// Where the rows of each node begin, if nodes stand behind each other by their first rows; written there.
//   grid: one thread per row      sums: of a look-back
__global__ void __launch_bounds__(adders)
    place_nodes_kernel(NodesView nodes, index_t rows, SumWord* sums, index_t* node_begin)
{
    TULLE_SHARED(offset_t, of_warps, words_of_block<adders>);
    const offset_t block = number_of_block<adders>(sums, of_warps), i = block * adders + threadIdx.x;
    const bool is_first = i < rows && nodes.first_of(static_cast<index_t>(i)) == i;
    const offset_t before =
        sum_before_thread<adders>(sums, of_warps, block, is_first ? nodes.rows_of(static_cast<index_t>(i)) : 0);
    if (is_first) node_begin[i] = static_cast<index_t>(before);
}

//   grid: one thread per row      node_begin: null where rows are alone      key, row: every place written once
__global__ void __launch_bounds__(threads)
    write_keys_kernel(NodesView nodes, const offset_t* row_begin, index_t rows, int team, const index_t* node_begin,
                      std::uint32_t* key, offset_t* row)
{
    const offset_t i = global_thread();
    if (i >= rows) return;
    const auto here = static_cast<index_t>(i);
    const index_t first = nodes.first_of(here), at = node_begin ? node_begin[first] + nodes.place_of(here) : here;
    const int kind = kind_of(nodes.rows_of(first), row_begin[first + 1] - row_begin[first], team);
    key[at] = static_cast<std::uint32_t>((nodes.level_of(here) - 1) * node_kinds + kind);
    row[at] = i;
}

// Where the rows of each level and kind begin; where those of a level begin, and where its merged nodes end, which come
// first.
struct Bounds {
    index_t *of_group, *of_level, *clusters_end;
};

//   grid: one thread per row
__global__ void __launch_bounds__(threads) mark_groups_kernel(Sorted s, Bounds bounds)
{
    const offset_t at = global_thread();
    if (at >= s.rows) return;
    const auto here = static_cast<index_t>(at);
    if (at == 0 || s.key[at - 1] != s.key[at]) bounds.of_group[s.key[at]] = here;
    if (at == 0 || s.level(at - 1) != s.level(at)) bounds.of_level[s.level(at)] = here;
    const bool last = at + 1 == s.rows || s.level(at + 1) != s.level(at) || s.kind(at + 1) >= cluster_kinds;
    if (s.kind(at) < cluster_kinds && last) bounds.clusters_end[s.level(at)] = here + 1;
}

// Whether a task begins with this row.
__device__ bool begins_task(const Sorted& s, const Bounds& bounds, offset_t at, offset_t resident)
{
    const index_t begin = bounds.of_group[s.key[at]], level = s.level(at);
    if (at == begin) return true;
    if (s.place(at) != 0) return false;
    const offset_t in_clusters = s.kind(at) < cluster_kinds ? bounds.clusters_end[level] - bounds.of_level[level] : 0;
    const index_t stretch = stretch_of(s.kind(at), in_clusters, resident);
    return (at - begin) / stretch != (at - 1 - s.place(at - 1) - begin) / stretch;
}

// Tasks that begin before each row; at the end, and for the host, all of them.
//   grid: one thread per row      sums: of a look-back      task_before: every row written once, and the end
__global__ void __launch_bounds__(adders) count_tasks_kernel(Sorted s, Bounds bounds, offset_t resident, SumWord* sums,
                                                             offset_t* task_before, offset_t* tasks)
{
    TULLE_SHARED(offset_t, of_warps, words_of_block<adders>);
    const offset_t block = number_of_block<adders>(sums, of_warps), at = block * adders + threadIdx.x;
    const offset_t mine = at < s.rows && begins_task(s, bounds, at, resident) ? 1 : 0,
                   before = sum_before_thread<adders>(sums, of_warps, block, mine);
    if (at >= s.rows) return;
    task_before[at] = before;
    if (at + 1 < s.rows) return;
    task_before[s.rows] = before + mine;
    *tasks = before + mine;
}

// Where rows and tasks are entered; task_before: of each row, tasks that began before it, and at the end all of them.
struct Entering {
    const offset_t* task_before;
    index_t *order, *place, *level, *task_level;
    Task* task;
};

//   grid: one thread per row      order, place, level: every row written once      task: those that begin with a row
__global__ void __launch_bounds__(threads) enter_tasks_kernel(Sorted s, Entering to)
{
    const offset_t at = global_thread();
    if (at >= s.rows) return;
    const auto row = static_cast<index_t>(s.row[at]);
    to.order[at] = row;
    to.place[row] = static_cast<index_t>(at);
    to.level[row] = s.level(at);
    const offset_t p = to.task_before[at];
    if (to.task_before[at + 1] == p) return;
    const bool cluster = s.kind(at) < cluster_kinds;
    to.task[p].first = static_cast<index_t>(at);
    to.task[p].cluster = cluster ? 1 : 0;
    to.task[p].width = cluster ? 0 : static_cast<std::uint8_t>(1 << (s.kind(at) - cluster_kinds));
    to.task_level[p] = s.level(at);
}

// Arrays that come and go together are one: to ask for them takes longer than a small kernel.
struct Arrays {
    offset_t *row, *task_before;
    std::uint32_t* key;
    index_t *node_begin, *of_levels;

    Arrays(offset_t* words, index_t rows)
        : row(words),
          task_before(row + rows),
          key(reinterpret_cast<std::uint32_t*>(task_before + rows + 1)),
          node_begin(reinterpret_cast<index_t*>(key + rows)),
          of_levels(node_begin + rows)
    {}
    static offset_t words(index_t rows, offset_t of_levels)
    {
        return 3 * offset_t{rows} + 1 + ceil_div(of_levels, offset_t{2});
    }
};

Sorted sorted_by(const Packed& packed, const NodesView& nodes, index_t rows)
{
    return {packed.sorted.key, packed.sorted.payload, rows, nodes};
}

// Waits.
Packed pack_rows(const CudaQueue& q, const Pattern& there, const NodesView& nodes, index_t levels,
                 const Packing& packing, TaskLayout& layout)
{
    const index_t rows = there.rows;
    const auto each_row = one_thread_each(rows, threads), adding = one_thread_each(rows, adders);
    const offset_t groups = offset_t{levels} * node_kinds, each_level = offset_t{levels} + 1;
    Packed packed{.of_rows = Buffer<offset_t>(q, Arrays::words(rows, groups + 2 * each_level))};
    const Arrays arrays(packed.of_rows.data(), rows);
    packed.task_before = arrays.task_before;
    if (nodes.size)
        launch(q, adding, place_nodes_kernel, nodes, rows, LookBack(q, adding.blocks).words(), arrays.node_begin);
    launch(q, each_row, write_keys_kernel, nodes, there.row_begin.data(), rows, packing.team,
           nodes.size ? arrays.node_begin : nullptr, arrays.key, arrays.row);
    packed.sorted =
        prim::sort_pairs_anywhere(q, arrays.key, arrays.row, rows, prim::bits_for(static_cast<std::uint64_t>(groups)));
    const Sorted sorted = sorted_by(packed, nodes, rows);
    const Bounds bounds{arrays.of_levels + 2 * each_level, arrays.of_levels, arrays.of_levels + each_level};
    launch(q, each_row, mark_groups_kernel, sorted, bounds);
    cuda::PinnedReadback<offset_t> tasks(q);
    *tasks.there() = 0;
    launch(q, adding, count_tasks_kernel, sorted, bounds, packing.resident, LookBack(q, adding.blocks).words(),
           arrays.task_before, tasks.there());
    for (Buffer<index_t>* of_rows : {&layout.order, &layout.place, &layout.level, &layout.apart})
        *of_rows = Buffer<index_t>(q, rows);
    packed.tasks = tasks.wait();
    return packed;
}

// What is known of tasks so far: their first rows and kinds, the order of rows, the place and the level of each.
void enter_tasks(const CudaQueue& q, const Packed& packed, const NodesView& nodes, TaskLayout& layout)
{
    const index_t rows = layout.tasks.rows;
    launch(q, one_thread_each(rows, threads), enter_tasks_kernel, sorted_by(packed, nodes, rows),
           Entering{packed.task_before, layout.order.data(), layout.place.data(), layout.level.data(),
                    layout.task_level.data(), layout.tasks.task.data()});
}

// --- Measure ---

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
    constexpr int at_once = 8;
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

// Late columns of a merged node; entries of each row that are not early, in its lane. Returns how many columns.
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

// Sizes and late columns of each task; dense_first gets its entries inside matrices.
void measure_tasks(const CudaQueue& q, const Pattern& there, TaskLayout& layout)
{
    Tasks& tasks = layout.tasks;
    const offset_t n = tasks.task.size();
    launch(q, one_thread_each(n * lanes, measurers * lanes), measure_tasks_kernel,
           Measuring{there.row_begin.data(), there.col.data(), layout.order.data(), layout.level.data(),
                     layout.task_level.data(), tasks.rows, n, tasks.team, tasks.task.data(), layout.late.data(),
                     layout.apart.data(), tasks.dense_first.data()});
}

// --- Place ---

constexpr int placers = 256;      // threads of a block
constexpr int tasks_at_once = 4;  // of a thread, behind each other, whose loads are on their way together
constexpr offset_t tasks_placed_by_block = placers * tasks_at_once;
constexpr int sizes_of_task = 4;  // units of entries, numbers in matrices, late columns, entries in matrices

struct Sizes {
    offset_t size[sizes_of_task];

    __device__ void add(const Sizes& other)
    {
#pragma unroll
        for (int k = 0; k < sizes_of_task; ++k) size[k] += other.size[k];
    }
};

__device__ Sizes sizes_of(const Task& task, offset_t dense_entries, int team)
{
    return {{units_of(task, team), dense_of(task), task.cluster != 0 ? task.late : 0, dense_entries}};
}

// The sizes of this thread's tasks, from `first` on.
struct TasksOfThread {
    offset_t first;
    int count;
    Sizes of[tasks_at_once];

    __device__ TasksOfThread(const Task* task, const offset_t* dense_entries, offset_t tasks, int team)
        : first(global_thread() * tasks_at_once),
          count(static_cast<int>(max(offset_t{0}, min(offset_t{tasks_at_once}, tasks - first))))
    {
#pragma unroll
        for (int n = 0; n < tasks_at_once; ++n)
            of[n] = n < count ? sizes_of(task[first + n], dense_entries[first + n], team) : Sizes{};
    }
    __device__ Sizes all() const
    {
        Sizes sum{};
#pragma unroll
        for (int n = 0; n < tasks_at_once; ++n) sum.add(of[n]);
        return sum;
    }
};

// What the threads of a block have, added up; in `before` that of the threads before this one. All threads together.
__device__ Sizes add_up(Sizes* of_warp, const Sizes& mine, Sizes& before)
{
    const int lane = static_cast<int>(threadIdx.x) % lanes, warp = static_cast<int>(threadIdx.x) / lanes;
    Sizes running;
#pragma unroll
    for (int k = 0; k < sizes_of_task; ++k) {
        running.size[k] = warp_running_sum(mine.size[k]);
        before.size[k] = running.size[k] - mine.size[k];
    }
    __syncthreads();  // nobody reads what was there
    if (lane == lanes - 1) of_warp[warp] = running;
    __syncthreads();
    Sizes all{};
    for (int other = 0; other < placers / lanes; ++other) {
        if (other == warp) before.add(all);
        all.add(of_warp[other]);
    }
    return all;
}

//   grid: one block for tasks_placed_by_block tasks      of_block: every sum written once
__global__ void __launch_bounds__(placers)
    add_sizes_kernel(const Task* task, const offset_t* dense_entries, offset_t tasks, int team, Sizes* of_block)
{
    TULLE_SHARED(Sizes, of_warp, placers / lanes);
    Sizes before;
    const Sizes all = add_up(of_warp, TasksOfThread(task, dense_entries, tasks, team).all(), before);
    if (threadIdx.x == 0) of_block[blockIdx.x] = all;
}

// Sizes become offsets.
//   grid: as before
//   dense_first: the entries of each task before, where they begin and the end after
//   total: the sums
__global__ void __launch_bounds__(placers)
    place_tasks_kernel(Task* task, offset_t tasks, int team, const Sizes* of_block, offset_t* dense_first, Sizes* total)
{
    TULLE_SHARED(Sizes, of_warp, placers / lanes);
    Sizes of_blocks_before{}, before, unused;
    const TasksOfThread mine(task, dense_first, tasks, team);
    for (unsigned other = threadIdx.x; other < blockIdx.x; other += placers) of_blocks_before.add(of_block[other]);
    if (blockIdx.x > 0) of_blocks_before = add_up(of_warp, of_blocks_before, unused);
    Sizes all = add_up(of_warp, mine.all(), before);
    before.add(of_blocks_before);
#pragma unroll
    for (int n = 0; n < tasks_at_once; ++n) {
        if (n >= mine.count) continue;
        task[mine.first + n].step = before.size[0];
        task[mine.first + n].dense = before.size[1];
        task[mine.first + n].late_first = static_cast<index_t>(before.size[2]);
        dense_first[mine.first + n] = before.size[3];
        before.add(mine.of[n]);
    }
    if (threadIdx.x != 0 || blockIdx.x + 1 != gridDim.x) return;
    all.add(of_blocks_before);
    *total = all;
    dense_first[tasks] = all.size[3];
}

}  // namespace

void place_tasks(const CudaQueue& q, TaskLayout& layout)
{
    Tasks& tasks = layout.tasks;
    const offset_t n = tasks.task.size(), blocks = n > 0 ? ceil_div(n, tasks_placed_by_block) : 1;
    cuda::PinnedReadback<Sizes> box(q);
    Buffer<Sizes> of_block = array_for<Sizes>(q, blocks > 1 ? blocks : 0);
    if (blocks > 1)
        launch(q, {blocks, placers}, add_sizes_kernel, tasks.task.data(), tasks.dense_first.data(), n, tasks.team,
               of_block.data());
    launch(q, {blocks, placers}, place_tasks_kernel, tasks.task.data(), n, tasks.team, of_block.data(),
           tasks.dense_first.data(), box.there());
    const Sizes& total = box.wait();
    layout.sizes = {total.size[0], static_cast<index_t>(total.size[2]), total.size[3]};
    tasks.dense_size = total.size[1];
}

// As make_tasks does on the host: rows are packed into tasks, tasks measured, sizes added up.
TaskLayout lay_out_tasks(const CudaQueue& q, const Pattern& there, const LevelAnalysis& swept, bool chains,
                         index_t levels, const Packing& packing)
{
    const NodesView nodes = nodes_of(swept, chains);
    TaskLayout layout{.tasks = no_tasks_yet(there, levels, packing),
                      .sizes = {},
                      .order = {},
                      .place = {},
                      .level = {},
                      .apart = {},
                      .task_level = {},
                      .late = {}};
    const Packed packed = pack_rows(q, there, nodes, levels, packing, layout);
    const offset_t n = packed.tasks;
    layout.task_level = Buffer<index_t>(q, n);
    layout.late = array_for<index_t>(q, chains ? n * (lanes * packing.team) : 0);
    layout.tasks.task = Buffer<Task>(q, n);
    layout.tasks.dense_first = Buffer<offset_t>(q, n + 1);
    enter_tasks(q, packed, nodes, layout);
    measure_tasks(q, there, layout);
    place_tasks(q, layout);
    return layout;
}

}  // namespace tulle::inline TULLE_ABI::sptrsv
