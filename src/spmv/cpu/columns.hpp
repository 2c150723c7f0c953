// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "tulle/csr.hpp"

namespace tulle::inline TULLE_ABI::spmv {

// Columns and what a matrix claims of them.
struct Columns {
    index_t cols;
    const index_t* col;
    bool sorted, unique;
};

template <class View>
Columns columns_of(const View& a)
{
    return {a.cols, a.col, a.sorted, a.unique};
}

// What a matrix claims of the columns of a row.
enum class Order { none, ascending, strict };

inline Order order_of(const Columns& a)
{
    if (!a.sorted) return Order::none;
    return a.unique ? Order::strict : Order::ascending;
}

// Whether a column that follows another breaks the order. Of numbers or of vectors of them.
template <Order O, class T>
[[gnu::always_inline]] inline auto descends(const T& from, const T& to)
{
    if constexpr (O == Order::strict) return from >= to;
    else return from > to;
}

// How many of the columns begin+1 … end-1 break the order after the one before them, in whatever row that is; none
// where no order is claimed. -1 where one of begin … end-1 is out of range.
offset_t count_descents(const Columns& a, offset_t begin, offset_t end);

// Whether the offsets of the rows first … last-1 ascend and stay within the nonzeros.
bool offsets_are_sound(const offset_t* row_begin, offset_t first, offset_t last, offset_t nonzeros);

// Whether columns of the rows first … last-1 are in range and as sorted and unique as the matrix claims. The offsets of
// these rows must be sound.
bool columns_are_sound(const Columns& a, const offset_t* row_begin, offset_t first, offset_t last);

}  // namespace tulle::inline TULLE_ABI::spmv
