// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "prim/scale.hpp"

#include "prim/cpu/pieces.hpp"
#include "tulle/float16.hpp"

namespace tulle::inline TULLE_ABI::prim {

template <class T>
void scale(const CpuQueue& q, const Lines<T>& all, Factor<T> factor)
{
    if (factor == 1 || all.lines == 0 || all.length == 0) return;
    each_piece(q, piece_per_thread(q, all.lines * all.length), [&](offset_t, offset_t begin, offset_t end) {
        for (offset_t k = begin; k < end; ++k) {
            T& number = all.data[k / all.length * all.leading + k % all.length];
            number = factor == 0 ? T(0) : static_cast<T>(factor * static_cast<Factor<T>>(number));
        }
    });
}

template void scale(const CpuQueue&, const Lines<float>&, float);
template void scale(const CpuQueue&, const Lines<double>&, double);
template void scale(const CpuQueue&, const Lines<Float16>&, float);
template void scale(const CpuQueue&, const Lines<Bfloat16>&, float);

}  // namespace tulle::inline TULLE_ABI::prim
