// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "device/cuda/kernel.cuh"
#include "factor/arrange.hpp"

namespace tulle::inline TULLE_ABI::factor {
namespace {

constexpr int threads = 256;

// A thread for each entry.      grid: ceil(n / threads)
template <class V>
__global__ void __launch_bounds__(threads)
    gather_kernel(offset_t n, const offset_t* __restrict__ index, const V* __restrict__ scale,
                  const V* __restrict__ from, V* __restrict__ to)
{
    const offset_t i = global_thread();
    if (i < n) to[i] = scale[i] * from[index[i]];
}

}  // namespace

template <class V>
void gather(const CudaQueue& q, const Gather<V>& by, const V* from, V* to)
{
    const offset_t n = by.index.size();
    if (n == 0) return;
    launch(q, one_thread_each(n, threads), gather_kernel<V>, n, by.index.data(), by.scale.data(), from, to);
}

template void gather(const CudaQueue&, const Gather<float>&, const float*, float*);
template void gather(const CudaQueue&, const Gather<double>&, const double*, double*);

}  // namespace tulle::inline TULLE_ABI::factor
