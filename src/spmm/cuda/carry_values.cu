// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Values to where a kernel reads them.
#include "device/cuda/kernel.cuh"

#include "spmm/steps.hpp"

namespace tulle::inline TULLE_ABI::spmm {
namespace {

constexpr int threads_per_block = 256;

//   grid: ceil(n / threads)      shared memory: none      to: every value once
template <class V>
__global__ void __launch_bounds__(threads_per_block)
    carry_values_kernel(const V* from, const offset_t* source, offset_t n, V* to)
{
    const offset_t k = global_thread();
    if (k < n) to[k] = from[source[k]];
}

//   grid: ceil(n / threads)      shared memory: none      to: every place once
template <class V>
__global__ void __launch_bounds__(threads_per_block)
    spread_values_kernel(const V* from, const offset_t* place, offset_t n, V* to)
{
    const offset_t k = global_thread();
    if (k < n) to[place[k]] = from[k];
}

}  // namespace

template <class V>
void carry_values(const CudaQueue& q, const V* from, const offset_t* source, offset_t n, V* to)
{
    launch(q, one_thread_each(n, threads_per_block), carry_values_kernel<V>, from, source, n, to);
}

template <class V>
void spread_values(const CudaQueue& q, const V* from, const offset_t* place, offset_t n, V* to)
{
    launch(q, one_thread_each(n, threads_per_block), spread_values_kernel<V>, from, place, n, to);
}

template void carry_values(const CudaQueue&, const float*, const offset_t*, offset_t, float*);
template void carry_values(const CudaQueue&, const double*, const offset_t*, offset_t, double*);
template void carry_values(const CudaQueue&, const Float16*, const offset_t*, offset_t, Float16*);
template void carry_values(const CudaQueue&, const Bfloat16*, const offset_t*, offset_t, Bfloat16*);
template void spread_values(const CudaQueue&, const float*, const offset_t*, offset_t, float*);
template void spread_values(const CudaQueue&, const double*, const offset_t*, offset_t, double*);
template void spread_values(const CudaQueue&, const Float16*, const offset_t*, offset_t, Float16*);
template void spread_values(const CudaQueue&, const Bfloat16*, const offset_t*, offset_t, Bfloat16*);

}  // namespace tulle::inline TULLE_ABI::spmm
