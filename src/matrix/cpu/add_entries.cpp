// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "matrix/inspect_entries.hpp"
#include "matrix/inspect_steps.hpp"

namespace tulle::inline TULLE_ABI::inspect {

EntrySums add_entries(const CpuQueue& q, const offset_t* row_begin, const index_t* col, index_t rows, index_t cols)
{
    offset_t below = 0, above = 0, diagonal = 0, products = 0;
    const int threads = threads_for(q, rows > 0 ? row_begin[rows] : 0);
#pragma omp parallel num_threads(threads)
#pragma omp for schedule(dynamic, 256) reduction(max : below, above) reduction(+ : diagonal, products)
    for (index_t i = 0; i < rows; ++i)
        for (offset_t k = row_begin[i]; k < row_begin[i + 1]; ++k) {
            const offset_t distance = offset_t{col[k]} - i;
            below = std::max(below, -distance);
            above = std::max(above, distance);
            diagonal += distance == 0;
            if (rows == cols) products += length_of(row_begin, col[k]);
        }
    return {below, above, diagonal, products};
}

}  // namespace tulle::inline TULLE_ABI::inspect
