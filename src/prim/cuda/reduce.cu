// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Reductions with CUB's DeviceReduce, which promises the same result from run to run on the same device, also for
// operators that are only nearly associative, such as the addition of floating-point numbers.
#include "prim/reduce.hpp"

#include <cub/device/device_reduce.cuh>

#include "prim/cuda/temporary.cuh"
#include "prim/reduce_with.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::prim {
namespace {

template <class R, class T, class F>
R reduce(const CudaQueue& q, const T* data, offset_t n, R start, F join)
{
    Buffer<R> result(q, 1);
    with_scratch(q, [&](void* scratch, std::size_t& bytes) {
        return cub::DeviceReduce::Reduce(scratch, bytes, data, result.data(), n, join, start, q.stream);
    });
    return read_value(q, result.data());
}

}  // namespace

template <class T>
T sum(const CudaQueue& q, const T* data, offset_t n)
{
    return narrow_total<T>(reduce(q, data, n, Total<T>{0}, Plus{}));
}

template <class T>
T maximum(const CudaQueue& q, const T* data, offset_t n, T least)
{
    return reduce(q, data, n, least, Larger{});
}

template <class T>
T minimum(const CudaQueue& q, const T* data, offset_t n, T most)
{
    return reduce(q, data, n, most, Smaller{});
}

template index_t sum(const CudaQueue&, const index_t*, offset_t);
template offset_t sum(const CudaQueue&, const offset_t*, offset_t);
template float sum(const CudaQueue&, const float*, offset_t);
template double sum(const CudaQueue&, const double*, offset_t);
template index_t maximum(const CudaQueue&, const index_t*, offset_t, index_t);
template offset_t maximum(const CudaQueue&, const offset_t*, offset_t, offset_t);
template float maximum(const CudaQueue&, const float*, offset_t, float);
template double maximum(const CudaQueue&, const double*, offset_t, double);
template index_t minimum(const CudaQueue&, const index_t*, offset_t, index_t);
template offset_t minimum(const CudaQueue&, const offset_t*, offset_t, offset_t);
template float minimum(const CudaQueue&, const float*, offset_t, float);
template double minimum(const CudaQueue&, const double*, offset_t, double);

}  // namespace tulle::inline TULLE_ABI::prim
