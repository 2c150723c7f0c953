// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The steps of graph functions, once per queue.
#pragma once

#include "graph/ops.hpp"
#include "graph/select.hpp"
#include "tulle/csr.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::graph {

// One pass over n entries (vector/pass.hpp); an operation of weights and ranks in ops.hpp.
template <class Op>
void run_pass(const CpuQueue& q, offset_t n, const Op& op, const vector::PassSpace& space);
template <class Op>
void run_pass(const CudaQueue& q, offset_t n, const Op& op, const vector::PassSpace& space);

// F(operation) for those: where backends instantiate run_pass().
#define TULLE_GRAPH_PASSES(F) F(FindBadValue) F(ScaleRow) F(SumDangling) F(RankStep) F(SumOf) F(ScaleToOne)

// What the functions of graph.hpp of the same names do, on a GPU; arguments are checked.
template <class V>
void multiply_rows(const CudaQueue& q, Semiring semiring, const CsrView<V>& a, const V* x, V* y);
template <class V>
Csr<V> multiply_masked_entries(const CudaQueue& q, Semiring semiring, const CsrView<V>& a, const CsrView<V>& b,
                               const CsrView<V>& mask);
// The entries of A at positions that B does not have; rows of both are sorted, those of B begin at b.begin.
template <class V>
Csr<V> entries_without(const Context& ctx, const CsrView<V>& a, const Edges& b);

Levels search_levels(const Context& ctx, const CudaQueue& q, const CsrView<double>& a, index_t source);
Paths search_paths(const Context& ctx, const CudaQueue& q, const CsrView<double>& a, index_t source);
std::vector<index_t> name_components(const Context& ctx, const CudaQueue& q, const CsrView<double>& a);

// Triangles of a graph that is sorted and unique.
offset_t count_triangles_on(const CpuQueue& q, const CsrView<double>& a);
offset_t count_triangles_on(const CudaQueue& q, const CsrView<double>& a);

// Whether all edges of every vertex weigh the same, and more than nothing; PageRank of such a graph. `jump` and
// `from_dangling` add up to 1.
bool has_equal_weights(const CpuQueue& q, const CsrView<double>& a);
Ranking rank_by_pattern(const Context& ctx, const CpuQueue& q, const CsrView<double>& a, const RankOptions& options,
                        const std::vector<double>& jump, const std::vector<double>& from_dangling);

// The cutoff of every row, and how many of its entries stay.
template <class V>
void count_selected(const CpuQueue& q, const CsrView<V>& a, const Rule<V>& rule, KeyOf<V>* cutoff, offset_t* count);
template <class V>
void count_selected(const CudaQueue& q, const CsrView<V>& a, const Rule<V>& rule, KeyOf<V>* cutoff, offset_t* count);

// The entries that stay, in their order, to the rows that begin at row_begin.
template <class V>
void fill_selected(const CpuQueue& q, const CsrView<V>& a, const Rule<V>& rule, const KeyOf<V>* cutoff,
                   const offset_t* row_begin, index_t* col, V* value);
template <class V>
void fill_selected(const CudaQueue& q, const CsrView<V>& a, const Rule<V>& rule, const KeyOf<V>* cutoff,
                   const offset_t* row_begin, index_t* col, V* value);

// select(A B) row by row. Products below `negligible` may be left out.
template <class V>
Csr<V> multiply_select_rows(const CpuQueue& q, Semiring semiring, const CsrView<V>& a, const CsrView<V>& b,
                            const Rule<V>& rule, double negligible);

// Rows scaled to add up to 1; chaos[i]: (largest - sum of squares) x entries of row i then; their entries to a power,
// and scaled again.
void inflate(const CpuQueue& q, index_t rows, const offset_t* row_begin, double power, float* value, double* chaos);
void inflate(const CudaQueue& q, index_t rows, const offset_t* row_begin, double power, float* value, double* chaos);

}  // namespace tulle::inline TULLE_ABI::graph
