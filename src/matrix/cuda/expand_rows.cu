// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A thread for every nonzero, or for every row: each finds its answer by bisection, so that long and empty rows cost
// the same.
#include "matrix/convert_steps.hpp"

#include "device/cuda/kernel.cuh"
#include "prim/search.hpp"

namespace tulle::inline TULLE_ABI::matrix {
namespace {

__global__ void expand_rows_kernel(const offset_t* __restrict__ row_begin, index_t rows, offset_t nonzeros,
                                   index_t* __restrict__ row)
{
    const offset_t k = global_thread();
    if (k < nonzeros) row[k] = static_cast<index_t>(prim::upper_bound(row_begin, offset_t{rows} + 1, k) - 1);
}

__global__ void compress_rows_kernel(const index_t* __restrict__ row, offset_t nonzeros, index_t rows,
                                     offset_t* __restrict__ row_begin)
{
    const offset_t i = global_thread();
    if (i <= rows) row_begin[i] = prim::lower_bound(row, nonzeros, static_cast<index_t>(i));
}

}  // namespace

void expand_rows(const CudaQueue& q, const offset_t* row_begin, index_t rows, offset_t nonzeros, index_t* row)
{
    launch(q, one_thread_each(nonzeros), expand_rows_kernel, row_begin, rows, nonzeros, row);
}

void compress_rows(const CudaQueue& q, const index_t* row, offset_t nonzeros, index_t rows, offset_t* row_begin)
{
    launch(q, one_thread_each(offset_t{rows} + 1), compress_rows_kernel, row, nonzeros, rows, row_begin);
}

}  // namespace tulle::inline TULLE_ABI::matrix
