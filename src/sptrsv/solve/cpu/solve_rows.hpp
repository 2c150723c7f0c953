// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A row on the CPU, for the serial kernel and for the levels: columns of right-hand sides four at a time, so that an
// entry is read once for all four.
#pragma once

#include <algorithm>
#include <type_traits>

#include "sptrsv/steps.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {

inline constexpr index_t columns_at_once = 4;

// Two sums side by side where the row is long enough, and the last entry at the very end: its column is the nearest and
// was solved last, so that nothing but one product waits for it. Step is 1, or the distance of x's entries.
template <class Step, class V>
V solve_one(const V* value, const index_t* col, offset_t n, V start, const V* x, Step step)
{
    constexpr offset_t few = 4;
    V sum = start;
    offset_t k = 0;
    if (n > few) {
        V odd = 0;
        for (; k + 2 < n; k += 2) {
            sum -= value[k] * x[col[k] * step];
            odd -= value[k + 1] * x[col[k + 1] * step];
        }
        sum += odd;
    }
    for (; k < n; ++k) sum -= value[k] * x[col[k] * step];
    return sum;
}

template <class V>
void solve_four(const V* value, const index_t* col, offset_t n, V (&sum)[columns_at_once], const V* x,
                const RhsView<V>& s)
{
    for (offset_t k = 0; k < n; ++k)
        for (index_t j = 0; j < columns_at_once; ++j) sum[j] -= value[k] * x[col[k] * s.x_row + j * s.x_col];
}

// Row i, in the order of solving, for all right-hand sides.
template <class V>
void solve_row(const Rows& rows, const RowValues<V>& values, index_t i, const RhsView<V>& s)
{
    const offset_t begin = rows.begin.data()[i], n = rows.begin.data()[i + 1] - begin;
    const V* value = values.value.data() + begin;
    const index_t* col = rows.col.data() + begin;
    const offset_t row = rows.row.data()[i];
    const V scale = values.reciprocal.data()[i];
    const auto right = [&](index_t j) { return s.alpha * s.b[row * s.b_row + j * s.b_col] * scale; };
    index_t j = 0;
    for (; j + columns_at_once <= s.columns; j += columns_at_once) {
        V sum[columns_at_once];
        for (index_t c = 0; c < columns_at_once; ++c) sum[c] = right(j + c);
        solve_four(value, col, n, sum, s.x + j * s.x_col, s);
        for (index_t c = 0; c < columns_at_once; ++c) s.x[row * s.x_row + (j + c) * s.x_col] = sum[c];
    }
    for (; j < s.columns; ++j)
        s.x[row * s.x_row + j * s.x_col] = solve_one(value, col, n, right(j), s.x + j * s.x_col, s.x_row);
}

// Rows first … last-1 in the order of solving. One right-hand side without gaps is the usual case, and gets a loop
// without multiplications of indices.
template <class V>
void solve_stretch(const Rows& rows, const RowValues<V>& values, index_t first, index_t last, const RhsView<V>& s)
{
    if (s.columns != 1 || s.b_row != 1 || s.x_row != 1) {
        for (index_t i = first; i < last; ++i) solve_row(rows, values, i, s);
        return;
    }
    const offset_t* begin = rows.begin.data();
    const index_t *row = rows.row.data(), *col = rows.col.data();
    const V *value = values.value.data(), *reciprocal = values.reciprocal.data(), *b = s.b;
    V* x = s.x;
    offset_t k = begin[first];
    for (index_t i = first; i < last; ++i) {
        const offset_t end = begin[i + 1];
        x[row[i]] = solve_one(value + k, col + k, end - k, s.alpha * b[row[i]] * reciprocal[i], x,
                              std::integral_constant<index_t, 1>{});
        k = end;
    }
}

}  // namespace tulle::inline TULLE_ABI::sptrsv
