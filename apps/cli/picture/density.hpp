// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// How many nonzeros fall into each cell of a grid laid over a matrix. Counting is exact; a permutation is applied on
// the way, so that the matrix is never copied.
#pragma once

#include <cstdint>
#include <vector>

#include "tulle/csr.hpp"

namespace tulle::cli::picture {

struct Pattern {
    index_t rows = 0, cols = 0;
    const offset_t* row_begin = nullptr;
    const index_t* col = nullptr;
};

template <class V>
Pattern pattern_of(const CsrView<V>& a)
{
    return {a.rows, a.cols, a.row_begin, a.col};
}

// Where rows and columns go; empty vectors leave them where they are.
struct Order {
    std::vector<index_t> row_from;  // row i of the picture is row row_from[i] of the matrix
    std::vector<index_t> col_to;    // column j of the matrix is column col_to[j] of the picture
};

struct Grid {
    index_t rows = 0, cols = 0;       // of the matrix
    int height = 0, width = 0;        // cells
    std::vector<std::int64_t> count;  // row after row

    // First row (column) of cell row y (column x); the cells differ by at most one in size.
    offset_t first_row(int y) const { return offset_t{rows} * y / height; }
    offset_t first_col(int x) const { return offset_t{cols} * x / width; }
    std::int64_t at(int y, int x) const
    {
        return count[static_cast<std::size_t>(y) * static_cast<std::size_t>(width) + static_cast<std::size_t>(x)];
    }
    double positions(int y, int x) const;  // of the cell
    double density(int y, int x) const;    // share of the cell's positions that are filled
};

Grid count_cells(const Pattern& a, const Order& order, int height, int width, int threads);

}  // namespace tulle::cli::picture
