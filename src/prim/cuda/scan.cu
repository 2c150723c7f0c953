// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Running sums with CUB's single-pass scan (decoupled look-back). Integer sums have one right answer, so its timing
// does not show.
#include "prim/scan.hpp"

#include <cub/device/device_scan.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include "prim/cuda/scan_few.hpp"
#include "prim/cuda/temporary.cuh"

namespace tulle::inline TULLE_ABI::prim {
namespace {

// count[0 … n-1] and a zero behind it: scanning n+1 entries gives the total without reading count[n]. Entry i reads
// position i only, and a tile of the scan loads everything before it stores, so in place is allowed.
struct CountOrZero {
    const offset_t* count;
    offset_t n;
    __host__ __device__ offset_t operator()(offset_t i) const { return i < n ? count[i] : 0; }
};

}  // namespace

void exclusive_scan(const CudaQueue& q, const offset_t* count, offset_t* begin, offset_t n)
{
    if (n <= few_to_scan) return scan_few(q, count, begin, n);
    const auto counts =
        thrust::make_transform_iterator(thrust::make_counting_iterator(offset_t{0}), CountOrZero{count, n});
    with_scratch(q, [&](void* scratch, std::size_t& bytes) {
        return cub::DeviceScan::ExclusiveSum(scratch, bytes, counts, begin, n + 1, q.stream);
    });
}

}  // namespace tulle::inline TULLE_ABI::prim
