// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What one thread does of a product: an interval of the merge path.
#pragma once

#include "spmv/steps.hpp"

namespace tulle::inline TULLE_ABI::spmv {

// Writes the rows that end between two points of the path; returns what there is of the next one, up to the second. A
// product of a hundred nanoseconds notices questions: which loop it is has been asked before, and the points are taken
// apart, so that they stay in registers.
template <class V, class M>
using IntervalLoop = V (*)(const CsrView<M>& a, const Narrow& narrow, const Vectors<V>& v, offset_t from_row,
                           offset_t from_nonzero, offset_t to_row, offset_t to_nonzero);

// `sums` are added side by side in every row: 1, 2, 4, or 8 for as many as a vector of this machine holds (where it has
// none that gathers, 4 for long rows, 1 for short ones). `narrow` holds the columns in 16 bits, or nothing. The order
// of additions in a row depends on where its part begins alone.
template <class V, class M>
IntervalLoop<V, M> interval_loop(const CsrView<M>& a, const Narrow& narrow, int sums);

template <class V, class M>
V multiply_interval(const CsrView<M>& a, const Narrow& narrow, prim::MergePoint from, prim::MergePoint to, int sums,
                    const Vectors<V>& v)
{
    return interval_loop<V>(a, narrow, sums)(a, narrow, v, from.row, from.nonzero, to.row, to.nonzero);
}

// Whether 8 sums side by side are a vector of this machine: AVX-512 with its gathers.
bool has_gathers();

// Whether 4 lanes of slices are vectors of this machine: AVX2.
bool has_avx2();

}  // namespace tulle::inline TULLE_ABI::spmv
