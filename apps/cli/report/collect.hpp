// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What a report tells of a matrix, as JSON: each function is one section of the page.
#pragma once

#include <string>
#include <vector>

#include "apps/cli/support/json.hpp"
#include "apps/cli/support/session.hpp"
#include "tulle/csr.hpp"

namespace tulle::cli::sections {

// Density map: counts of cells in a grid, one byte a cell on a logarithmic scale, in base64.
Json density(const CsrView<double>& a, int threads);

// Columns by length, as the rows of `tulle info`: a bin for each power of two. Null for matrices with far more columns
// than nonzeros.
Json column_lengths(const CsrView<double>& a);

// Magnitudes by powers of ten, signs, extremes, and what a narrower type would lose.
Json values(const CsrView<double>& a);

// Connected components of the graph of a square matrix, edges in both directions; null otherwise.
Json components(const CsrView<double>& a);

// Widths of the levels of both triangles, in at most `bars` bars; null unless square.
Json levels(const Context& ctx, const CsrView<double>& a);

// Consecutive rows with equal numbers of nonzeros for 2, 4 and 8 devices: the imbalance and the entries of x that parts
// need from others.
Json parts(const Context& ctx, const CsrView<double>& a);

}  // namespace tulle::cli::sections
