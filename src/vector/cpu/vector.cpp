// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "vector/vector.hpp"

#include "vector/cpu/pass.hpp"
#include "vector/ops.hpp"

namespace tulle::inline TULLE_ABI::vector {

template <class V>
void dot(const CpuQueue& q, offset_t n, const V* x, const V* y, double* result, const PassSpace& space)
{
    pass(q, n, Dot<V>{x, y, result}, space);
}

template <class V>
void axpby(const CpuQueue& q, offset_t n, double alpha, const V* x, double beta, V* y)
{
    pass(q, n, Axpby<V>{alpha, x, beta, y}, {});
}

template <class V>
void multiply(const CpuQueue& q, offset_t n, const V* d, const V* r, V* z)
{
    pass(q, n, Multiply<V>{d, r, z}, {});
}

template <class From, class To>
void convert(const CpuQueue& q, offset_t n, const From* from, To* to, const double* scale)
{
    pass(q, n, Convert<From, To>{from, to, scale}, {});
}

template <class V>
void fill_scattered(const CpuQueue& q, offset_t n, V* x)
{
    pass(q, n, FillScattered<V>{x}, {});
}

template <class V>
void lanczos_start(const CpuQueue& q, offset_t n, const V* diagonal, const V* w, Lanczos* state, const PassSpace& space)
{
    pass(q, n, LanczosStart<V>{diagonal, w, state}, space);
}

template <class V>
void lanczos_alpha(const CpuQueue& q, offset_t n, const V* w, const V* y, Lanczos* state, const PassSpace& space)
{
    pass(q, n, LanczosAlpha<V>{w, y, state}, space);
}

template <class V>
void lanczos_next(const CpuQueue& q, offset_t n, const V* y, const V* diagonal, const V* w, V* u, Lanczos* state,
                  const PassSpace& space)
{
    pass(q, n, LanczosNext<V>{y, diagonal, w, u, state}, space);
}

template void dot(const CpuQueue&, offset_t, const float*, const float*, double*, const PassSpace&);
template void dot(const CpuQueue&, offset_t, const double*, const double*, double*, const PassSpace&);
template void axpby(const CpuQueue&, offset_t, double, const float*, double, float*);
template void axpby(const CpuQueue&, offset_t, double, const double*, double, double*);
template void multiply(const CpuQueue&, offset_t, const float*, const float*, float*);
template void multiply(const CpuQueue&, offset_t, const double*, const double*, double*);
template void convert(const CpuQueue&, offset_t, const double*, float*, const double*);
template void convert(const CpuQueue&, offset_t, const float*, double*, const double*);
template void fill_scattered(const CpuQueue&, offset_t, float*);
template void lanczos_start(const CpuQueue&, offset_t, const float*, const float*, Lanczos*, const PassSpace&);
template void lanczos_alpha(const CpuQueue&, offset_t, const float*, const float*, Lanczos*, const PassSpace&);
template void lanczos_next(const CpuQueue&, offset_t, const float*, const float*, const float*, float*, Lanczos*,
                           const PassSpace&);
template void fill_scattered(const CpuQueue&, offset_t, double*);
template void lanczos_start(const CpuQueue&, offset_t, const double*, const double*, Lanczos*, const PassSpace&);
template void lanczos_alpha(const CpuQueue&, offset_t, const double*, const double*, Lanczos*, const PassSpace&);
template void lanczos_next(const CpuQueue&, offset_t, const double*, const double*, const double*, double*, Lanczos*,
                           const PassSpace&);

}  // namespace tulle::inline TULLE_ABI::vector
