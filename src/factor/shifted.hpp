// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What both backends compute of a row before and after it is factorised.
#pragma once

#include "factor/steps.hpp"

namespace tulle::inline TULLE_ABI::factor {

template <class V>
constexpr V magnitude(V v)
{
    return v < V(0) ? -v : v;
}

template <class V>
constexpr V larger_magnitude(V largest, V v)
{
    return magnitude(v) > largest ? magnitude(v) : largest;
}

// Entry k of the pattern in A.
template <class V>
constexpr V value_at(const PatternView& p, const V* a, offset_t k)
{
    if (p.source == nullptr) return a[k];
    return p.source[k] < 0 ? V(0) : a[p.source[k]];
}

// A diagonal entry moved away from zero by a fraction of its magnitude; of the largest of its row, or one, where it is
// zero.
template <class V>
constexpr V shifted(V diagonal, V largest, double shift, bool positive)
{
    const V own = magnitude(diagonal);
    const V scale = own > V(0) ? own : largest > V(0) ? largest : V(1);
    const V step = static_cast<V>(shift) * scale;
    return diagonal < V(0) && !positive ? diagonal - step : diagonal + step;
}

// Why a row that was factorised cannot be used. `residue`: the sum of all its entries times zero, which is zero unless
// one of them is not finite.
template <class V>
constexpr Breakdown judge(V pivot, V residue, bool cholesky)
{
    if (cholesky && pivot <= V(0)) return Breakdown::negative;
    if (!(residue == V(0)) || !(pivot * V(0) == V(0))) return Breakdown::not_finite;
    return pivot == V(0) ? Breakdown::zero_pivot : Breakdown::none;
}

// Row and reason in one word, so that the smallest is that of the first row.
constexpr long long breakdown_word(index_t row, Breakdown why) { return row * 4LL + static_cast<int>(why); }
constexpr FirstBreakdown breakdown_of(long long word)
{
    return {static_cast<index_t>(word / 4), static_cast<Breakdown>(word % 4)};
}

}  // namespace tulle::inline TULLE_ABI::factor
