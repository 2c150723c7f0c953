// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "prim/merge_path.hpp"

#include "prim/cpu/pieces.hpp"

namespace tulle::inline TULLE_ABI::prim {

void merge_path(const CpuQueue& q, const offset_t* row_begin, offset_t rows, offset_t nonzeros, offset_t parts,
                MergePoint* point)
{
    const offset_t each = steps_per_part(rows, nonzeros, parts);
    each_piece(q, piece_per_thread(q, parts + 1, 1024), [&](offset_t, offset_t begin, offset_t end) {
        for (offset_t p = begin; p < end; ++p)
            point[p] = merge_point(row_begin, rows, nonzeros, std::min(rows + nonzeros, p * each));
    });
}

}  // namespace tulle::inline TULLE_ABI::prim
