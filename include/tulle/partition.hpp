// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// pCSR, pCSC and pCOO (MSREP): parts of a matrix as views. Columns (rows), values and coordinates are the matrix's own;
// only the local pointer of each part is new, rows + 2 parts entries in all, written where the matrix lies.
//
//     const auto parts = partition::partition(ctx, a.view(), 4, {.rule = partition::Rule::exact});
//     spmv::multiply(ctx, parts.part[2].view(), …);            // any kernel for CSR works on a pCSR
//     const auto again = partition::merge<double>(ctx, parts.part);     // the same bits as a
//
// The matrix must stay in place while its parts are used.
#pragma once

#include <span>
#include <vector>

#include "tulle/api.hpp"
#include "tulle/context.hpp"
#include "tulle/coo.hpp"
#include "tulle/csc.hpp"
#include "tulle/csr.hpp"
#include "tulle/part.hpp"
#include "tulle/split.hpp"

namespace tulle::inline TULLE_ABI::partition {

template <class V>
struct PartialCsr {
    Part part;                            // of rows
    index_t rows = 0, cols = 0;           // of the whole matrix
    const offset_t* row_begin = nullptr;  // local: part.lines() + 1 entries, from 0 to part.nonzeros()
    const index_t* col = nullptr;         // the whole matrix's arrays from part.begin on
    const V* value = nullptr;
    bool sorted = true, unique = true;

    // Rows part.first_line … part.last_line - 1 as far as they lie in the part.
    CsrView<V> view() const { return {part.lines(), cols, part.nonzeros(), row_begin, col, value, sorted, unique}; }
};

template <class V>
struct PartialCsc {
    Part part;  // of columns
    index_t rows = 0, cols = 0;
    const offset_t* col_begin = nullptr;
    const index_t* row = nullptr;
    const V* value = nullptr;
    bool sorted = true, unique = true;

    // Columns part.first_line … part.last_line - 1: to be multiplied with that slice of x; every row may be touched.
    CscView<V> view() const { return {rows, part.lines(), part.nonzeros(), col_begin, row, value, sorted, unique}; }
};

template <class V>
struct PartialCoo {
    Part part;  // of rows (by_row) or columns (by_col); without order any line may be touched, and none is owned
    index_t rows = 0, cols = 0;
    const index_t *row = nullptr, *col = nullptr;
    const V* value = nullptr;
    CooOrder order = CooOrder::none;
    bool unique = false;

    // With the rows and columns of the whole matrix.
    CooView<V> view() const { return {rows, cols, part.nonzeros(), row, col, value, order, unique}; }
};

template <class Partial>
struct Parts {
    std::vector<Partial> part;
    Buffer<offset_t> pointer;  // the local pointers, one part after the other
};

// The windows between cuts.
TULLE_API std::vector<Part> parts_of(std::span<const Cut> cuts);

// Balanced by nonzeros.
template <class V>
TULLE_API Parts<PartialCsr<V>> partition(const Context& ctx, const CsrView<V>& a, int parts,
                                         const SplitOptions& options = {});
template <class V>
TULLE_API Parts<PartialCsc<V>> partition(const Context& ctx, const CscView<V>& a, int parts,
                                         const SplitOptions& options = {});
template <class V>
TULLE_API Parts<PartialCoo<V>> partition(const Context& ctx, const CooView<V>& a, int parts,
                                         const SplitOptions& options = {});

// At given cuts: by rows (split_evenly), products or a user's weights (split of their prefix), brought to the nonzeros
// by carry_over().
template <class V>
TULLE_API Parts<PartialCsr<V>> partition(const Context& ctx, const CsrView<V>& a, std::span<const Cut> cuts);
template <class V>
TULLE_API Parts<PartialCsc<V>> partition(const Context& ctx, const CscView<V>& a, std::span<const Cut> cuts);

// The cuts of coordinates in order (by row or by column).
template <class V>
TULLE_API std::vector<Cut> cuts_of(const Context& ctx, const CooView<V>& a, int parts,
                                   const SplitOptions& options = {});

// The whole matrix again, bit for bit. ValueError if the parts are not all of one matrix, in order.
template <class V>
TULLE_API Csr<V> merge(const Context& ctx, std::span<const PartialCsr<V>> parts);
template <class V>
TULLE_API Csc<V> merge(const Context& ctx, std::span<const PartialCsc<V>> parts);
template <class V>
TULLE_API Coo<V> merge(const Context& ctx, std::span<const PartialCoo<V>> parts);

}  // namespace tulle::inline TULLE_ABI::partition
