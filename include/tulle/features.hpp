// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What a person, or choose(), wants to know of a matrix.
#pragma once

#include <array>

#include "tulle/api.hpp"
#include "tulle/context.hpp"
#include "tulle/csr.hpp"

namespace tulle::inline TULLE_ABI {

struct RowStatistics {
    index_t rows = 0, cols = 0;
    offset_t nonzeros = 0;
    offset_t shortest = 0, longest = 0;
    index_t longest_row = -1;
    double mean = 0, deviation = 0;  // of the row lengths
    index_t empty_rows = 0;
    // rows_by_length[k]: rows whose length has k bits: 0 | 1 | 2-3 | 4-7 | …
    std::array<index_t, 64> rows_by_length{};
};

struct Features {
    RowStatistics row;
    double density = 0;  // nonzeros / (rows * cols), 0 for an empty shape
    index_t empty_cols = 0;
    index_t lower_bandwidth = 0, upper_bandwidth = 0;
    offset_t diagonal = 0;  // entries on the diagonal
    double pattern_symmetry =
        0;  // share of off-diagonal entries whose mirror image is there; 1 if there are none; 0 if not square
    double value_symmetry = 0;  // … and has the same value
    index_t lower_levels = 0;   // dependency levels of the lower triangle, diagonal assumed; 0 if not square
    offset_t products = 0;      // multiplications of A * A; 0 if not square
};

// Row lengths only: one pass over row_begin.
TULLE_API RowStatistics row_statistics(const Context& ctx, index_t rows, index_t cols, const offset_t* row_begin);

// All of it; the matrix need not be sorted.
template <class V>
TULLE_API Features features(const Context& ctx, const CsrView<V>& a);

}  // namespace tulle::inline TULLE_ABI
