// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Every thread takes an equal share of the nonzeros, so that one long row is no burden.
#include "matrix/convert_steps.hpp"

#include "prim/cpu/pieces.hpp"
#include "prim/search.hpp"

namespace tulle::inline TULLE_ABI::matrix {

void expand_rows(const CpuQueue& q, const offset_t* row_begin, index_t rows, offset_t nonzeros, index_t* row)
{
    prim::each_piece(q, prim::piece_per_thread(q, nonzeros), [&](offset_t, offset_t begin, offset_t end) {
        offset_t i = prim::upper_bound(row_begin, offset_t{rows} + 1, begin) - 1;
        for (offset_t k = begin; k < end; ++k) {
            while (row_begin[i + 1] <= k) ++i;
            row[k] = static_cast<index_t>(i);
        }
    });
}

// The first row of a piece is searched for; from there on the rows and the nonzeros are walked side by side.
void compress_rows(const CpuQueue& q, const index_t* row, offset_t nonzeros, index_t rows, offset_t* row_begin)
{
    prim::each_piece(q, prim::piece_per_thread(q, offset_t{rows} + 1, 1024),
                     [&](offset_t, offset_t begin, offset_t end) {
                         offset_t k = prim::lower_bound(row, nonzeros, static_cast<index_t>(begin));
                         for (offset_t i = begin; i < end; ++i) {
                             while (k < nonzeros && row[k] < i) ++k;
                             row_begin[i] = k;
                         }
                     });
}

}  // namespace tulle::inline TULLE_ABI::matrix
