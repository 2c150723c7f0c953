// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Sizes of tasks are added up.
#include "tulle/device/cuda/mailbox.hpp"
#include "tulle/sptrsv/cuda/lay_out.cuh"

namespace tulle::sptrsv {
namespace {

constexpr int placers = 1024;                              // threads of the only block that adds sizes up
constexpr int sizes_of_task = 4;                           // units of entries, numbers in matrices, late columns, entries in matrices

constexpr int tasks_at_once = 4;                           // of a thread, whose loads are on their way together

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

// f(p, sizes) for tasks begin … end - 1, in their order.
template <class F>
__device__ void each_task(const Task* task, const offset_t* dense_entries, offset_t begin, offset_t end, int team, F&& f)
{
    for (offset_t p = begin; p < end; p += tasks_at_once) {
        Sizes of[tasks_at_once];
#pragma unroll
        for (int n = 0; n < tasks_at_once; ++n)
            if (p + n < end) of[n] = sizes_of(task[p + n], dense_entries[p + n], team);
#pragma unroll
        for (int n = 0; n < tasks_at_once; ++n)
            if (p + n < end) f(p + n, of[n]);
    }
}

// The sums of all threads before this one, in `before`; all threads together.
__device__ void add_before(Sizes* sums, int thread, const Sizes& mine, Sizes& before)
{
    sums[thread] = mine;
    before = {};
    for (int distance = 1; distance < placers; distance *= 2) {
        __syncthreads();
        const Sizes other = thread >= distance ? sums[thread - distance] : Sizes{};
        __syncthreads();
        sums[thread].add(other);
        before.add(other);
    }
}

// Sizes become offsets; a thread for so many tasks behind each other.
//   grid: one block      dense_first: the entries of each task before, where they begin and the end after      total: the sums
__global__ void __launch_bounds__(placers) place_tasks_kernel(Task* task, offset_t tasks, int team, offset_t* dense_first, Sizes* total)
{
    TULLE_SHARED(Sizes, sums, placers);
    const int thread = static_cast<int>(threadIdx.x);
    const offset_t share = (tasks + placers - 1) / placers, begin = thread * share, end = begin + share < tasks ? begin + share : tasks;
    Sizes mine{}, before{};
    each_task(task, dense_first, begin, end, team, [&](offset_t, const Sizes& of) { mine.add(of); });
    add_before(sums, thread, mine, before);
    each_task(task, dense_first, begin, end, team, [&](offset_t p, const Sizes& of) {
        task[p].step = before.size[0];
        task[p].dense = before.size[1];
        task[p].late_first = static_cast<index_t>(before.size[2]);
        dense_first[p] = before.size[3];
        before.add(of);
    });
    if (thread != placers - 1) return;
    *total = before;
    dense_first[tasks] = before.size[3];
}

}  // namespace

void place_tasks(const CudaQueue& q, TaskLayout& layout)
{
    Tasks& tasks = layout.tasks;
    cuda::Mailbox<Sizes> box(q);
    launch(q, {1, placers}, place_tasks_kernel, tasks.task.data(), tasks.task.size(), tasks.team, tasks.dense_first.data(), box.there());
    const Sizes& total = box.wait();
    layout.sizes = {total.size[0], static_cast<index_t>(total.size[2]), total.size[3]};
    tasks.dense_size = total.size[1];
}

}  // namespace tulle::sptrsv
