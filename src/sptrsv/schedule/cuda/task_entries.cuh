// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The entries of a task's rows as one list, row after row, so that short rows keep as many lanes of a warp busy as long
// ones. Each lane knows one row.
#pragma once

#include "device/cuda/kernel.cuh"
#include "sptrsv/schedule/tasks.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {

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

}  // namespace tulle::inline TULLE_ABI::sptrsv
