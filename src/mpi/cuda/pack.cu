// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The entries of x that other ranks need, one after the other.
#include "device/cuda/kernel.cuh"

#include "mpi/steps.hpp"

namespace tulle::inline TULLE_ABI::mpi {
namespace {

constexpr int threads_per_block = 256;

//   grid: ceil(n * width / threads)      shared memory: none      to: every number written once
template <class V>
__global__ void __launch_bounds__(threads_per_block)
    pack_kernel(const V* from, const index_t* index, offset_t n, index_t width, V* to)
{
    const offset_t t = global_thread();
    if (t < n * width) to[t] = from[offset_t{index[t / width]} * width + t % width];
}

}  // namespace

template <class V>
void pack(const CudaQueue& q, const V* from, const index_t* index, offset_t n, index_t width, V* to)
{
    launch(q, one_thread_each(n * width, threads_per_block), pack_kernel<V>, from, index, n, width, to);
}

void upload_pinned(const CudaQueue& q, const void* pinned, void* to, std::size_t bytes)
{
    if (bytes == 0) return;
    const cuda::DeviceGuard guard(q.device);
    cuda::check(cudaMemcpyAsync(to, pinned, bytes, cudaMemcpyHostToDevice, q.stream));
}

template void pack(const CudaQueue&, const float*, const index_t*, offset_t, index_t, float*);
template void pack(const CudaQueue&, const double*, const index_t*, offset_t, index_t, double*);
template void pack(const CudaQueue&, const offset_t*, const index_t*, offset_t, index_t, offset_t*);

}  // namespace tulle::inline TULLE_ABI::mpi
