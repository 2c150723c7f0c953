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

template void dot(const CpuQueue&, offset_t, const float*, const float*, double*, const PassSpace&);
template void dot(const CpuQueue&, offset_t, const double*, const double*, double*, const PassSpace&);
template void axpby(const CpuQueue&, offset_t, double, const float*, double, float*);
template void axpby(const CpuQueue&, offset_t, double, const double*, double, double*);
template void multiply(const CpuQueue&, offset_t, const float*, const float*, float*);
template void multiply(const CpuQueue&, offset_t, const double*, const double*, double*);
template void convert(const CpuQueue&, offset_t, const double*, float*, const double*);
template void convert(const CpuQueue&, offset_t, const float*, double*, const double*);

}  // namespace tulle::inline TULLE_ABI::vector
