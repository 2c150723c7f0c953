// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Coordinates: entry k is (row[k], col[k], value[k]), in any order unless `order` says more.
//
// Invariants: 0 <= row < rows, 0 <= col < cols; `by_row`: (row, col) ascends; `by_col`: (col, row) ascends.
// `unique`: no position twice. Entries at the same position add up.
#pragma once

#include "tulle/memory.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI {

enum class CooOrder { none, by_row, by_col };

template <class V>
struct CooView {
    index_t rows = 0, cols = 0;
    offset_t nonzeros = 0;
    const index_t* row = nullptr;
    const index_t* col = nullptr;
    const V* value = nullptr;
    CooOrder order = CooOrder::none;
    bool unique = false;
};

template <class V>
struct Coo {
    index_t rows = 0, cols = 0;
    Buffer<index_t> row, col;
    Buffer<V> value;
    CooOrder order = CooOrder::none;
    bool unique = false;

    template <class Queue>
    static Coo make(const Queue& q, index_t rows, index_t cols, offset_t nonzeros)
    {
        return {.rows = rows,
                .cols = cols,
                .row = Buffer<index_t>(q, nonzeros),
                .col = Buffer<index_t>(q, nonzeros),
                .value = Buffer<V>(q, nonzeros)};
    }

    offset_t nonzeros() const { return row.size(); }
    std::size_t bytes() const { return row.bytes() + col.bytes() + value.bytes(); }
    CooView<V> view() const& { return {rows, cols, nonzeros(), row.data(), col.data(), value.data(), order, unique}; }
    // A temporary owner has no view, which would outlive it: give the owner a name. A plan keeps views.
    CooView<V> view() const&& = delete;
};

// The same arrays read as the transposed matrix; nothing is copied.
template <class V>
CooView<V> transposed(const CooView<V>& a)
{
    const CooOrder order = a.order == CooOrder::by_row   ? CooOrder::by_col
                           : a.order == CooOrder::by_col ? CooOrder::by_row
                                                         : CooOrder::none;
    return {a.cols, a.rows, a.nonzeros, a.col, a.row, a.value, order, a.unique};
}

}  // namespace tulle::inline TULLE_ABI
