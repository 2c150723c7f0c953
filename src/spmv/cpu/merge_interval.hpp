// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What one thread does of a product: an interval of the merge path.
#pragma once

#include "spmv/steps.hpp"

namespace tulle::inline TULLE_ABI::spmv {

// Writes the rows that end between the two points; returns what there is of the next one, up to `to`. `sums` are added
// side by side in every row: 1, 2, 4, or 8 for as many as a vector of this machine holds (where it has none that
// gathers, 4 for long rows, 1 for short ones). `narrow` holds the columns in 16 bits, or nothing. The order of
// additions in a row depends on where its part begins alone.
template <class V, class M>
V multiply_interval(const CsrView<M>& a, const Narrow& narrow, prim::MergePoint from, prim::MergePoint to, int sums,
                    const Vectors<V>& v);

// Whether 8 sums side by side are a vector of this machine: AVX-512 with its gathers.
bool has_gathers();

// Whether 4 lanes of slices are vectors of this machine: AVX2.
bool has_avx2();

}  // namespace tulle::inline TULLE_ABI::spmv
