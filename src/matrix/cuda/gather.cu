// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "matrix/convert_steps.hpp"

#include "device/cuda/kernel.cuh"

namespace tulle::inline TULLE_ABI::matrix {
namespace {

template <class T, class At>
__global__ void gather_kernel(const T* __restrict__ from, const At* __restrict__ at, offset_t n, T* __restrict__ to)
{
    const offset_t k = global_thread();
    if (k < n) to[k] = from[at[k]];
}

__global__ void divide_kernel(const index_t* __restrict__ from, offset_t n, index_t by, index_t* __restrict__ to)
{
    const offset_t k = global_thread();
    if (k < n) to[k] = from[k] / by;
}

}  // namespace

template <class T, class At>
void gather(const CudaQueue& q, const T* from, const At* at, offset_t n, T* to)
{
    launch(q, one_thread_each(n), gather_kernel<T, At>, from, at, n, to);
}

void divide(const CudaQueue& q, const index_t* from, offset_t n, index_t by, index_t* to)
{
    launch(q, one_thread_each(n), divide_kernel, from, n, by, to);
}

template void gather(const CudaQueue&, const index_t*, const index_t*, offset_t, index_t*);
template void gather(const CudaQueue&, const index_t*, const offset_t*, offset_t, index_t*);
template void gather(const CudaQueue&, const offset_t*, const offset_t*, offset_t, offset_t*);
template void gather(const CudaQueue&, const float*, const offset_t*, offset_t, float*);
template void gather(const CudaQueue&, const double*, const offset_t*, offset_t, double*);

}  // namespace tulle::inline TULLE_ABI::matrix
