// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The pattern that a factorisation is computed on, and where its entries stand in A. Found on the host; iluk by the
// levels of fill-in, ilut by the magnitudes of a first elimination (Saad, Iterative Methods for Sparse Linear Systems,
// 2nd edition, sections 10.3.3 and 10.4).
#pragma once

#include <utility>

#include "tulle/csr.hpp"
#include "tulle/error.hpp"
#include "tulle/factor.hpp"
#include "tulle/memory.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::factor {

// Rows are sorted; each has a diagonal entry: the last of the row for ic0.
struct Pattern {
    index_t rows = 0;
    Buffer<offset_t> row_begin;
    Buffer<index_t> col;
    Buffer<offset_t> diagonal;  // position of each diagonal entry
    Buffer<offset_t> source;    // position of each entry in A, -1: not in A; empty: position k is position k of A

    offset_t nonzeros() const { return col.size(); }
    std::size_t bytes() const { return row_begin.bytes() + col.bytes() + diagonal.bytes() + source.bytes(); }
};

// No shift helps against an entry of A that is not finite.
inline void require_finite_entry(index_t row, index_t col, double value)
{
    require<ValueError>(value - value == 0,
                        [&] { return concat("row ", row, ", column ", col, " of the matrix is not finite"); });
}

// `a` is on the host; its values are read for ilut only.
template <class V>
Pattern find_pattern(const CpuQueue& q, const CsrView<V>& a, const Options& options);

// The same for a matrix in the memory of a context, where the pattern is too.
template <class V>
Pattern find_pattern_on(const Context& ctx, const CsrView<V>& a, const Options& options);

}  // namespace tulle::inline TULLE_ABI::factor
