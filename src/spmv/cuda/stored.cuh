// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Values of a matrix in the type of the sums.
#pragma once

#include "device/cuda/float16.cuh"
#include "device/cuda/kernel.cuh"

namespace tulle::inline TULLE_ABI::spmv {

template <class V, class M>
__device__ V as_sum(M value)
{
    if constexpr (sizeof(M) == 2) return widen(value);
    else return static_cast<V>(value);
}

// Through the read-only cache.
template <class V, class M>
__device__ V load_as_sum(const M* at)
{
    if constexpr (sizeof(M) == 2) {
        M value;
        value.bits = __ldg(&at->bits);
        return widen(value);
    } else return static_cast<V>(__ldg(at));
}

}  // namespace tulle::inline TULLE_ABI::spmv
