// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "prim/cpu/pieces.hpp"
#include "tulle/outline.hpp"

namespace tulle::inline TULLE_ABI::matrix {

void widen_offsets(const CpuQueue& q, const std::int32_t* from, offset_t n, offset_t* to)
{
    prim::each_piece(q, prim::piece_per_thread(q, n), [&](offset_t, offset_t begin, offset_t end) {
        for (offset_t k = begin; k < end; ++k) to[k] = from[k];
    });
}

}  // namespace tulle::inline TULLE_ABI::matrix
