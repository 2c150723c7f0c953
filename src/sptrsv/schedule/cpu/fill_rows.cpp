// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "sptrsv/steps.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {

template <class V>
index_t fill_rows(const CpuQueue& q, const Rows& rows, const V* value, RowValues<V>& to)
{
    index_t first_zero = rows.rows;
#pragma omp parallel for num_threads(q.threads) schedule(static) reduction(min : first_zero)
    for (index_t i = 0; i < rows.rows; ++i) {
        const V diagonal = rows.diagonal.empty() ? V(1) : value[rows.diagonal.data()[i]];
        if (diagonal == V(0) && i < first_zero) first_zero = i;
        const V reciprocal = V(1) / diagonal;
        to.reciprocal.data()[i] = reciprocal;
        for (offset_t k = rows.begin.data()[i]; k < rows.begin.data()[i + 1]; ++k)
            to.value.data()[k] = value[rows.source.data()[k]] * reciprocal;
    }
    return first_zero < rows.rows ? rows.row.data()[first_zero] : -1;
}

template index_t fill_rows(const CpuQueue&, const Rows&, const float*, RowValues<float>&);
template index_t fill_rows(const CpuQueue&, const Rows&, const double*, RowValues<double>&);

}  // namespace tulle::inline TULLE_ABI::sptrsv
