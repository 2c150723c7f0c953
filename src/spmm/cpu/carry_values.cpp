// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Values to where a kernel reads them.
#include "spmm/steps.hpp"

namespace tulle::inline TULLE_ABI::spmm {

template <class V>
void carry_values(const CpuQueue& q, const V* from, const offset_t* source, offset_t n, V* to)
{
#pragma omp parallel for num_threads(q.threads) schedule(static)
    for (offset_t k = 0; k < n; ++k) to[k] = from[source[k]];
}

template <class V>
void spread_values(const CpuQueue& q, const V* from, const offset_t* place, offset_t n, V* to)
{
#pragma omp parallel for num_threads(q.threads) schedule(static)
    for (offset_t k = 0; k < n; ++k) to[place[k]] = from[k];
}

template void carry_values(const CpuQueue&, const float*, const offset_t*, offset_t, float*);
template void carry_values(const CpuQueue&, const double*, const offset_t*, offset_t, double*);
template void carry_values(const CpuQueue&, const Float16*, const offset_t*, offset_t, Float16*);
template void carry_values(const CpuQueue&, const Bfloat16*, const offset_t*, offset_t, Bfloat16*);
template void spread_values(const CpuQueue&, const float*, const offset_t*, offset_t, float*);
template void spread_values(const CpuQueue&, const double*, const offset_t*, offset_t, double*);
template void spread_values(const CpuQueue&, const Float16*, const offset_t*, offset_t, Float16*);
template void spread_values(const CpuQueue&, const Bfloat16*, const offset_t*, offset_t, Bfloat16*);

}  // namespace tulle::inline TULLE_ABI::spmm
