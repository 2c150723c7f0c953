// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "prim/merge_path.hpp"

#include "device/cuda/kernel.cuh"

namespace tulle::inline TULLE_ABI::prim {
namespace {

// One thread per cut.      grid: ceil((parts + 1) / 256)      point: every entry written once
__global__ void merge_path_kernel(const offset_t* row_begin, offset_t rows, offset_t nonzeros, offset_t parts,
                                  offset_t each, MergePoint* point)
{
    const offset_t p = global_thread();
    if (p > parts) return;
    const offset_t steps = p * each < rows + nonzeros ? p * each : rows + nonzeros;
    point[p] = merge_point(row_begin, rows, nonzeros, steps);
}

}  // namespace

void merge_path(const CudaQueue& q, const offset_t* row_begin, offset_t rows, offset_t nonzeros, offset_t parts,
                MergePoint* point)
{
    const offset_t each = steps_per_part(rows, nonzeros, parts);
    launch(q, one_thread_each(parts + 1), merge_path_kernel, row_begin, rows, nonzeros, parts, each, point);
}

}  // namespace tulle::inline TULLE_ABI::prim
