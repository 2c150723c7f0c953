// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "tulle/outline.hpp"

#include "device/cuda/kernel.cuh"

namespace tulle::inline TULLE_ABI::matrix {
namespace {

__global__ void widen_offsets_kernel(const std::int32_t* __restrict__ from, offset_t n, offset_t* __restrict__ to)
{
    const offset_t k = global_thread();
    if (k < n) to[k] = from[k];
}

}  // namespace

void widen_offsets(const CudaQueue& q, const std::int32_t* from, offset_t n, offset_t* to)
{
    launch(q, one_thread_each(n), widen_offsets_kernel, from, n, to);
}

}  // namespace tulle::inline TULLE_ABI::matrix
