// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The steps of graph functions, once per queue.
#pragma once

#include "graph/select.hpp"
#include "tulle/csr.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::graph {

// The bar of every row, and how many of its entries stay.
template <class V>
void count_selected(const CpuQueue& q, const CsrView<V>& a, const Rule<V>& rule, KeyOf<V>* bar, offset_t* count);
template <class V>
void count_selected(const CudaQueue& q, const CsrView<V>& a, const Rule<V>& rule, KeyOf<V>* bar, offset_t* count);

// The entries that stay, in their order, to the rows that begin at row_begin.
template <class V>
void fill_selected(const CpuQueue& q, const CsrView<V>& a, const Rule<V>& rule, const KeyOf<V>* bar,
                   const offset_t* row_begin, index_t* col, V* value);
template <class V>
void fill_selected(const CudaQueue& q, const CsrView<V>& a, const Rule<V>& rule, const KeyOf<V>* bar,
                   const offset_t* row_begin, index_t* col, V* value);

// select(A B) row by row.
template <class V>
Csr<V> multiply_select_rows(const CpuQueue& q, Semiring semiring, const CsrView<V>& a, const CsrView<V>& b,
                            const Rule<V>& rule);

// Rows scaled to add up to 1; chaos[i]: (largest - sum of squares) x entries of row i then; their entries to a power,
// and scaled again.
void inflate(const CpuQueue& q, index_t rows, const offset_t* row_begin, double power, float* value, double* chaos);
void inflate(const CudaQueue& q, index_t rows, const offset_t* row_begin, double power, float* value, double* chaos);

}  // namespace tulle::inline TULLE_ABI::graph
