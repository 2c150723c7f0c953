// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The entries of a task's rows as one list, row after row, so that short rows keep as many lanes of a warp busy as long ones. Each lane knows one row.
#pragma once

#include "tulle/device/cuda/kernel.cuh"
#include "tulle/sptrsv/tasks.hpp"

namespace tulle::sptrsv {

constexpr int entries_at_once = 4;                         // of a lane, whose loads are on their way together

struct EntryList {
    offset_t begin, count;                                 // of this lane's row in the triangle; a lane without one has no entries
    offset_t before, total;                                // entries of the rows of lanes before it, of all rows

    // Those of the lanes that work on entries first … first + 31 which have entries of this lane's row.
    __device__ unsigned lanes_from(offset_t first) const
    {
        const offset_t low = before - first, high = low + count;
        const unsigned from_low = low <= 0 ? 0xffffffffu : low >= lanes ? 0 : 0xffffffffu << low;
        const unsigned below_high = high <= 0 ? 0 : high >= lanes ? 0xffffffffu : (1u << high) - 1;
        return from_low & below_high;
    }
};

// row: -1 for a lane without one; those come last.
__device__ inline EntryList list_entries(const offset_t* row_begin, index_t row)
{
    const offset_t begin = row < 0 ? 0 : row_begin[row], count = row < 0 ? 0 : row_begin[row + 1] - begin, running = warp_running_sum(count);
    return {begin, count, running - count, __shfl_sync(0xffffffffu, running, lanes - 1)};
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

}  // namespace tulle::sptrsv
