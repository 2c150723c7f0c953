// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "amg/steps.hpp"
#include "device/cuda/kernel.cuh"

namespace tulle::inline TULLE_ABI::amg {
namespace {

constexpr int threads = 256;

// grid: ceil(n / threads)
template <class Step>
__global__ void __launch_bounds__(threads) for_each_kernel(offset_t n, Step step)
{
    const offset_t i = global_thread();
    if (i < n) step(i);
}

}  // namespace

template <class Step>
void for_each(const CudaQueue& q, offset_t n, const Step& step)
{
    launch(q, one_thread_each(n, threads), for_each_kernel<Step>, n, step);
}

#define TULLE_FOR_EACH(...) template void for_each(const CudaQueue&, offset_t, const __VA_ARGS__&);
TULLE_AMG_STEPS(TULLE_FOR_EACH)
#undef TULLE_FOR_EACH

}  // namespace tulle::inline TULLE_ABI::amg
