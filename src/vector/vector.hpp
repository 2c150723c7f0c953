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

// A fixed vector with entries from -1 to 1.
template <class V>
void fill_scattered(const CpuQueue& q, offset_t n, V* x);
template <class V>
void fill_scattered(const CudaQueue& q, offset_t n, V* x);

// The Lanczos method for D^-1 A in the inner product of D. Scalars stay in the memory of the queue: all steps can be
// put on it without waiting. A step:
//
//     y = A w;  lanczos_alpha(w, y);  lanczos_next(y, D, w, u);  swap(u, w)
inline constexpr int most_lanczos_steps = 16;
inline constexpr double least_lanczos_norm = 1e-6;  // of the first alpha: a norm below it ends the method

struct Lanczos {
    int steps;  // done
    bool on;    // further ones make sense
    double norm, norm_before;
    double alpha[most_lanczos_steps], beta[most_lanczos_steps];  // of the tridiagonal matrix: diagonal, beside it
};

template <class V>
void lanczos_start(const CpuQueue& q, offset_t n, const V* diagonal, const V* w, Lanczos* state,
                   const PassSpace& space);
template <class V>
void lanczos_start(const CudaQueue& q, offset_t n, const V* diagonal, const V* w, Lanczos* state,
                   const PassSpace& space);
template <class V>
void lanczos_alpha(const CpuQueue& q, offset_t n, const V* w, const V* y, Lanczos* state, const PassSpace& space);
template <class V>
void lanczos_alpha(const CudaQueue& q, offset_t n, const V* w, const V* y, Lanczos* state, const PassSpace& space);
// u: the w before; gets the next one.
template <class V>
void lanczos_next(const CpuQueue& q, offset_t n, const V* y, const V* diagonal, const V* w, V* u, Lanczos* state,
                  const PassSpace& space);
template <class V>
void lanczos_next(const CudaQueue& q, offset_t n, const V* y, const V* diagonal, const V* w, V* u, Lanczos* state,
                  const PassSpace& space);

}  // namespace tulle::inline TULLE_ABI::vector
