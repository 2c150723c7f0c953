// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Formats that only baselines ask for, made on the host from CSR with 32-bit offsets (the caller has checked that they
// fit).
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "base/math.hpp"
#include "tulle/convert.hpp"

namespace tulle::bench {

inline std::vector<index_t> narrowed(std::span<const offset_t> offsets)
{
    std::vector<index_t> narrow(offsets.size());
    std::transform(offsets.begin(), offsets.end(), narrow.begin(), [](offset_t o) { return static_cast<index_t>(o); });
    return narrow;
}

template <class V>
std::vector<index_t> rows_of_entries(const CsrView<V>& a)
{
    std::vector<index_t> row(static_cast<std::size_t>(a.nonzeros));
    for (index_t i = 0; i < a.rows; ++i) std::fill(row.begin() + a.row_begin[i], row.begin() + a.row_begin[i + 1], i);
    return row;
}

// Sliced ELL: slices of `height` rows, each as wide as its longest row, stored column after column; padding has column
// -1.
template <class V>
struct SlicedEll {
    std::vector<index_t> begin;  // of each slice, in entries
    std::vector<index_t> col;
    std::vector<V> value;
};

template <class V>
offset_t slice_width(const CsrView<V>& a, index_t first, index_t height)
{
    offset_t width = 0;
    for (index_t i = first; i < std::min(first + height, a.rows); ++i)
        width = std::max(width, a.row_begin[i + 1] - a.row_begin[i]);
    return width;
}

template <class V>
offset_t sell_entries(const CsrView<V>& a, index_t height)
{
    offset_t entries = 0;
    for (index_t first = 0; first < a.rows; first += height) entries += slice_width(a, first, height) * height;
    return entries;
}

template <class V>
SlicedEll<V> to_sell(const CsrView<V>& a, index_t height)
{
    const auto entries = static_cast<std::size_t>(sell_entries(a, height));
    SlicedEll<V> s{{0}, std::vector<index_t>(entries, -1), std::vector<V>(entries)};
    for (index_t first = 0; first < a.rows; first += height) {
        const offset_t base = s.begin.back();
        for (index_t i = first; i < std::min(first + height, a.rows); ++i)
            for (offset_t k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k) {
                const auto at = static_cast<std::size_t>(base + (k - a.row_begin[i]) * height + (i - first));
                s.col[at] = a.col[k];
                s.value[at] = a.value[k];
            }
        s.begin.push_back(static_cast<index_t>(base + slice_width(a, first, height) * height));
    }
    return s;
}

// Block rows (BSR): square blocks of `side`, numbers of a block row after row; blocks of a block row by ascending
// column.
template <class V>
struct BlockRows {
    std::vector<index_t> begin, col;
    std::vector<V> value;
};

// The block columns that occur in block row p, ascending.
template <class V>
std::vector<index_t> block_columns(const CsrView<V>& a, index_t p, index_t side)
{
    std::vector<index_t> columns;
    for (offset_t k = a.row_begin[p * side]; k < a.row_begin[p * side + side]; ++k) columns.push_back(a.col[k] / side);
    std::sort(columns.begin(), columns.end());
    columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
    return columns;
}

// Nonzeros over the room in the blocks they need: 1 for a matrix of full blocks; 0 if its sides are no multiple of the
// block's.
template <class V>
double block_fill(const CsrView<V>& a, index_t side)
{
    if (a.rows % side != 0 || a.cols % side != 0 || a.nonzeros == 0) return 0;
    double blocks = 0;
    for (index_t p = 0; p < a.rows / side; ++p) blocks += static_cast<double>(block_columns(a, p, side).size());
    return static_cast<double>(a.nonzeros) / (blocks * side * side);
}

template <class V>
BlockRows<V> to_block_rows(const CsrView<V>& a, index_t side)
{
    BlockRows<V> b{{0}, {}, {}};
    const auto room = static_cast<std::size_t>(side * side);
    for (index_t p = 0; p < a.rows / side; ++p) {
        const std::vector<index_t> columns = block_columns(a, p, side);
        const std::size_t first = b.col.size();
        b.col.insert(b.col.end(), columns.begin(), columns.end());
        b.value.resize(b.col.size() * room);
        for (index_t i = p * side; i < p * side + side; ++i)
            for (offset_t k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k) {
                const auto slot =
                    first + static_cast<std::size_t>(std::lower_bound(columns.begin(), columns.end(), a.col[k] / side) -
                                                     columns.begin());
                b.value[slot * room + static_cast<std::size_t>((i - p * side) * side + a.col[k] % side)] += a.value[k];
            }
        b.begin.push_back(static_cast<index_t>(b.col.size()));
    }
    return b;
}

}  // namespace tulle::bench
