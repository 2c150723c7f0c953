// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The smallest claim on a place wins, so that the problem named is the same every time.
#include "matrix/convert_steps.hpp"

#include "device/cuda/kernel.cuh"

namespace tulle::inline TULLE_ABI::matrix {
namespace {

__global__ void clear_kernel(index_t n, index_t* __restrict__ inverse, index_t* __restrict__ problem)
{
    const offset_t i = global_thread();
    if (i < n) inverse[i] = max_index;
    if (i == 0) *problem = n;
}

__global__ void claim_kernel(const index_t* __restrict__ from, index_t n, index_t* inverse, index_t* problem)
{
    const offset_t i = global_thread();
    if (i < n) atomicMin(from[i] >= 0 && from[i] < n ? inverse + from[i] : problem, static_cast<index_t>(i));
}

__global__ void find_repeated_kernel(const index_t* __restrict__ from, index_t n, const index_t* __restrict__ inverse,
                                     index_t* problem)
{
    const offset_t i = global_thread();
    if (i < n && from[i] >= 0 && from[i] < n && inverse[from[i]] != i) atomicMin(problem, static_cast<index_t>(i));
}

}  // namespace

void invert(const CudaQueue& q, const index_t* from, index_t n, index_t* inverse, index_t* problem)
{
    launch(q, one_thread_each(offset_t{n} + 1), clear_kernel, n, inverse, problem);
    launch(q, one_thread_each(n), claim_kernel, from, n, inverse, problem);
    launch(q, one_thread_each(n), find_repeated_kernel, from, n, inverse, problem);
}

}  // namespace tulle::inline TULLE_ABI::matrix
