// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "factor/arrange.hpp"
#include "prim/cpu/pieces.hpp"

namespace tulle::inline TULLE_ABI::factor {

template <class V>
void gather(const CpuQueue& q, const Gather<V>& by, const V* from, V* to)
{
    prim::each_piece(q, prim::piece_per_thread(q, by.index.size(), 4096), [&](offset_t, offset_t begin, offset_t end) {
        const offset_t* const index = by.index.data();
        if (by.scale.empty())
            for (offset_t i = begin; i < end; ++i) to[i] = from[index[i]];
        else
            for (offset_t i = begin; i < end; ++i) to[i] = by.scale.data()[i] * from[index[i]];
    });
}

template void gather(const CpuQueue&, const Gather<float>&, const float*, float*);
template void gather(const CpuQueue&, const Gather<double>&, const double*, double*);

}  // namespace tulle::inline TULLE_ABI::factor
