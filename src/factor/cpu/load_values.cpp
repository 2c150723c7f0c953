// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "factor/shifted.hpp"
#include "factor/steps.hpp"
#include "prim/cpu/pieces.hpp"

namespace tulle::inline TULLE_ABI::factor {

template <class V>
void load_values(const CpuQueue& q, const PatternView& p, const V* a, double shift, bool positive, V* value)
{
    if (shift == 0 && p.source == nullptr) return copy(q, a, value, p.row_begin[p.rows]);
    prim::each_piece(q, prim::piece_per_thread(q, p.rows, 1024), [&](offset_t, offset_t begin, offset_t end) {
        for (offset_t i = begin; i < end; ++i) {
            const offset_t first = p.row_begin[i], last = p.row_begin[i + 1];
            for (offset_t k = first; k < last; ++k) value[k] = value_at(p, a, k);
            if (shift == 0) continue;
            V largest = 0;
            for (offset_t k = first; k < last; ++k) largest = larger_magnitude(largest, value[k]);
            value[p.diagonal[i]] = shifted(value[p.diagonal[i]], largest, shift, positive);
        }
    });
}

template void load_values(const CpuQueue&, const PatternView&, const float*, double, bool, float*);
template void load_values(const CpuQueue&, const PatternView&, const double*, double, bool, double*);

}  // namespace tulle::inline TULLE_ABI::factor
