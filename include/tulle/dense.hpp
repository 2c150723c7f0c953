// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Dense matrices, rows or columns contiguous, with a leading dimension: the distance between neighbouring rows
// (columns).
#pragma once

#include <type_traits>

#include "tulle/memory.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI {

enum class Layout { row_major, col_major };

template <class V>
struct DenseView {  // DenseView<const V> is read-only
    index_t rows = 0, cols = 0;
    offset_t leading = 0;  // >= cols (row major) or rows (column major)
    Layout layout = Layout::row_major;
    V* data = nullptr;

    constexpr offset_t at(index_t i, index_t j) const
    {
        return layout == Layout::row_major ? i * leading + j : j * leading + i;
    }
    constexpr V& operator()(index_t i, index_t j) const { return data[at(i, j)]; }
    operator DenseView<const V>() const requires(!std::is_const_v<V>) { return {rows, cols, leading, layout, data}; }
};

template <class V>
struct Dense {
    index_t rows = 0, cols = 0;
    offset_t leading = 0;
    Layout layout = Layout::row_major;
    Buffer<V> data;

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

    std::size_t bytes() const { return data.bytes(); }
    DenseView<V> view() & { return {rows, cols, leading, layout, data.data()}; }
    DenseView<const V> view() const& { return {rows, cols, leading, layout, data.data()}; }
    // A temporary owner has no view, which would outlive it: give the owner a name. A plan keeps views.
    DenseView<const V> view() const&& = delete;
};

}  // namespace tulle::inline TULLE_ABI
