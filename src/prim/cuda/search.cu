// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "prim/search.hpp"

#include "device/cuda/kernel.cuh"

namespace tulle::inline TULLE_ABI::prim {
namespace {

// One thread per wanted entry.      grid: ceil(count / 256)      found: every entry written once
template <class T>
__global__ void search_kernel(const T* data, offset_t n, const T* wanted, offset_t count, offset_t* found)
{
    const offset_t i = global_thread();
    if (i < count) found[i] = lower_bound(data, n, wanted[i]);
}

}  // namespace

template <class T>
void search_sorted(const CudaQueue& q, const T* data, offset_t n, const T* wanted, offset_t count, offset_t* found)
{
    launch(q, one_thread_each(count), search_kernel<T>, data, n, wanted, count, found);
}

template void search_sorted(const CudaQueue&, const index_t*, offset_t, const index_t*, offset_t, offset_t*);
template void search_sorted(const CudaQueue&, const offset_t*, offset_t, const offset_t*, offset_t, offset_t*);

}  // namespace tulle::inline TULLE_ABI::prim
