// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What kernels that lay out, write and fill tasks share: the steps of lay_out_tasks, the entries of a task as one list,
// tasks dealt out to warps, and reciprocals of the diagonal.
#pragma once

#include "device/cuda/kernel.cuh"
#include "device/cuda/pinned_readback.hpp"
#include "prim/sort.hpp"
#include "sptrsv/analysis/cuda/nodes.cuh"
#include "sptrsv/schedule/schedule.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {

// --- The steps of lay_out_tasks: pack, measure, place ---

// Rows by level, kind and node, and with which of them a task begins. The layout gets room for what is known of rows,
// while the GPU counts tasks.
struct Packed {
    offset_t tasks = 0;
    Buffer<offset_t> of_rows = {};  // what the next two point into, unless what is sorted has room of its own
    const offset_t* task_before =
        nullptr;  // of each row in that order the tasks that began before it, and at the end all of them
    prim::SortedPairs<std::uint32_t> sorted = {};
};
Packed pack_rows(const CudaQueue& q, const Pattern& there, const NodesView& nodes, index_t levels,
                 const Packing& packing, TaskLayout& layout);  // waits

// What is known of tasks so far: their first rows and kinds, the order of rows, the place and the level of each.
void enter_tasks(const CudaQueue& q, const Packed& packed, const NodesView& nodes, TaskLayout& layout);

// Sizes and late columns of each task; dense_first gets its entries inside matrices.
void measure_tasks(const CudaQueue& q, const Pattern& there, TaskLayout& layout);

// Sizes become offsets; what they add up to.
void place_tasks(const CudaQueue& q, TaskLayout& layout);  // waits

// --- The entries of a task's rows as one list, row after row, so that short rows keep as many lanes of a warp busy as
// long ones. Each lane knows one row ---

constexpr int entries_at_once = 4;  // of a lane, whose loads are on their way together

template <class T>
struct EntryList {
    T before, count,
        total;       // entries of the rows of lanes before, of this lane's row, of all; a lane without a row has none
    offset_t begin;  // of this lane's row in the triangle, less `before`

    // Those of the lanes that work on entries first … first + 31 which have entries of this lane's row.
    __device__ unsigned lanes_from(T first) const
    {
        const T low = before - first, high = low + count;
        const unsigned from_low = low <= 0 ? 0xffffffffu : low >= lanes ? 0 : 0xffffffffu << low;
        const unsigned below_high = high <= 0 ? 0 : high >= lanes ? 0xffffffffu : (1u << high) - 1;
        return from_low & below_high;
    }

    // Rows i … i + n - 1 of it, still in their lanes.
    template <class Part>
    __device__ EntryList<Part> part(int lane, int i, int n) const
    {
        const T first = __shfl_sync(0xffffffffu, before, i), end = __shfl_sync(0xffffffffu, before + count, i + n - 1);
        const bool there = lane >= i && lane < i + n;
        const auto all = static_cast<Part>(end - first);
        return {there      ? static_cast<Part>(before - first)
                : lane < i ? 0
                           : all,
                there ? static_cast<Part>(count) : 0, all, begin + first};
    }
};

// row: -1 for a lane without one; those come last.
__device__ inline EntryList<offset_t> list_entries(const offset_t* row_begin, index_t row)
{
    const offset_t begin = row < 0 ? 0 : row_begin[row], count = row < 0 ? 0 : row_begin[row + 1] - begin,
                   running = warp_running_sum(count);
    return {running - count, count, __shfl_sync(0xffffffffu, running, lanes - 1), begin - (running - count)};
}

// The last lane whose row begins at entry e or before it, all lanes together: `before` ascends.
template <class T>
__device__ int row_of_entry(T before, T e)
{
    int row = 0;
    for (int step = lanes / 2; step > 0; step /= 2)
        if (__shfl_sync(0xffffffffu, before, row + step) <= e) row += step;
    return row;
}

// --- Tasks dealt out to the warps of a block: each takes a small one of its own, and all of them share the large
// ones ---

constexpr int sharers = 4;              // warps of a block
constexpr offset_t large_task = 256;    // places for entries
constexpr offset_t mostly_large = 128;  // places of a task, in the mean: each gets a block

// How many tasks a block has, of so many with so many places.
constexpr int tasks_of_block(offset_t tasks, offset_t places) { return places >= tasks * mostly_large ? 1 : sharers; }
constexpr LaunchShape shape_for(offset_t tasks, int of_block)
{
    return {(tasks + of_block - 1) / of_block, sharers * lanes};
}

// work(task, member, members) for this warp's own task, and for those that it shares with the others of its block.
// places(task): how many it has.
template <class Places, class Work>
__device__ void share_tasks(offset_t tasks, int of_block, Places&& places, Work&& work)
{
    const int lane = static_cast<int>(threadIdx.x) % lanes, warp = static_cast<int>(threadIdx.x) / lanes;
    const offset_t first = offset_t{blockIdx.x} * of_block;
    const bool there = lane < of_block && first + lane < tasks;
    const unsigned all = __ballot_sync(0xffffffffu, there),
                   large = __ballot_sync(0xffffffffu, there && places(first + lane) > large_task);
    for (unsigned left = (all & 1u << warp) | large; left != 0; left &= left - 1) {
        const int which = __ffs(static_cast<int>(left)) - 1;
        const bool shared = (large >> which & 1) != 0;
        work(first + which, shared ? warp : 0, shared ? sharers : 1);
    }
}

// --- Reciprocals of the diagonal, formed once per set of values: solving multiplies ---

constexpr int fill_threads = 256;

// diagonal null: ones. first_zero: beyond all rows before, the first row with a zero after.
template <class V>
__device__ V reciprocal_of(const offset_t* diagonal, offset_t i, const V* value, unsigned* first_zero)
{
    const V d = diagonal ? value[diagonal[i]] : V(1);
    if (d == V(0) && first_zero) atomicMin(first_zero, static_cast<unsigned>(i));
    return V(1) / d;
}

// Where kernels tell of zeros. They are rare, so that nobody minds how far away that is.
class FirstZero {
public:
    explicit FirstZero(const CudaQueue& q) : queue_(q), box_(q) { *box_.there() = ~0u; }
    unsigned* there() const { return box_.there(); }

    // The row of op(A) with the first zero in the order of solving, or -1.
    index_t wait(const Buffer<index_t>& row)
    {
        const unsigned first = box_.wait();
        return first < static_cast<unsigned>(row.size()) ? read_value(queue_, row.data() + first) : -1;
    }

private:
    const CudaQueue& queue_;
    cuda::PinnedReadback<unsigned> box_;
};

}  // namespace tulle::inline TULLE_ABI::sptrsv
