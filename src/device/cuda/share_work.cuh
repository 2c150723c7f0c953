// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Work of different sizes dealt out to the lanes of a warp and to the warps of a block: the entries of up to 32 rows as
// one list, row after row, so that short rows keep as many lanes busy as long ones (each lane knows one row); and
// tasks, of which each warp takes a small one of its own and all warps of a block share the large ones.
#pragma once

#include "device/cuda/kernel.cuh"

namespace tulle::inline TULLE_ABI {

// --- Entries of rows ---

template <class T>
struct EntryList {
    T before, count,
        total;       // entries of the rows of lanes before, of this lane's row, of all; a lane without a row has none
    offset_t begin;  // of this lane's row, less `before`

    // Those of the lanes that work on entries first … first + 31 which have entries of this lane's row.
    __device__ unsigned lanes_from(T first) const
    {
        const T low = before - first, high = low + count;
        const unsigned from_low = low <= 0 ? 0xffffffffu : low >= 32 ? 0 : 0xffffffffu << low;
        const unsigned below_high = high <= 0 ? 0 : high >= 32 ? 0xffffffffu : (1u << high) - 1;
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
    return {running - count, count, __shfl_sync(0xffffffffu, running, 31), begin - (running - count)};
}

// The last lane whose row begins at entry e or before it, all lanes together: `before` ascends.
template <class T>
__device__ int row_of_entry(T before, T e)
{
    int row = 0;
    for (int step = 16; step > 0; step /= 2)
        if (__shfl_sync(0xffffffffu, before, row + step) <= e) row += step;
    return row;
}

// --- Tasks ---

constexpr int sharers = 4;              // warps of a block
constexpr offset_t large_task = 256;    // places for entries
constexpr offset_t mostly_large = 128;  // places of a task, in the mean: each gets a block

// How many tasks a block has, of so many with so many places.
constexpr int tasks_of_block(offset_t tasks, offset_t places) { return places >= tasks * mostly_large ? 1 : sharers; }
constexpr LaunchShape shape_for(offset_t tasks, int of_block)
{
    return {(tasks + of_block - 1) / of_block, sharers * 32};
}

// work(task, member, members) for this warp's own task, and for those that it shares with the others of its block.
// places(task): how many it has.
template <class Places, class Work>
__device__ void share_tasks(offset_t tasks, int of_block, Places&& places, Work&& work)
{
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
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

}  // namespace tulle::inline TULLE_ABI
