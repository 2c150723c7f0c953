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

// What the entries are: of L and U, of L alone, or of a matrix D / weight + L + U whose triangles are those of
// M = (D' + L) D'^-1 (D' + U), D' = D / weight.
enum class SweepForm { lu, cholesky, split };

// Vectors of an iteration in the split form: of conjugate gradients with (D' + L)^-1 A (D' + U)^-1 (Eisenstat, SIAM J.
// Sci. Stat. Comput. 2(1), 1981), which needs no product with A beside both sweeps.
template <class V>
struct SplitVectors {
    V* x;
    V* y;  // (D' + L)^-1 r
    V* p;  // the direction, divided by D'
    V* t;  // the direction of x: (D' + U)^-1 D' p
    V* s;  // (D' + L)^-1 A t
};

template <class V>
class Sweeps {
public:
    // Factors with 2^31 entries or more have no room.
    static bool can_hold(const PatternView& p) { return p.row_begin[p.rows] <= max_index; }

    Sweeps(const CpuQueue& q, const PatternView& p, SweepForm form);

    // Takes the values of factors on the pattern, or of a matrix.
    void fill(const PatternView& p, const V* value, double weight = 1);
    // z = (L U)^-1 r, or M^-1 r. z may be r.
    void apply(const V* r, V* z) const;

    // Of the split form. y = (D' + L)^-1 r; y may be r.
    void begin_split(const V* r, V* y) const;
    // x += owed t, p = y + beta p, and t and s of the new p; returns t · A t.
    double step_split(const SplitVectors<V>& v, double beta, double owed) const;
    // y -= alpha s; returns r · M^-1 r of the new residual.
    double advance_split(const SplitVectors<V>& v, double alpha) const;
    // y · D' y: r · M^-1 r.
    double split_square(const V* y) const;
    // r · r.
    double residual_square(const V* y) const;

    std::size_t bytes() const
    {
        return reciprocal_.bytes() + diagonal_.bytes() + left_.bytes() + lower_.bytes() + upper_.bytes();
    }

private:
    template <class F>
    void with_columns(F&& f) const;
    template <class C>
    void fill_as(const PatternView& p, const V* value, C* lower_col, C* upper_col);
    template <class C>
    void fill_transpose(const PatternView& p, const V* value, C* upper_col);
    template <class C, class Start>
    void solve_lower(const C* col, V* z, Start&& start) const;
    template <class C, class Start>
    void solve_upper(const C* col, V* z, Start&& start) const;

    SweepForm form_;
    V weight_ = 1;
    Buffer<V> reciprocal_;       // of the diagonal of U, of L, or of D'
    Buffer<V> diagonal_;         // split: D'
    Buffer<index_t> left_;       // of L: entries of each row of the transpose that are not yet written
    Triangle<V> lower_, upper_;  // upper_: U, or the transpose of L
};

}  // namespace tulle::inline TULLE_ABI::factor
