// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "partition/cutting.hpp"

namespace tulle::inline TULLE_ABI::partition {

template <class Prefix>
void find_split_candidates(const CpuQueue&, const Prefix* prefix, offset_t items, const offset_t* wanted,
                           offset_t count, SplitCandidate* found)
{
    for (offset_t i = 0; i < count; ++i)
        found[i] = around_nth(prefix, items, wanted, count, i);  // one for every part: too few for threads
}

template void find_split_candidates(const CpuQueue&, const offset_t*, offset_t, const offset_t*, offset_t,
                                    SplitCandidate*);
template void find_split_candidates(const CpuQueue&, const index_t*, offset_t, const offset_t*, offset_t,
                                    SplitCandidate*);

}  // namespace tulle::inline TULLE_ABI::partition
