// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// dot(y, x) and dot(y, y) in a pass of their own, for kernels that do not know when an entry of y is done.
#include "spmv/cuda/dots.cuh"

namespace tulle::inline TULLE_ABI::spmv {
namespace {

constexpr int threads_per_block = 256, rows_per_thread = 8;

//   grid: ceil(n / (threads * 8))      shared memory: a number per warp      dots: once
template <class V>
__global__ void __launch_bounds__(threads_per_block) add_up_dots_kernel(offset_t n, Vectors<V> v)
{
    Written<true, V> written;
    for (offset_t i = global_thread(); i < n; i += static_cast<offset_t>(gridDim.x) * threads_per_block) {
        written.xy += v.y[i] * v.x[i];
        written.yy += v.y[i] * v.y[i];
    }
    finish<threads_per_block>(written, v.dots);
}

}  // namespace

template <class V>
void add_up_dots(const CudaQueue& q, index_t n, const Vectors<V>& v)
{
    launch(q, one_thread_each((offset_t{n} + rows_per_thread - 1) / rows_per_thread, threads_per_block),
           add_up_dots_kernel<V>, offset_t{n}, v);
}

template void add_up_dots(const CudaQueue&, index_t, const Vectors<float>&);
template void add_up_dots(const CudaQueue&, index_t, const Vectors<double>&);

}  // namespace tulle::inline TULLE_ABI::spmv
