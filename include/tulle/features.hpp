// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Statistics of a CSR matrix: row lengths, bandwidth, symmetry, levels, products.
#pragma once

#include <array>

#include "tulle/api.hpp"
#include "tulle/context.hpp"
#include "tulle/csr.hpp"

namespace tulle::inline TULLE_ABI {

/// Statistics of the row lengths of a matrix; a length is a number of nonzeros.
struct RowStatistics {
    index_t rows = 0;          ///< rows of the matrix
    index_t cols = 0;          ///< columns of the matrix
    offset_t nonzeros = 0;     ///< stored entries
    offset_t shortest = 0;     ///< length of the shortest row
    offset_t longest = 0;      ///< length of the longest row
    index_t longest_row = -1;  ///< first row of that length; -1 without rows
    double mean = 0;           ///< mean length
    double deviation = 0;      ///< standard deviation of the lengths
    index_t empty_rows = 0;    ///< rows without nonzeros
    /// rows_by_length[k]: rows whose length has k bits: 0 | 1 | 2-3 | 4-7 | …
    std::array<index_t, 64> rows_by_length{};
};

/// Statistics of a matrix.
struct Features {
    RowStatistics row;            ///< row lengths
    double density = 0;           ///< nonzeros / (rows * cols); 0 for an empty shape
    index_t empty_cols = 0;       ///< columns without nonzeros
    index_t lower_bandwidth = 0;  ///< largest distance of a nonzero below the diagonal
    index_t upper_bandwidth = 0;  ///< largest distance of a nonzero above the diagonal
    offset_t diagonal = 0;        ///< nonzeros on the diagonal
    /// Fraction of the off-diagonal nonzeros whose mirror image is stored; 1 if there are none, 0 if not square.
    double pattern_symmetry = 0;
    double value_symmetry = 0;  ///< the same for mirror images with the same value
    index_t lower_levels = 0;   ///< level sets of the lower triangle, with a full diagonal; 0 if not square
    offset_t products = 0;      ///< multiplications of A * A; 0 if not square
};

/// Statistics of the row lengths, in one pass over row_begin; waits for the result.
/// @param ctx where the array is and the work is done.
/// @param rows rows of the matrix.
/// @param cols columns of the matrix.
/// @param row_begin rows + 1 offsets in the memory of the context; not checked.
/// @throws ValueError if a size is negative or row_begin is null.
TULLE_API RowStatistics row_statistics(const Context& ctx, index_t rows, index_t cols, const offset_t* row_begin);

/// All statistics of a matrix; it need not be sorted. Waits for the result.
/// @param ctx where the arrays are and the work is done.
/// @param a the matrix; float or double.
/// @throws ValueError if the matrix is not valid (check()).
template <class V>
TULLE_API Features features(const Context& ctx, const CsrView<V>& a);

}  // namespace tulle::inline TULLE_ABI
