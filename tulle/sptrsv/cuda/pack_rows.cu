// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Rows are sorted by level, kind and node; rows with which a task begins are marked and counted.
#include "tulle/device/cuda/mailbox.cuh"
#include "tulle/prim/scan.hpp"
#include "tulle/prim/sort.hpp"
#include "tulle/sptrsv/cuda/lay_out.cuh"

namespace tulle::sptrsv {
namespace {

constexpr int threads = 256;
constexpr int kind_bits = 4;

// Sorting keys of rows: level, kind, and of chains the first row of the node. Equal ones stay in the order of rows.
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
    key[i] = (group << row_bits) | (row_bits > 0 ? static_cast<std::uint64_t>(first) : 0);
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
offset_t keys_after(index_t rows) { return 2 * offset_t{rows} + 1; }
offset_t bounds_after(index_t rows) { return 3 * offset_t{rows} + 1; }

Sorted sorted_by(const Packed& packed, const NodesView& nodes, index_t rows)
{
    return {reinterpret_cast<const std::uint64_t*>(packed.of_rows.data() + keys_after(rows)), packed.of_rows.data(), rows, packed.row_bits, nodes};
}

}  // namespace

Packed pack_rows(const CudaQueue& q, const Triangle& there, const NodesView& nodes, index_t levels, const Packing& packing)
{
    const index_t rows = there.rows;
    const auto each_row = one_thread_each(rows, threads);
    const offset_t each_level = offset_t{levels} + 1, of_levels = (each_level << kind_bits) + 2 * each_level;
    Packed packed{.row_bits = nodes.size ? prim::bits_for(static_cast<std::uint64_t>(rows)) : 0,
                  .of_rows = Buffer<offset_t>(q, bounds_after(rows) + ceil_div(of_levels, offset_t{2}))};
    offset_t *row = packed.of_rows.data(), *begins = row + rows;
    auto* key = reinterpret_cast<std::uint64_t*>(row + keys_after(rows));
    auto* level = reinterpret_cast<index_t*>(row + bounds_after(rows));
    launch(q, each_row, write_keys_kernel, nodes, there.row_begin.data(), rows, packing.team, packed.row_bits, key, row);
    prim::sort_pairs(q, key, row, rows, packed.row_bits + kind_bits + prim::bits_for(static_cast<std::uint64_t>(levels) + 1));
    const Sorted sorted = sorted_by(packed, nodes, rows);
    const Bounds bounds{level + 2 * each_level, level, level + each_level};
    launch(q, each_row, mark_groups_kernel, sorted, bounds);
    launch(q, each_row, mark_tasks_kernel, sorted, bounds, packing.resident, begins);
    prim::exclusive_scan(q, begins, begins, rows);
    cuda::Mailbox<offset_t> count(q);
    cuda::post<offset_t>(q, begins + rows, count.there());
    packed.tasks = count.wait();
    return packed;
}

void enter_tasks(const CudaQueue& q, const Packed& packed, const NodesView& nodes, TaskLayout& layout)
{
    const index_t rows = layout.tasks.rows;
    launch(q, one_thread_each(rows, threads), enter_tasks_kernel, sorted_by(packed, nodes, rows),
           Entering{packed.of_rows.data() + rows, layout.order.data(), layout.place.data(), layout.level.data(), layout.task_level.data(), layout.tasks.task.data()});
}

}  // namespace tulle::sptrsv
