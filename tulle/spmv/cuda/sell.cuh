// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Sliced ELL as kernels see it.
#pragma once

#include "tulle/device/cuda/kernel.cuh"
#include "tulle/spmv/steps.hpp"

namespace tulle::spmv {

inline constexpr int slice_rows = 32;                             // a warp

// slice_begin holds, for every slice, its first column * 2, plus one if some row in it is shorter than the others.
struct SliceSpan {
    offset_t begin, end;
    bool ragged;
};
__device__ inline SliceSpan span_of(const offset_t* slice_begin, offset_t slice) { return {slice_begin[slice] / 2, slice_begin[slice + 1] / 2, slice_begin[slice] % 2 != 0}; }

// The matrix row of a lane, -1 if it has none. Without a list, rows are in their own order.
__device__ inline index_t row_of(const index_t* list, index_t rows, offset_t slice, int lane)
{
    const offset_t place = slice * slice_rows + lane;
    if (list != nullptr) return list[place];
    return place < rows ? static_cast<index_t>(place) : -1;
}

__device__ inline offset_t length_of(const offset_t* row_begin, index_t row) { return row < 0 ? 0 : row_begin[row + 1] - row_begin[row]; }

}  // namespace tulle::spmv
