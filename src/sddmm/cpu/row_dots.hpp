// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Products of one row of X with some rows of Y at once, in vectors as wide as the machine's registers. A product is
// added up in the same order however many are computed at once.
#pragma once

#include "base/vector.hpp"
#include "sddmm/steps.hpp"

namespace tulle::inline TULLE_ABI::sddmm {

// The sum of a vector's numbers, halves first.
template <int Count, class S>
[[gnu::always_inline]] inline S add_up(simd::Vector<S, Count> v)
{
    S at[Count];
    __builtin_memcpy(at, &v, sizeof(v));
    for (int n = Count / 2; n > 0; n /= 2)
        for (int l = 0; l < n; ++l) at[l] += at[l + n];
    return at[0];
}

// dot[i] = x . y[i], rows contiguous. Even and odd vectors are added up apart, so that an addition need not wait for
// the one before it.
template <int Count, int Rows, class V>
[[gnu::always_inline]] inline void vector_dots(const V* x, const V* const (&y)[Rows], index_t k, Sum<V> (&dot)[Rows])
{
    using S = Sum<V>;
    simd::Vector<S, Count> even[Rows] = {}, odd[Rows] = {};
    index_t j = 0;
    for (; j + 2 * Count <= k; j += 2 * Count) {
        const auto first = simd::load<Count>(x + j), second = simd::load<Count>(x + j + Count);
        for (int i = 0; i < Rows; ++i) {
            even[i] += first * simd::load<Count>(y[i] + j);
            odd[i] += second * simd::load<Count>(y[i] + j + Count);
        }
    }
    if (j + Count <= k) {
        const auto first = simd::load<Count>(x + j);
        for (int i = 0; i < Rows; ++i) even[i] += first * simd::load<Count>(y[i] + j);
        j += Count;
    }
    for (int i = 0; i < Rows; ++i) {
        S rest = 0;
        for (index_t t = j; t < k; ++t) rest += static_cast<S>(x[t]) * static_cast<S>(y[i][t]);
        dot[i] = add_up<Count, S>(even[i] + odd[i]) + rest;
    }
}

// The same whatever the strides.
template <int Rows, class V>
inline void strided_dots(const Strided<const V>& x, const Strided<const V>& y, offset_t row, const index_t (&col)[Rows],
                         index_t k, Sum<V> (&dot)[Rows])
{
    using S = Sum<V>;
    for (int i = 0; i < Rows; ++i) {
        S sum = 0;
        for (index_t j = 0; j < k; ++j)
            sum += static_cast<S>(x.data[row * x.row + j * x.col]) * static_cast<S>(y.data[col[i] * y.row + j * y.col]);
        dot[i] = sum;
    }
}

// Row `row` of X with the rows of Y that col[0 … Rows - 1] name.
template <int Count, int Rows, class V>
[[gnu::always_inline]] inline void row_dots(const Strided<const V>& x, const Strided<const V>& y, offset_t row,
                                            const index_t* columns, index_t k, Sum<V> (&dot)[Rows])
{
    if (x.col == 1 && y.col == 1) {
        const V* rows[Rows];
        for (int i = 0; i < Rows; ++i) rows[i] = y.data + columns[i] * y.row;
        return vector_dots<Count, Rows, V>(x.data + row * x.row, rows, k, dot);
    }
    index_t col[Rows];
    for (int i = 0; i < Rows; ++i) col[i] = columns[i];
    strided_dots(x, y, row, col, k, dot);
}

// dot[p] for all nonzeros [begin, end) of a row, given to put(p, dot).
template <int Count, class V, class Put>
[[gnu::always_inline]] inline void walk_dots(const Strided<const V>& x, const Strided<const V>& y, offset_t row,
                                             const index_t* col, offset_t begin, offset_t end, index_t k, Put&& put)
{
    constexpr int at_once = 4;
    offset_t p = begin;
    for (; p + at_once <= end; p += at_once) {
        Sum<V> dot[at_once];
        row_dots<Count>(x, y, row, col + p, k, dot);
        for (int i = 0; i < at_once; ++i) put(p + i, dot[i]);
    }
    for (; p < end; ++p) {
        Sum<V> dot[1];
        row_dots<Count>(x, y, row, col + p, k, dot);
        put(p, dot[0]);
    }
}

}  // namespace tulle::inline TULLE_ABI::sddmm
