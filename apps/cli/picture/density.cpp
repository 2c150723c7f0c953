// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "apps/cli/picture/density.hpp"

namespace tulle::cli::picture {
namespace {

// The cell a position falls into: the inverse of Grid::first_row and first_col.
std::size_t cell_of(offset_t at, offset_t cells, offset_t size)
{
    return static_cast<std::size_t>(((at + 1) * cells - 1) / size);
}

}  // namespace

double Grid::positions(int y, int x) const
{
    const offset_t high = first_row(y + 1) - first_row(y), wide = first_col(x + 1) - first_col(x);
    return static_cast<double>(high) * static_cast<double>(wide);
}

double Grid::density(int y, int x) const { return static_cast<double>(at(y, x)) / positions(y, x); }

// A thread owns whole rows of cells, so that no two count into the same one.
Grid count_cells(const Pattern& a, const Order& order, int height, int width, int threads)
{
    Grid grid{.rows = a.rows, .cols = a.cols, .height = height, .width = width, .count = {}};
    grid.count.resize(static_cast<std::size_t>(height) * static_cast<std::size_t>(width));
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (int y = 0; y < height; ++y) {
        std::int64_t* line = grid.count.data() + static_cast<std::size_t>(y) * static_cast<std::size_t>(width);
        for (offset_t i = grid.first_row(y); i < grid.first_row(y + 1); ++i) {
            const offset_t row = order.row_from.empty() ? i : order.row_from[static_cast<std::size_t>(i)];
            for (offset_t k = a.row_begin[row]; k < a.row_begin[row + 1]; ++k) {
                const index_t col = order.col_to.empty() ? a.col[k] : order.col_to[static_cast<std::size_t>(a.col[k])];
                ++line[cell_of(col, width, a.cols)];
            }
        }
    }
    return grid;
}

}  // namespace tulle::cli::picture
