// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// One right-hand side, row after row by one thread. The order of operations is the row's own, and the same in all
// loops here: the same bits from each of them, where products and differences are rounded one by one
// (-ffp-contract=off).
#pragma once

#include <type_traits>

#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {

// A row as it is solved: its unknown, the right-hand side divided by the diagonal, and its n entries, divided by the
// diagonal too. Entry k stands k places behind the first, or before it where Direction is -1; the nearest is the last.
template <class V, class C = index_t>
struct SweepRow {
    index_t row;
    V start;
    const V* value;
    const C* col;
    offset_t n;
};

// Two sums side by side where the row is long enough, and the last entry at the very end: its column is the nearest and
// was solved last, so that nothing but one product waits for it. Step is 1, or the distance of x's entries. `left`:
// entries at the end that are left out, 0 or 1.
template <int Direction = 1, class Step, class V, class C>
inline V solve_one(const V* value, const C* col, offset_t n, V start, const V* x, Step step, offset_t left = 0)
{
    constexpr offset_t few = 4;
    const auto product = [&](offset_t k) { return value[k * Direction] * x[col[k * Direction] * step]; };
    V sum = start;
    offset_t k = 0;
    if (n > few) {
        V odd = 0;
        for (; k + 2 < n; k += 2) {
            sum -= product(k);
            odd -= product(k + 1);
        }
        sum += odd;
    }
    for (; k + left < n; ++k) sum -= product(k);
    return sum;
}

// Rows first … last-1 in the order of solving; row_at(i) is a SweepRow and is asked in this order.
template <int Direction = 1, class V, class RowAt>
inline void sweep_rows(index_t first, index_t last, V* x, RowAt&& row_at)
{
    for (index_t i = first; i < last; ++i) {
        const auto r = row_at(i);
        x[r.row] = solve_one<Direction>(r.value, r.col, r.n, r.start, x, std::integral_constant<index_t, 1>{});
    }
}

// The same bits where most rows end with the row before them: its unknown is taken from a register. A branch that is
// predicted waits for nothing, a load would wait for the store before it.
template <int Direction = 1, class V, class RowAt>
inline void sweep_chain(index_t first, index_t last, V* x, RowAt&& row_at)
{
    V latest = 0;
    index_t before = -1;
    for (index_t i = first; i < last; ++i) {
        const auto r = row_at(i);
        V sum =
            solve_one<Direction>(r.value, r.col, r.n, r.start, x, std::integral_constant<index_t, 1>{}, offset_t{1});
        if (r.n > 0) {
            const offset_t end = (r.n - 1) * Direction;
            V nearest = latest;
            if (r.col[end] != before) [[unlikely]] {
                asm volatile("");  // else compilers make a conditional move of it, which waits for the load
                nearest = x[r.col[end]];
            }
            sum -= r.value[end] * nearest;
        }
        x[r.row] = latest = sum;
        before = r.row;
    }
}

// Rows with zeros between their entries, so that few lengths are left: none, four, or two and a multiple of four. The
// zeros stand before all entries, and one before the last where a row of more than four has an odd number of them: the
// order of solve_one() is kept, and so are the bits of finite numbers.
constexpr offset_t padded_length(offset_t n)
{
    if (n <= 4) return n == 0 ? 0 : 4;
    return ((n - 1) / 2 * 2 + 3) / 4 * 4 + 2;
}
// Where an entry stands, counted from the nearest; k: entries of the row that are nearer.
constexpr offset_t padded_place(offset_t k, offset_t n) { return n > 4 && n % 2 == 1 && k > 0 ? k + 1 : k; }

// As sweep_rows(), of such rows.
template <int Direction = 1, class V, class RowAt>
inline void sweep_padded(index_t first, index_t last, V* x, RowAt&& row_at)
{
    for (index_t i = first; i < last; ++i) {
        const auto r = row_at(i);
        const auto product = [&](offset_t k) { return r.value[k * Direction] * x[r.col[k * Direction]]; };
        V sum = r.start;
        if (r.n == 4) {
            for (offset_t k = 0; k < 4; ++k) sum -= product(k);
        } else if (r.n > 4) {
            V odd = 0;
            offset_t k = 0;
            for (; k + 2 < r.n; k += 4) {
                sum -= product(k);
                odd -= product(k + 1);
                sum -= product(k + 2);
                odd -= product(k + 3);
            }
            sum += odd;
            sum -= product(k);
            sum -= product(k + 1);
        }
        x[r.row] = sum;
    }
}

// Whether most of the rows first … last-1 end with the row before them, by samples: ends(i) tells it of one row. Not
// where the samples would be much of the work.
template <class Ends>
inline bool is_chained(index_t first, index_t last, Ends&& ends)
{
    constexpr index_t samples = 32, least = 28;
    if (last - first < 32 * samples) return false;
    index_t found = 0;
    for (index_t k = 1; k <= samples; ++k)
        found += ends(static_cast<index_t>(first + offset_t{last - first - 1} * k / samples)) ? 1 : 0;
    return found >= least;
}

}  // namespace tulle::inline TULLE_ABI::sptrsv
