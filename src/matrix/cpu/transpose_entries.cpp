// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Rows are walked in order, and each nonzero goes straight to its place in its column: no list of rows or positions in
// between.
#include <algorithm>

#include "matrix/convert_steps.hpp"
#include "matrix/cpu/bins.hpp"

namespace tulle::inline TULLE_ABI::matrix {

template <class V>
void transpose_entries(const CpuQueue& q, const CsrView<V>& a, offset_t* col_begin, index_t* row, V* value,
                       offset_t* source)
{
    deal_to_bins(q, a.col, a.nonzeros, a.cols, col_begin, [&](offset_t begin, offset_t end, offset_t* next) {
        auto i = static_cast<index_t>(std::upper_bound(a.row_begin, a.row_begin + a.rows + 1, begin) - a.row_begin - 1);
        for (offset_t k = begin; k < end; ++i)
            for (const offset_t last = std::min(end, a.row_begin[i + 1]); k < last; ++k) {
                const offset_t to = next[a.col[k]]++;
                row[to] = i;
                value[to] = a.value[k];
                if (source) source[to] = k;
            }
    });
}

template void transpose_entries(const CpuQueue&, const CsrView<float>&, offset_t*, index_t*, float*, offset_t*);
template void transpose_entries(const CpuQueue&, const CsrView<double>&, offset_t*, index_t*, double*, offset_t*);

}  // namespace tulle::inline TULLE_ABI::matrix
