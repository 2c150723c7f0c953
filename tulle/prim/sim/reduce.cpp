// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "tulle/prim/reduce.hpp"

#include "tulle/prim/sim/host.hpp"

namespace tulle::prim {

template <class T> T sum(const CudaQueue& q, const T* data, offset_t n) { return sum(host_after(q), data, n); }

template <class T> T maximum(const CudaQueue& q, const T* data, offset_t n, T least) { return maximum(host_after(q), data, n, least); }

template <class T> T minimum(const CudaQueue& q, const T* data, offset_t n, T most) { return minimum(host_after(q), data, n, most); }

template index_t  sum(const CudaQueue&, const index_t*, offset_t);
template offset_t sum(const CudaQueue&, const offset_t*, offset_t);
template float    sum(const CudaQueue&, const float*, offset_t);
template double   sum(const CudaQueue&, const double*, offset_t);
template index_t  maximum(const CudaQueue&, const index_t*, offset_t, index_t);
template offset_t maximum(const CudaQueue&, const offset_t*, offset_t, offset_t);
template float    maximum(const CudaQueue&, const float*, offset_t, float);
template double   maximum(const CudaQueue&, const double*, offset_t, double);
template index_t  minimum(const CudaQueue&, const index_t*, offset_t, index_t);
template offset_t minimum(const CudaQueue&, const offset_t*, offset_t, offset_t);
template float    minimum(const CudaQueue&, const float*, offset_t, float);
template double   minimum(const CudaQueue&, const double*, offset_t, double);

}  // namespace tulle::prim
