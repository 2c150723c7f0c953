// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "prim/search.hpp"

#include "prim/cpu/pieces.hpp"

namespace tulle::inline TULLE_ABI::prim {

template <class T>
void search_sorted(const CpuQueue& q, const T* data, offset_t n, const T* wanted, offset_t count, offset_t* found)
{
    each_piece(q, piece_per_thread(q, count, 1024), [&](offset_t, offset_t begin, offset_t end) {
        for (offset_t i = begin; i < end; ++i) found[i] = lower_bound(data, n, wanted[i]);
    });
}

template void search_sorted(const CpuQueue&, const index_t*, offset_t, const index_t*, offset_t, offset_t*);
template void search_sorted(const CpuQueue&, const offset_t*, offset_t, const offset_t*, offset_t, offset_t*);

}  // namespace tulle::inline TULLE_ABI::prim
