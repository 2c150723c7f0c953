// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// One thread per nonzero, column or row; every output has one writer, except the marks, which are all the same.
#include "partition/halo_steps.hpp"

#include "device/cuda/kernel.cuh"

namespace tulle::inline TULLE_ABI::partition {
namespace {

// Most columns are marked many times over: looked at first, an atomic is done once or twice for each.
__global__ void mark_outside_kernel(const index_t* __restrict__ col, offset_t nonzeros, ColumnRange own,
                                    unsigned long long* mark)
{
    const offset_t k = global_thread();
    if (k < nonzeros && !own.has(col[k]) && load_relaxed(mark + col[k]) == 0) atomicExch(mark + col[k], 1ull);
}

__global__ void list_marked_kernel(const offset_t* __restrict__ number, index_t cols, index_t* __restrict__ list)
{
    const offset_t j = global_thread();
    if (j < cols && number[j + 1] != number[j]) list[number[j]] = static_cast<index_t>(j);
}

__global__ void renumber_kernel(const index_t* col, offset_t nonzeros, ColumnRange own,
                                const offset_t* __restrict__ number, index_t* to)
{
    const offset_t k = global_thread();
    if (k < nonzeros) to[k] = renumbered(col[k], own, number);
}

__global__ void find_reaching_rows_kernel(const offset_t* __restrict__ row_begin, index_t rows,
                                          const index_t* __restrict__ col, ColumnRange own,
                                          unsigned char* __restrict__ reaches)
{
    const offset_t i = global_thread();
    if (i >= rows) return;
    bool found = false;
    for (offset_t k = row_begin[i]; k < row_begin[i + 1] && !found; ++k) found = !own.has(col[k]);
    reaches[i] = found;
}

}  // namespace

void mark_outside(const CudaQueue& q, const index_t* col, offset_t nonzeros, ColumnRange own, offset_t* mark)
{
    launch(q, one_thread_each(nonzeros), mark_outside_kernel, col, nonzeros, own,
           reinterpret_cast<unsigned long long*>(mark));
}

void list_marked(const CudaQueue& q, const offset_t* number, index_t cols, index_t* list)
{
    launch(q, one_thread_each(cols), list_marked_kernel, number, cols, list);
}

void renumber(const CudaQueue& q, const index_t* col, offset_t nonzeros, ColumnRange own, const offset_t* number,
              index_t* to)
{
    launch(q, one_thread_each(nonzeros), renumber_kernel, col, nonzeros, own, number, to);
}

void find_reaching_rows(const CudaQueue& q, const offset_t* row_begin, index_t rows, const index_t* col,
                        ColumnRange own, unsigned char* reaches)
{
    launch(q, one_thread_each(rows), find_reaching_rows_kernel, row_begin, rows, col, own, reaches);
}

}  // namespace tulle::inline TULLE_ABI::partition
