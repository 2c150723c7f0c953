// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Rows are sorted by level, kind and node: brought into the order of nodes, then sorted by the rest, which takes few
// bits. Rows with which a task begins are marked and counted.
#include "device/cuda/look_back.cuh"
#include "device/cuda/pinned_readback.hpp"
#include "prim/sort.hpp"
#include "sptrsv/schedule/cuda/tasks.cuh"

namespace tulle::inline TULLE_ABI::sptrsv {
namespace {

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

// Where the rows of each level and kind begin; where those of a level begin, and where its clusters end, which come
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

}  // namespace

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

void enter_tasks(const CudaQueue& q, const Packed& packed, const NodesView& nodes, TaskLayout& layout)
{
    const index_t rows = layout.tasks.rows;
    launch(q, one_thread_each(rows, threads), enter_tasks_kernel, sorted_by(packed, nodes, rows),
           Entering{packed.task_before, layout.order.data(), layout.place.data(), layout.level.data(),
                    layout.task_level.data(), layout.tasks.task.data()});
}

// As make_tasks does on the host: rows are packed into tasks, tasks measured (measure_tasks.cu), sizes added up
// (place_tasks.cu).
TaskLayout lay_out_tasks(const CudaQueue& q, const Pattern& there, const LevelAnalysis& swept, bool chains,
                         index_t levels, const Packing& packing)
{
    const NodesView nodes = view_of(swept, chains);
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
