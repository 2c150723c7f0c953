// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Level-1 operations, once per backend: V is float or double, sums are double, results stay in the memory of the queue.
#pragma once

#include "vector/pass.hpp"

namespace tulle::inline TULLE_ABI::vector {

// result[0] = x · y, result[1] = y · y.
template <class V>
void dot(const CpuQueue& q, offset_t n, const V* x, const V* y, double* result, const PassSpace& space);
template <class V>
void dot(const CudaQueue& q, offset_t n, const V* x, const V* y, double* result, const PassSpace& space);

// y = alpha x + beta y; beta == 0: y is not read.
template <class V>
void axpby(const CpuQueue& q, offset_t n, double alpha, const V* x, double beta, V* y);
template <class V>
void axpby(const CudaQueue& q, offset_t n, double alpha, const V* x, double beta, V* y);

// z[i] = d[i] r[i].
template <class V>
void multiply(const CpuQueue& q, offset_t n, const V* d, const V* r, V* z);
template <class V>
void multiply(const CudaQueue& q, offset_t n, const V* d, const V* r, V* z);

// to = *scale from, in another type; no scale: 1.
template <class From, class To>
void convert(const CpuQueue& q, offset_t n, const From* from, To* to, const double* scale = nullptr);
template <class From, class To>
void convert(const CudaQueue& q, offset_t n, const From* from, To* to, const double* scale = nullptr);

}  // namespace tulle::inline TULLE_ABI::vector
