// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/steps.hpp"

namespace tulle::inline TULLE_ABI::mpi {

template <class V>
void pack(const CpuQueue&, const V* from, const index_t* index, offset_t n, index_t width, V* to)
{
    for (offset_t k = 0; k < n; ++k)
        for (index_t j = 0; j < width; ++j) to[k * width + j] = from[offset_t{index[k]} * width + j];
}

template void pack(const CpuQueue&, const float*, const index_t*, offset_t, index_t, float*);
template void pack(const CpuQueue&, const double*, const index_t*, offset_t, index_t, double*);
template void pack(const CpuQueue&, const offset_t*, const index_t*, offset_t, index_t, offset_t*);

}  // namespace tulle::inline TULLE_ABI::mpi
