// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Sizes of tasks are added up: those of a block's tasks by the first kernel, so that each block of the second knows
// what stands before its own.
#include "device/cuda/pinned_readback.hpp"
#include "sptrsv/schedule/cuda/tasks.cuh"

namespace tulle::inline TULLE_ABI::sptrsv {
namespace {

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

}  // namespace tulle::inline TULLE_ABI::sptrsv
