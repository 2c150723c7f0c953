// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A sparse accumulator: for each column of C the position of its sum in the row that is being computed. Sums are
// consecutive, in the order in which their columns are met, and nothing is cleared between rows: positions grow from
// row to row, and what is below the first one of a row belongs to a row before.
#pragma once

#include <algorithm>

#include "spgemm/adaptive/cpu/accumulators.hpp"
#include "spgemm/adaptive/cpu/short_row.hpp"
#include "tulle/csr.hpp"

namespace tulle::inline TULLE_ABI::spgemm {

template <class V>
class Positions {
public:
    static constexpr index_t most_compared = 16;  // columns of a row that are put in order by comparisons
    static constexpr index_t padding = 8;         // that comparisons read behind the last column

    // `position`: one for each of `cols` columns. A sorted row needs `bits`, and `col` and `value` for its longest.
    Positions(index_t* position, index_t cols, const ColumnBits& bits, index_t* col, V* value)
        : position_(position),
          bits_(bits),
          col_(col),
          value_(value)
    {
        std::fill(position_, position_ + cols, -1);
    }

    // Columns and sums in the order in which they are met; returns how many there are. There is room for all products.
    index_t add(const CsrView<V>& a, const CsrView<V>& b, index_t row, index_t* col, V* value)
    {
        index_t* const position = position_;
        const index_t first = first_;
        index_t n = 0;
        for (offset_t k = a.row_begin[row], last = a.row_begin[row + 1]; k < last; ++k) {
            const V factor = a.value[k];
            for (offset_t l = b.row_begin[a.col[k]], end = b.row_begin[a.col[k] + 1]; l < end; ++l) {
                const index_t c = b.col[l], before = position[c] - first;
                const index_t is_new = before >> 31;  // all bits or none: a branch would be mispredicted
                const index_t at = before ^ ((before ^ n) & is_new);
                col[n] = c;          // a free place, taken if the column is new
                value[n] = V(-0.0);  // what changes no sum, not even the sign of zero
                position[c] = first + at;
                n -= is_new;
                value[at] += factor * b.value[l];
            }
        }
        first_ += n;
        return n;
    }

    // The same in ascending order.
    index_t add_sorted(const CsrView<V>& a, const CsrView<V>& b, index_t row, index_t* col, V* value)
    {
        const index_t first = first_, n = add(a, b, row, col, value);
        if (std::is_sorted(col, col + n)) return n;  // mostly so where rows of B are aggregates
        std::copy_n(col, n, col_);
        std::copy_n(value, n, value_);
        if (n <= most_compared) return place_compared(n, col, value);
        sort(col, n);
        for (index_t k = 0; k < n; ++k) value[k] = value_[position_[col[k]] - first];
        return n;
    }

private:
    index_t place_compared(index_t n, index_t* col, V* value)
    {
        index_t place[most_compared + padding];
        count_smaller(col_, n, place);
        for (index_t k = 0; k < n; ++k) {
            col[place[k]] = col_[k];
            value[place[k]] = value_[k];
        }
        return n;
    }

    void sort(index_t* col, index_t n)
    {
        if (n <= most_in_network) return sort_few(col, n);
        for (index_t k = 0; k < n; ++k) bits_.touch(col[k]);
        bits_.take_columns([&](index_t c) { *col++ = c; });
    }

    index_t* position_;
    index_t first_ = 0;
    ColumnBits bits_;
    index_t* col_;
    V* value_;
};

}  // namespace tulle::inline TULLE_ABI::spgemm
