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
#include <string_view>
#include <vector>

#include "tulle/api.hpp"
#include "tulle/context.hpp"
#include "tulle/coo.hpp"
#include "tulle/csr.hpp"
#include "tulle/types.hpp"

// A part of a sparse matrix: a window on its nonzeros, not a copy (MSREP). Lines are rows (CSR, coordinates sorted by
// row) or columns (CSC, coordinates sorted by column).
//
// The paper's fields: start_idx = begin, end_idx = end - 1, start_row = first_line, end_row = last_line - 1, start_flag
// = head. Windows are half open here, and every line has exactly one owner: the part in which it begins. Empty lines
// are owned too, so that beta y reaches them. A line may go on in any number of later parts; each of those has it as
// its head.

namespace tulle::inline TULLE_ABI::partition {

struct Part {
    offset_t begin = 0, end = 0;            // positions in the nonzero arrays
    index_t first_line = 0, last_line = 0;  // owned, and before them the head; half open
    bool head = false;                      // the first line began in an earlier part, which owns it

    constexpr offset_t nonzeros() const { return end - begin; }
    constexpr index_t lines() const { return last_line - first_line; }
    constexpr index_t first_owned() const { return first_line + (head ? 1 : 0); }
    constexpr index_t owned() const { return last_line - first_owned(); }
    bool operator==(const Part&) const = default;
};

// Items with weights, cut into consecutive parts of like weight: rows by their nonzeros, rows of a product by their
// multiplications, anything by a user's numbers. The weights come as a prefix: prefix[i] is the weight of the items
// before i (items + 1 entries, never falling, first 0), which is what row_begin of a CSR matrix is and what
// prim::exclusive_scan makes.
//
//     const auto cuts = partition::split(ctx, a.row_begin, a.rows, 8);
//     // part p: rows cuts[p].item … cuts[p+1].item - 1
//
// Only O(parts log items) entries of the prefix are read, where it lies. Offsets are 64-bit and no product of two of
// them is ever formed, so nothing overflows.

// Where one part ends and the next begins.
struct Cut {
    offset_t at = 0;    // in the weights: a position among the nonzeros when items are rows
    offset_t item = 0;  // the first item that begins at or behind `at`
    bool inside =
        false;  // `at` lies inside the item before: its beginning belongs to the part before, its rest to the next

    bool operator==(const Cut&) const = default;
};

enum class Rule {
    exact,     // every part has its share to the unit; items are cut where that is needed (the paper's way)
    whole,     // no item is cut: the border nearest to the fair position
    tolerant,  // the nearest border if it is close enough, else the item is cut
};

struct SplitOptions {
    Rule rule = Rule::whole;
    double tolerance = 0.01;       // tolerant: no part exceeds its share by more than this fraction
    std::vector<int> shares = {};  // of every part, if they are not alike: {1, 3} gives the second three quarters
};

// parts + 1 cuts, from the first item to the last; parts may be empty, and there may be more of them than items.
// `prefix` is in the context's memory; waits.
TULLE_API std::vector<Cut> split(const Context& ctx, const offset_t* prefix, offset_t items, int parts,
                                 const SplitOptions& options = {});

// Items of equal weight: as many in every part as the shares say.
TULLE_API std::vector<Cut> split_evenly(offset_t items, int parts, const SplitOptions& options = {});

// Cuts between the same items in another prefix: rows dealt out by their products become a cut of the nonzeros. Cuts
// must be whole.
TULLE_API std::vector<Cut> carry_over(const Context& ctx, std::span<const Cut> cuts, const offset_t* prefix);

// The largest part beside the mean, 1 if all are alike or there is nothing.
TULLE_API double imbalance(std::span<const Cut> cuts);

TULLE_API std::string_view to_text(Rule rule);

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
