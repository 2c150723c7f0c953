// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Rows whose pattern follows from that of the row before: the same columns (several unknowns at a node), or all columns
// one further (stencils on grids, bands). A row of C inherits the relation of its row of A; for `shifted` every row of
// B that it uses must be shifted as well. Then the count of the row before is known to be right, its columns are
// copied, and its products fall on the same places.
#pragma once

#include "tulle/csr.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::spgemm {

enum Relation : unsigned char { unrelated = 0, equal_pattern = 1, shifted_pattern = 2 };

template <class V>
Relation relation_of(const CsrView<V>& m, offset_t row)
{
    if (row == 0) return unrelated;
    const offset_t begin = m.row_begin[row], length = m.row_begin[row + 1] - begin;
    if (length == 0 || begin - m.row_begin[row - 1] != length) return unrelated;
    const index_t *col = m.col + begin, *before = col - length, step = col[0] - before[0];
    if (step != 0 && step != 1) return unrelated;
    for (offset_t k = 1; k < length; ++k)
        if (col[k] - before[k] != step) return unrelated;
    return step == 0 ? equal_pattern : shifted_pattern;
}

// Of a row of C.
template <class V>
Relation relation_of_product(const CsrView<V>& a, const unsigned char* relations_b, Relation of_a, offset_t row)
{
    if (of_a != shifted_pattern) return of_a;
    for (offset_t k = a.row_begin[row]; k < a.row_begin[row + 1]; ++k)
        if (relations_b[a.col[k]] != shifted_pattern) return unrelated;
    return shifted_pattern;
}

}  // namespace tulle::inline TULLE_ABI::spgemm
