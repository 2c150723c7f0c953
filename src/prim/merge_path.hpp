// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Equal work for rows and nonzeros together (Merrill and Garland 2016, doi:10.1109/SC.2016.57): the row ends and the
// nonzeros are two sorted lists; walking their merge takes rows + nonzeros steps, and cutting that walk into equal
// pieces balances both.
#pragma once

#include "base/math.hpp"
#include "tulle/memory.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::prim {

struct MergePoint {
    offset_t row, nonzero;  // rows finished and nonzeros taken before this point
};

// Where the walk stands after `steps` steps. row_begin has rows+1 entries; 0 <= steps <= rows + nonzeros.
constexpr MergePoint merge_point(const offset_t* row_begin, offset_t rows, offset_t nonzeros, offset_t steps)
{
    offset_t low = steps > nonzeros ? steps - nonzeros : 0;
    offset_t high = steps < rows ? steps : rows;
    while (low < high) {  // first row that cannot be finished within `steps`
        const offset_t middle = low + (high - low) / 2;
        if (row_begin[middle + 1] + middle + 1 <= steps) low = middle + 1;
        else high = middle;
    }
    return {low, steps - low};
}

// Its row on the host, where offsets may be anything: no sum of theirs overflows.
template <class Offset>
constexpr offset_t merge_row(const Offset* row_begin, offset_t rows, offset_t nonzeros, offset_t steps)
{
    offset_t low = steps > nonzeros ? steps - nonzeros : 0;
    offset_t high = steps < rows ? steps : rows;
    while (low < high) {
        const offset_t middle = low + (high - low) / 2;
        if (row_begin[middle + 1] < steps - middle) low = middle + 1;
        else high = middle;
    }
    return low;
}

// The steps of each piece but the last ones, which may be shorter or empty.
inline offset_t steps_per_part(offset_t rows, offset_t nonzeros, offset_t parts)
{
    require<ValueError>(parts > 0, [&] { return concat("a merge path cannot be cut into ", parts, " parts"); });
    return ceil_div(rows + nonzeros, parts);
}

// point[p] for p = 0 … parts: piece p walks from point[p] to point[p+1], `steps` of them at ceil((rows + nonzeros) /
// parts) each.
void merge_path(const CpuQueue& q, const offset_t* row_begin, offset_t rows, offset_t nonzeros, offset_t parts,
                MergePoint* point);
void merge_path(const CudaQueue& q, const offset_t* row_begin, offset_t rows, offset_t nonzeros, offset_t parts,
                MergePoint* point);

}  // namespace tulle::inline TULLE_ABI::prim
