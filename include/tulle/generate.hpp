// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Matrices made from a sentence, the same on every machine and for any number of threads.
//
//     io::generate<double>(ctx, "stencil7:100")          // 100 x 100 x 100 grid
//     io::generate<double>(ctx, "twin:cant")             // stand-in for a matrix of the nsparse paper's table 2
//     io::generate<double>(ctx, "rmat:18,16,seed=7")     // 2^18 rows, about 16 entries a row
//
// Values depend on the position alone, whatever the seed:
//
//     twins, graphs, bands, diagonal,
//     pruned weights                    pattern_value(i, j) of io.hpp: in [0.5, 1.5), not symmetric
//     identity                          1
//     stencils, fem                     -1 beside the diagonal, the neighbours of an inner point on it: symmetric
//                                       positive definite
//     arrow, chain, levels              in [1, 2) on the diagonal; beside it in [-0.5, 0.5) divided by their number in
//                                       the row, so the
//                                       diagonal dominates and solving with the matrix is harmless
//
// Numbers are whole, at most 2^31 - 1; kinds with random parts take seed=S (7 unless told otherwise).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tulle/api.hpp"
#include "tulle/context.hpp"
#include "tulle/csr.hpp"

namespace tulle::inline TULLE_ABI::io {

struct Generator {
    std::string name;     // "stencil7"
    std::string form;     // "stencil7:N or stencil7:NX,NY,NZ"
    std::string what;     // one line
    std::string example;  // one that is small and works
};

// All kinds there are, for help texts and tests.
TULLE_API const std::vector<Generator>& generators();

// The matrix on the host side of the context, sorted, no duplicates. ValueError names what is wrong with the sentence
// and says what would be right; OutOfMemory, before any work, where the matrix would not fit the budget or the machine.
template <class V>
TULLE_API Csr<V> generate(const Context& ctx, std::string_view sentence, const Progress& progress = {});

// Sum over all entries of hash_of(99, i, j): tells patterns apart whatever their order.
template <class V>
TULLE_API std::uint64_t fingerprint(const CsrView<V>& a);

}  // namespace tulle::inline TULLE_ABI::io
