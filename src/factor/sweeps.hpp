// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Both triangular solves of factors by one thread of a CPU: each triangle row after row, in as few bytes as its columns
// allow, divided by its diagonal. The same bits as from sptrsv::Plan.
#pragma once

#include <cstdint>

#include "factor/steps.hpp"

namespace tulle::inline TULLE_ABI::factor {

// Entries beside the diagonal. Columns have 16 bits where that is enough. Rows of few lengths are solved without
// branches that nobody can foresee: where lengths change from row to row, zeros pad them (sptrsv::padded_length).
template <class V>
struct Triangle {
    // Rows of so many entries; most have the row that is solved before them if they are chained.
    Triangle(const CpuQueue& q, Buffer<index_t> lengths, bool chained);
    std::size_t bytes() const { return length.bytes() + begin.bytes() + narrow.bytes() + wide.bytes() + value.bytes(); }

    bool chained, padded;
    Buffer<index_t> length, begin;
    Buffer<std::uint16_t> narrow;  // columns, or
    Buffer<index_t> wide;
    Buffer<V> value;
};

template <class V>
class Sweeps {
public:
    // Factors with 2^31 entries or more have no room.
    static bool can_hold(const PatternView& p) { return p.row_begin[p.rows] <= max_index; }

    Sweeps(const CpuQueue& q, const PatternView& p, bool cholesky);

    // Takes the values of factors on the pattern.
    void fill(const PatternView& p, const V* value);
    // z = (L U)^-1 r. z may be r.
    void apply(const V* r, V* z) const;
    std::size_t bytes() const { return reciprocal_.bytes() + left_.bytes() + lower_.bytes() + upper_.bytes(); }

private:
    template <class C>
    void fill_as(const PatternView& p, const V* value, C* lower_col, C* upper_col);
    template <class C>
    void fill_transpose(const PatternView& p, const V* value, C* upper_col);
    template <class C>
    void solve_lower(const C* col, const V* r, V* z) const;
    template <class C>
    void solve_upper(const C* col, V* z) const;

    bool cholesky_;
    Buffer<V> reciprocal_;       // of the diagonal of U, or of L
    Buffer<index_t> left_;       // of L: entries of each row of the transpose that are not yet written
    Triangle<V> lower_, upper_;  // upper_: U, or the transpose of L
};

}  // namespace tulle::inline TULLE_ABI::factor
