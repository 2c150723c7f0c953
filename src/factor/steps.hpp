// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The steps of a factorisation, once per backend. Arrays are in the queue's memory.
#pragma once

#include <optional>

#include "factor/pattern.hpp"

namespace tulle::inline TULLE_ABI::factor {

// A pattern for kernels.
struct PatternView {
    index_t rows;
    const offset_t* row_begin;
    const index_t* col;
    const offset_t *diagonal, *source;
};

inline PatternView view_of(const Pattern& p)
{
    return {p.rows, p.row_begin.data(), p.col.data(), p.diagonal.data(), p.source.empty() ? nullptr : p.source.data()};
}

// The pattern of A, or of its lower triangle, on a GPU; nothing where rows are not sorted, have an entry twice or no
// diagonal entry: find_pattern() takes those, or says what is wrong.
std::optional<Pattern> find_pattern_there(const CudaQueue& q, const offset_t* row_begin, const index_t* col,
                                          index_t rows, offset_t nonzeros, bool lower);

// The values of A in the pattern, zero where A has none, and `shift` added to the diagonal (Options::shift).
template <class V>
void load_values(const CpuQueue& q, const PatternView& p, const V* a, double shift, bool positive, V* value);
template <class V>
void load_values(const CudaQueue& q, const PatternView& p, const V* a, double shift, bool positive, V* value);

// The first row that cannot be factorised, and why; row = rows where all can.
struct FirstBreakdown {
    index_t row;
    Breakdown why;
};

// Rows that can be factorised at the same time: CPU only, and empty where one thread is as fast. Row order[n] with
// begin[l] <= n < begin[l+1] is of level l.
struct LevelOrder {
    Buffer<index_t> order;
    Buffer<offset_t> begin;
    std::size_t bytes() const { return order.bytes() + begin.bytes(); }
};
LevelOrder order_levels(const CpuQueue& q, const PatternView& p);
LevelOrder order_levels(const CudaQueue& q, const PatternView& p);

// Replaces the values by those of the factors; waits. Rows after one that breaks down are not usable.
template <class V>
FirstBreakdown factorize_lu(const CpuQueue& q, const PatternView& p, const LevelOrder& levels, V* value);
template <class V>
FirstBreakdown factorize_lu(const CudaQueue& q, const PatternView& p, const LevelOrder& levels, V* value);
// The same, and the part `relax` of what is left out is added to the diagonal (Options::relax).
template <class V>
FirstBreakdown factorize_relaxed(const CpuQueue& q, const PatternView& p, const LevelOrder& levels, double relax,
                                 V* value);
template <class V>
FirstBreakdown factorize_cholesky(const CpuQueue& q, const PatternView& p, const LevelOrder& levels, V* value);
template <class V>
FirstBreakdown factorize_cholesky(const CudaQueue& q, const PatternView& p, const LevelOrder& levels, V* value);

// The values of G, a factorised sparse approximate inverse (fsai.hpp), from the lower triangle of A; waits. A row of G
// has at most most_fsai_entries, the diagonal entry last. Rows that break down are not usable.
template <class V>
FirstBreakdown invert_rows(const CpuQueue& q, const PatternView& lower, const V* a, const CsrView<V>& g, V* value);
template <class V>
FirstBreakdown invert_rows(const CudaQueue& q, const PatternView& lower, const V* a, const CsrView<V>& g, V* value);

}  // namespace tulle::inline TULLE_ABI::factor
