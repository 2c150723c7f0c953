// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Both triangular solves of factors by one thread of a CPU: each triangle row after row, in as few bytes as its columns
// allow, divided by its diagonal. The same bits as from sptrsv::Plan.
#pragma once

#include <cstdint>

#include "factor/steps.hpp"

namespace tulle::inline TULLE_ABI::factor {

// Entries beside the diagonal. Columns have 16 bits where that is enough.
template <class V>
struct Triangle {
    Triangle(const CpuQueue& q, index_t rows, offset_t nonzeros);
    std::size_t bytes() const { return begin.bytes() + narrow.bytes() + wide.bytes() + value.bytes(); }

    Buffer<index_t> begin;
    Buffer<std::uint16_t> narrow;  // columns, or
    Buffer<index_t> wide;
    Buffer<V> value;
    bool chained = false;  // most rows have the row that is solved before them
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
    std::size_t bytes() const { return reciprocal_.bytes() + lower_.bytes() + upper_.bytes(); }

private:
    template <class C>
    void fill_as(const PatternView& p, const V* value, C* lower_col, C* upper_col);
    template <class C>
    void solve_lower(const C* col, const V* r, V* z) const;
    template <class C>
    void solve_upper(const C* col, V* z) const;

    bool cholesky_;
    Buffer<V> reciprocal_;       // of the diagonal of U, or of L
    Triangle<V> lower_, upper_;  // upper_: U, or the transpose of L
};

}  // namespace tulle::inline TULLE_ABI::factor
