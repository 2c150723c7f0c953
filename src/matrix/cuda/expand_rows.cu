// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The row of every nonzero: a block looks up the rows that its nonzeros are in, copies their offsets to shared memory
// and bisects there; where they are too many, because of empty rows, each thread bisects in global memory. And back: a
// thread for every row.
#include "matrix/convert_steps.hpp"

#include "base/math.hpp"
#include "device/cuda/kernel.cuh"
#include "prim/search.hpp"

namespace tulle::inline TULLE_ABI::matrix {
namespace {

constexpr int expand_threads = 256, nonzeros_of_block = 8 * expand_threads;
constexpr int most_offsets = 2 * nonzeros_of_block;  // 16 KiB of shared memory

//   grid: ceil(nonzeros / nonzeros_of_block)      row: every entry once
__global__ void __launch_bounds__(expand_threads)
    expand_rows_kernel(const offset_t* __restrict__ row_begin, index_t rows, offset_t nonzeros,
                       index_t* __restrict__ row)
{
    TULLE_SHARED(offset_t, ends, 2);
    TULLE_SHARED(int, begin, most_offsets);
    const offset_t first = offset_t{blockIdx.x} * nonzeros_of_block,
                   last = min(first + nonzeros_of_block, nonzeros) - 1;
    if (threadIdx.x < 2)
        ends[threadIdx.x] = prim::upper_bound(row_begin, offset_t{rows} + 1, threadIdx.x == 0 ? first : last) - 1;
    __syncthreads();
    const offset_t low = ends[0], count = ends[1] - low + 1;  // rows from low on; row low begins at or before `first`
    const bool fits = count <= most_offsets;
    if (fits)
        for (int i = static_cast<int>(threadIdx.x); i < count; i += expand_threads)
            begin[i] = static_cast<int>(max(row_begin[low + i] - first, offset_t{0}));
    __syncthreads();
    for (offset_t k = first + threadIdx.x; k <= last; k += expand_threads)
        row[k] = static_cast<index_t>(low - 1 +
                                      (fits ? prim::upper_bound(begin, count, static_cast<int>(k - first))
                                            : prim::upper_bound(row_begin + low, count, k)));
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
    launch(q, {ceil_div(nonzeros, offset_t{nonzeros_of_block}), expand_threads}, expand_rows_kernel, row_begin, rows,
           nonzeros, row);
}

void compress_rows(const CudaQueue& q, const index_t* row, offset_t nonzeros, index_t rows, offset_t* row_begin)
{
    launch(q, one_thread_each(offset_t{rows} + 1), compress_rows_kernel, row, nonzeros, rows, row_begin);
}

}  // namespace tulle::inline TULLE_ABI::matrix
