// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// dot(y, x) and dot(y, y): in pieces of a fixed length, so that the bits do not depend on the number of threads.
#include <algorithm>

#include "prim/cpu/pieces.hpp"
#include "spmv/steps.hpp"

namespace tulle::inline TULLE_ABI::spmv {

template <class V>
void add_up_dots(const CpuQueue& q, index_t n, const Vectors<V>& v)
{
    const offset_t pieces = dot_pairs(n);
    const auto dot = [&](offset_t s) {
        V xy = 0, yy = 0;
        for (offset_t i = s * rows_per_dot_pair; i < std::min<offset_t>(n, (s + 1) * rows_per_dot_pair); ++i) {
            xy += v.y[i] * v.x[i];
            yy += v.y[i] * v.y[i];
        }
        v.dots.partial[2 * s] = xy;
        v.dots.partial[2 * s + 1] = yy;
    };
    prim::each_piece(q, prim::pieces_of(pieces, ceil_div(pieces, offset_t{q.threads})),
                     [&](offset_t, offset_t begin, offset_t end) {
                         for (offset_t s = begin; s < end; ++s) dot(s);
                     });
    v.dots.result[0] = v.dots.result[1] = 0;
    for (offset_t s = 0; s < pieces; ++s) {
        v.dots.result[0] += v.dots.partial[2 * s];
        v.dots.result[1] += v.dots.partial[2 * s + 1];
    }
}

template void add_up_dots(const CpuQueue&, index_t, const Vectors<float>&);
template void add_up_dots(const CpuQueue&, index_t, const Vectors<double>&);

}  // namespace tulle::inline TULLE_ABI::spmv
