// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "matrix/inspect_steps.hpp"

namespace tulle::inline TULLE_ABI::inspect {

template <class Check>
offset_t count_where(const CpuQueue& q, const Check& check, offset_t n)
{
    offset_t count = 0;
#pragma omp parallel for num_threads(threads_for(q, n)) schedule(static) reduction(+ : count)
    for (offset_t k = 0; k < n; ++k) count += check(k) ? 1 : 0;
    return count;
}

template offset_t count_where(const CpuQueue&, const NotFinite<float>&, offset_t);
template offset_t count_where(const CpuQueue&, const NotFinite<double>&, offset_t);
template offset_t count_where(const CpuQueue&, const NotFiniteInBlock<float>&, offset_t);
template offset_t count_where(const CpuQueue&, const NotFiniteInBlock<double>&, offset_t);
template offset_t count_where(const CpuQueue&, const IsZero&, offset_t);

}  // namespace tulle::inline TULLE_ABI::inspect
