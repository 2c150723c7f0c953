// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "spgemm/team/split_rows.hpp"

namespace tulle::inline TULLE_ABI::spgemm {

void scan_split_candidates(const CpuQueue& q, const offset_t* prefix, offset_t items, offset_t count,
                           partition::SplitCandidate* found)
{
#pragma omp parallel for num_threads(q.threads) schedule(static)
    for (offset_t item = 0; item <= items; ++item)
        for (offset_t p = 0; p < count; ++p) {
            const offset_t position = partition::fair_position(prefix[items], p, count - 1);
            if (begins_at(prefix, items, item, position))
                found[p] = {position, item, item == 0 ? 0 : prefix[item - 1], prefix[item]};
        }
}

}  // namespace tulle::inline TULLE_ABI::spgemm
