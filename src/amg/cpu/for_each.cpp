// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "amg/steps.hpp"
#include "prim/cpu/pieces.hpp"

namespace tulle::inline TULLE_ABI::amg {

template <class Step>
void for_each(const CpuQueue& q, offset_t n, const Step& step)
{
    prim::each_piece(q, prim::piece_per_thread(q, n, 1024), [&, step](offset_t, offset_t begin, offset_t end) {
        for (offset_t i = begin; i < end; ++i) step(i);
    });
}

#define TULLE_FOR_EACH(...) template void for_each(const CpuQueue&, offset_t, const __VA_ARGS__&);
TULLE_AMG_STEPS(TULLE_FOR_EACH)
#undef TULLE_FOR_EACH

}  // namespace tulle::inline TULLE_ABI::amg
