// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// One sweep in row order: every row finds the levels of those before ready. A chain of rows leaves nothing to do in
// parallel, and memory bandwidth, not arithmetic, is the limit of the rest.
#include <algorithm>

#include "matrix/inspect_steps.hpp"

namespace tulle::inline TULLE_ABI::inspect {

void find_levels(const CpuQueue&, const offset_t* row_begin, const index_t* col, index_t rows, index_t* level)
{
    for (index_t i = 0; i < rows; ++i) {
        index_t before = 0;
        for (offset_t k = row_begin[i]; k < row_begin[i + 1]; ++k)
            if (col[k] < i) before = std::max(before, level[col[k]]);
        level[i] = before + 1;
    }
}

}  // namespace tulle::inline TULLE_ABI::inspect
