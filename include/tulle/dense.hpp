// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Dense matrices, rows or columns contiguous, with a leading dimension: the distance in entries between the beginnings
/// of neighbouring rows (columns).
#pragma once

#include <type_traits>

#include "tulle/memory.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI {

/// Whether rows or columns of a dense matrix are contiguous.
enum class Layout {
    row_major,  ///< rows are contiguous
    col_major   ///< columns are contiguous
};

/// A dense matrix in an array that the view does not own; DenseView<const V> is read-only.
///
/// The array is in the memory of the context that uses the view.
/// @tparam V value type: float, double, Float16 or Bfloat16.
template <class V>
struct DenseView {
    index_t rows = 0;                   ///< rows of the matrix
    index_t cols = 0;                   ///< columns of the matrix
    offset_t leading = 0;               ///< leading dimension: at least cols (row major) or rows (column major)
    Layout layout = Layout::row_major;  ///< rows or columns contiguous
    V* data = nullptr;                  ///< entry (0, 0)

    /// Position of entry (i, j) in the array.
    constexpr offset_t at(index_t i, index_t j) const
    {
        return layout == Layout::row_major ? i * leading + j : j * leading + i;
    }
    /// Entry (i, j); only where the array can be read by the caller, and without a check of i and j.
    constexpr V& operator()(index_t i, index_t j) const { return data[at(i, j)]; }
    /// The same matrix, read-only.
    operator DenseView<const V>() const requires(!std::is_const_v<V>) { return {rows, cols, leading, layout, data}; }
};

/// A dense matrix that owns its array; moves, never copies.
/// @tparam V value type: float, double, Float16 or Bfloat16.
template <class V>
struct Dense {
    index_t rows = 0;                   ///< rows of the matrix
    index_t cols = 0;                   ///< columns of the matrix
    offset_t leading = 0;               ///< leading dimension
    Layout layout = Layout::row_major;  ///< rows or columns contiguous
    Buffer<V> data;                     ///< the entries

    /// Allocates a matrix of this size, without gaps, in the memory of the queue; the contents are not set.
    /// @throws OutOfMemory if the budget or the device does not allow it.
    template <class Queue>
    static Dense make(const Queue& q, index_t rows, index_t cols, Layout layout = Layout::row_major)
    {
        const offset_t leading = layout == Layout::row_major ? cols : rows;
        return {.rows = rows,
                .cols = cols,
                .leading = leading,
                .layout = layout,
                .data = Buffer<V>(q, offset_t{rows} * cols)};
    }

    /// Bytes of the array.
    std::size_t bytes() const { return data.bytes(); }
    /// A view of this matrix; valid while the owner lives.
    DenseView<V> view() & { return {rows, cols, leading, layout, data.data()}; }
    /// A read-only view of this matrix; valid while the owner lives.
    DenseView<const V> view() const& { return {rows, cols, leading, layout, data.data()}; }
    /// Deleted: a view of a temporary would outlive it. Give the owner a name.
    DenseView<const V> view() const&& = delete;
};

}  // namespace tulle::inline TULLE_ABI
