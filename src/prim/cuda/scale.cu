// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "prim/scale.hpp"

#include "device/cuda/float16.cuh"
#include "device/cuda/kernel.cuh"

namespace tulle::inline TULLE_ABI::prim {
namespace {

// A thread for every number.
//   grid: ceil(lines * length / threads)      shared memory: none      data: every number of the lines written once
template <class T>
__global__ void scale_kernel(Lines<T> all, Factor<T> factor)
{
    const offset_t k = global_thread();
    if (k >= all.lines * all.length) return;
    T& number = all.data[k / all.length * all.leading + k % all.length];
    number = Narrow<T>::from(factor == 0 ? Factor<T>(0) : factor * widen(number));
}

}  // namespace

template <class T>
void scale(const CudaQueue& q, const Lines<T>& all, Factor<T> factor)
{
    if (factor == 1 || all.lines == 0 || all.length == 0) return;
    launch(q, one_thread_each(all.lines * all.length), scale_kernel<T>, all, factor);
}

template void scale(const CudaQueue&, const Lines<float>&, float);
template void scale(const CudaQueue&, const Lines<double>&, double);
template void scale(const CudaQueue&, const Lines<Float16>&, float);
template void scale(const CudaQueue&, const Lines<Bfloat16>&, float);

}  // namespace tulle::inline TULLE_ABI::prim
