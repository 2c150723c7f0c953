// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Columns of B to rows: strips of rows that stay in the cache while all columns pass.
#include <algorithm>

#include "spmm/steps.hpp"

namespace tulle::inline TULLE_ABI::spmm {

template <class V>
void turn_columns(const CpuQueue& q, const V* b, offset_t leading, index_t rows, index_t n, V* to)
{
    constexpr offset_t strip = 64;
#pragma omp parallel for num_threads(q.threads) schedule(static)
    for (offset_t begin = 0; begin < rows; begin += strip)
        for (offset_t j = 0; j < n; ++j)
            for (offset_t i = begin; i < std::min<offset_t>(rows, begin + strip); ++i)
                to[i * n + j] = b[i + j * leading];
}

template void turn_columns(const CpuQueue&, const float*, offset_t, index_t, index_t, float*);
template void turn_columns(const CpuQueue&, const double*, offset_t, index_t, index_t, double*);
template void turn_columns(const CpuQueue&, const Float16*, offset_t, index_t, index_t, Float16*);
template void turn_columns(const CpuQueue&, const Bfloat16*, offset_t, index_t, index_t, Bfloat16*);

}  // namespace tulle::inline TULLE_ABI::spmm
