// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "tulle/partition/steps.hpp"

#include "tulle/device/cuda/kernel.cuh"

namespace tulle::partition {
namespace {

// All three: one thread per line.      grid: ceil(lines / 256)      every entry written once

__global__ void write_pointer_kernel(const offset_t* line_begin, Part part, offset_t* local)
{
    const offset_t j = global_thread();
    if (j > part.lines()) return;
    const offset_t at = line_begin[j];
    local[j] = (at < part.begin ? part.begin : at > part.end ? part.end : at) - part.begin;
}

__global__ void find_pointer_kernel(const index_t* __restrict__ line, Part part, offset_t* __restrict__ local)
{
    const offset_t j = global_thread();
    if (j > part.lines()) return;
    local[j] = j == part.lines() ? part.nonzeros() : prim::lower_bound(line, part.nonzeros(), static_cast<index_t>(part.first_line + j));
}

__global__ void restore_pointer_kernel(const offset_t* __restrict__ owned, Part part, offset_t* __restrict__ whole)
{
    const offset_t j = global_thread();
    if (j < part.owned()) whole[j] = owned[j] + part.begin;
}

}  // namespace

void write_pointer(const CudaQueue& q, const offset_t* line_begin, const Part& part, offset_t* local)
{
    launch(q, one_thread_each(offset_t{part.lines()} + 1), write_pointer_kernel, line_begin, part, local);
}

void find_pointer(const CudaQueue& q, const index_t* line, const Part& part, offset_t* local)
{
    launch(q, one_thread_each(offset_t{part.lines()} + 1), find_pointer_kernel, line, part, local);
}

void restore_pointer(const CudaQueue& q, const offset_t* local, const Part& part, offset_t* whole)
{
    launch(q, one_thread_each(part.owned()), restore_pointer_kernel, local + (part.head ? 1 : 0), part, whole);
}

}  // namespace tulle::partition
