// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Matrices generated from a short text, the same on every machine and for any number of threads.
/// @code
/// io::generate<double>(ctx, "stencil7:100")          // 100 x 100 x 100 grid
/// io::generate<double>(ctx, "twin:cant")             // size and structure of a matrix of the nsparse paper's table 2
/// io::generate<double>(ctx, "rmat:18,16,seed=7")     // 2^18 rows, about 16 entries a row
/// @endcode
/// Numbers in the text are whole, at most 2^31 - 1; kinds with random parts take seed=S (default 7). Values depend on
/// the position alone, whatever the seed:
///
/// - twins, graphs, bands, diagonal, pruned weights: pattern_value(i, j), in [0.5, 1.5), not symmetric
/// - identity: 1
/// - stencils, fem: -1 off the diagonal, the number of neighbours of an inner point on it: symmetric positive definite
/// - elasticity2d, elasticity3d: linear elasticity of bilinear squares or trilinear cubes with a Poisson ratio of 1/4,
///   in units that make every value a whole number: symmetric positive definite
/// - coordinates: whole numbers
/// - arrow, chain, levels: in [1, 2) on the diagonal; off it in [-0.5, 0.5) divided by their number in the row, so that
///   the diagonal dominates and solves with the matrix are well conditioned
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tulle/api.hpp"
#include "tulle/context.hpp"
#include "tulle/csr.hpp"

namespace tulle::inline TULLE_ABI::io {

/// A kind of matrix that generate() knows.
struct Generator {
    std::string name;     ///< "stencil7"
    std::string form;     ///< "stencil7:N or stencil7:NX,NY,NZ"
    std::string what;     ///< description, one line
    std::string example;  ///< a small example that works
};

/// All kinds of matrices, for help texts and tests. Thread safe.
TULLE_API const std::vector<Generator>& generators();

/// Generates a matrix on the host side of the context; rows are sorted, without duplicates.
/// @param ctx its host threads do the work, its memory holds the matrix.
/// @param sentence kind and parameters: "stencil7:100".
/// @param progress called with the fraction done; may be empty.
/// @throws ValueError if the text is wrong; it says what would be right.
/// @throws OutOfMemory before any work, if the matrix does not fit the budget or the machine.
template <class V>
TULLE_API Csr<V> generate(const Context& ctx, std::string_view sentence, const Progress& progress = {});

/// A hash of the pattern that does not depend on the order of the entries: the sum of a hash of all positions.
/// @param a the matrix, on the host.
/// @throws ShapeError as check_arrays(); ValueError likewise, and if offsets or columns are out of range.
template <class V>
TULLE_API std::uint64_t fingerprint(const CsrView<V>& a);

}  // namespace tulle::inline TULLE_ABI::io
