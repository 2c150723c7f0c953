// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Coordinate format (COO): entry k is (row[k], col[k], value[k]), in any order unless `order` says more.
///
/// Invariants: 0 <= row < rows, 0 <= col < cols. CooOrder::by_row: (row, col) ascends; CooOrder::by_col: (col, row)
/// ascends. `unique`: no position is stored twice. Entries at the same position add up.
#pragma once

#include "tulle/memory.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI {

/// Order of the entries of a COO matrix.
enum class CooOrder {
    none,    ///< any order
    by_row,  ///< (row, col) ascends
    by_col   ///< (col, row) ascends
};

/// A COO matrix in arrays that the view does not own.
///
/// The arrays are in the memory of the context that uses the view.
/// @tparam V value type: float or double.
template <class V>
struct CooView {
    index_t rows = 0;                 ///< rows of the matrix
    index_t cols = 0;                 ///< columns of the matrix
    offset_t nonzeros = 0;            ///< entries of each array
    const index_t* row = nullptr;     ///< row of each entry
    const index_t* col = nullptr;     ///< column of each entry
    const V* value = nullptr;         ///< value of each entry
    CooOrder order = CooOrder::none;  ///< order of the entries
    bool unique = false;              ///< no position is stored twice
};

/// A COO matrix that owns its arrays; moves, never copies.
/// @tparam V value type: float or double.
template <class V>
struct Coo {
    index_t rows = 0;                 ///< rows of the matrix
    index_t cols = 0;                 ///< columns of the matrix
    Buffer<index_t> row;              ///< row of each entry
    Buffer<index_t> col;              ///< column of each entry
    Buffer<V> value;                  ///< value of each entry
    CooOrder order = CooOrder::none;  ///< order of the entries
    bool unique = false;              ///< no position is stored twice

    /// Allocates a matrix of this size in the memory of the queue; the contents are not set.
    /// @throws OutOfMemory if the budget or the device does not allow it.
    template <class Queue>
    static Coo make(const Queue& q, index_t rows, index_t cols, offset_t nonzeros)
    {
        return {.rows = rows,
                .cols = cols,
                .row = Buffer<index_t>(q, nonzeros),
                .col = Buffer<index_t>(q, nonzeros),
                .value = Buffer<V>(q, nonzeros)};
    }

    /// Number of stored entries.
    offset_t nonzeros() const { return row.size(); }
    /// Bytes of all arrays.
    std::size_t bytes() const { return row.bytes() + col.bytes() + value.bytes(); }
    /// A view of this matrix; valid while the owner lives.
    CooView<V> view() const& { return {rows, cols, nonzeros(), row.data(), col.data(), value.data(), order, unique}; }
    /// Deleted: a view of a temporary would outlive it. Give the owner a name.
    CooView<V> view() const&& = delete;
};

/// The same arrays read as the transposed matrix; nothing is copied.
template <class V>
CooView<V> transposed(const CooView<V>& a)
{
    const CooOrder order = a.order == CooOrder::by_row   ? CooOrder::by_col
                           : a.order == CooOrder::by_col ? CooOrder::by_row
                                                         : CooOrder::none;
    return {a.cols, a.rows, a.nonzeros, a.col, a.row, a.value, order, a.unique};
}

}  // namespace tulle::inline TULLE_ABI
