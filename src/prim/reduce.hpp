// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "tulle/memory.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::prim {

// Reductions to a number on the host (they wait). T is index_t, offset_t, float or double. The same bits every time:
// on the CPU for any number of threads, on a GPU from run to run on the same model. NaN is passed over by maximum and
// minimum; a sum of index_t that does not fit is a ValueError.
template <class T>
T sum(const CpuQueue& q, const T* data, offset_t n);  // 0 for n = 0
template <class T>
T sum(const CudaQueue& q, const T* data, offset_t n);
template <class T>
T maximum(const CpuQueue& q, const T* data, offset_t n, T least);  // least for n = 0
template <class T>
T maximum(const CudaQueue& q, const T* data, offset_t n, T least);
template <class T>
T minimum(const CpuQueue& q, const T* data, offset_t n, T most);  // most for n = 0
template <class T>
T minimum(const CudaQueue& q, const T* data, offset_t n, T most);

}  // namespace tulle::inline TULLE_ABI::prim
