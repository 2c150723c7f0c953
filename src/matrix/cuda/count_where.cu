// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "device/cuda/kernel.cuh"
#include "matrix/inspect_steps.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::inspect {
namespace {

using Counter = unsigned long long;  // what atomicAdd takes; same size as offset_t

// One thread per position; a warp adds up before it touches the count.      grid: ceil(n / 256)      count: 0 before
template <class Check>
__global__ void count_where_kernel(Check check, offset_t n, Counter* count)
{
    const offset_t k = global_thread();
    const Counter in_warp = slice_sum<32>(k < n && check(k) ? Counter{1} : Counter{0});
    if (threadIdx.x % 32 == 0 && in_warp > 0) atomicAdd(count, in_warp);
}

}  // namespace

template <class Check>
offset_t count_where(const CudaQueue& q, const Check& check, offset_t n)
{
    Buffer<Counter> count(q, 1);
    fill_zero(q, count.data(), 1);
    launch(q, one_thread_each(n), count_where_kernel<Check>, check, n, count.data());
    return static_cast<offset_t>(read_value(q, count.data()));
}

template offset_t count_where(const CudaQueue&, const NotFinite<float>&, offset_t);
template offset_t count_where(const CudaQueue&, const NotFinite<double>&, offset_t);
template offset_t count_where(const CudaQueue&, const NotFiniteInBlock<float>&, offset_t);
template offset_t count_where(const CudaQueue&, const NotFiniteInBlock<double>&, offset_t);
template offset_t count_where(const CudaQueue&, const IsZero&, offset_t);

}  // namespace tulle::inline TULLE_ABI::inspect
