// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Splitting a matrix into parts: pCSR, pCSC and pCOO of MSREP.
///
/// Parts are views: indices and values are those of the matrix. Only the local offsets of each part are new, rows + 2
/// parts entries in all, in the memory of the matrix. The matrix must stay in place while its parts are used.
/// @code
/// const auto parts = partition::partition(ctx, a.view(), 4, {.rule = partition::Rule::exact});
/// spmv::multiply(ctx, parts.part[2].view(), …);                     // any operation on CSR works on a pCSR
/// const auto again = partition::merge<double>(ctx, parts.part);     // the same bits as a
/// @endcode
/// Lines are rows (CSR, COO sorted by row) or columns (CSC, COO sorted by column). A part is a half-open range of
/// nonzeros. Every line has exactly one owner: the part in which it begins. Empty lines are owned too, so that beta y
/// reaches them. A line may continue in any number of later parts; each of those has it as its head. Names in the
/// paper: start_idx = begin, end_idx = end - 1, start_row = first_line, end_row = last_line - 1, start_flag = head.
///
/// split() divides weighted items into consecutive parts of equal weight: rows by their nonzeros, rows of a product by
/// their multiplications, anything by a user's numbers. The weights are given as prefix sums: prefix[i] is the weight
/// of the items before i (items + 1 entries, never falling, first 0), as row_begin of a CSR matrix.
/// @code
/// const auto cuts = partition::split(ctx, a.row_begin, a.rows, 8);
/// // part p: rows cuts[p].item … cuts[p+1].item - 1
/// @endcode
/// All functions may be called from several threads.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "tulle/api.hpp"
#include "tulle/context.hpp"
#include "tulle/coo.hpp"
#include "tulle/csr.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::partition {

/// A range of nonzeros of a matrix, and the lines in which they are.
struct Part {
    offset_t begin = 0;      ///< first position in the nonzero arrays
    offset_t end = 0;        ///< one behind the last position
    index_t first_line = 0;  ///< first line: the head, or the first owned one
    index_t last_line = 0;   ///< one behind the last line
    bool head = false;       ///< the first line began in an earlier part, which owns it

    /// Number of nonzeros.
    constexpr offset_t nonzeros() const { return end - begin; }
    /// Number of lines, the head included.
    constexpr index_t lines() const { return last_line - first_line; }
    /// First line that begins in this part.
    constexpr index_t first_owned() const { return first_line + (head ? 1 : 0); }
    /// Number of lines that begin in this part.
    constexpr index_t owned() const { return last_line - first_owned(); }
    /// Compares all fields.
    bool operator==(const Part&) const = default;
};

/// Where one part ends and the next begins.
struct Cut {
    offset_t at = 0;    ///< position in the weights: among the nonzeros when items are rows
    offset_t item = 0;  ///< first item that begins at or behind `at`
    /// `at` is inside the item before: its beginning belongs to the part before, its rest to the next.
    bool inside = false;

    /// Compares all fields.
    bool operator==(const Cut&) const = default;
};

/// Where parts may be cut.
enum class Rule {
    exact,     ///< every part has its share to the unit; items are cut where that is needed (as in the paper)
    whole,     ///< no item is cut: the border nearest to the fair position
    tolerant,  ///< the nearest border if it is within the tolerance, else the item is cut
};

/// Options of split() and partition().
struct SplitOptions {
    Rule rule = Rule::whole;       ///< where parts may be cut
    double tolerance = 0.01;       ///< Rule::tolerant: fraction by which a part may exceed its share, 0 … 1
    std::vector<int> shares = {};  ///< of the parts; empty: equal. {1, 3} gives the second three quarters
};

/// Divides weighted items into consecutive parts; reads O(parts log items) entries of the prefix sums, and waits.
///
/// Parts may be empty, and there may be more of them than items. No product of two offsets is formed: nothing
/// overflows.
/// @param ctx where the prefix sums are.
/// @param prefix items + 1 prefix sums of the weights, in the memory of the context.
/// @param items number of items.
/// @param parts number of parts.
/// @param options see SplitOptions.
/// @return parts + 1 cuts, from the first item to the last.
/// @throws ValueError if a number is out of range or `prefix` is null.
/// @throws ShapeError if the number of shares is not that of parts.
TULLE_API std::vector<Cut> split(const Context& ctx, const offset_t* prefix, offset_t items, int parts,
                                 const SplitOptions& options = {});

/// Divides items of equal weight: as many in every part as the shares say.
/// @throws ValueError as split().
/// @throws ShapeError as split().
TULLE_API std::vector<Cut> split_evenly(offset_t items, int parts, const SplitOptions& options = {});

/// Cuts between the same items in other prefix sums: rows divided by their products become cuts of the nonzeros. Waits.
/// @param ctx where the prefix sums are.
/// @param cuts cuts between items; none may be inside an item.
/// @param prefix the other prefix sums, in the memory of the context.
/// @throws ValueError if a cut is inside an item.
TULLE_API std::vector<Cut> map_cuts(const Context& ctx, std::span<const Cut> cuts, const offset_t* prefix);

/// Weight of the largest part divided by the mean; 1 if there is no weight.
TULLE_API double imbalance(std::span<const Cut> cuts);

/// Name of a rule: "exact", "whole", "tolerant".
TULLE_API std::string_view to_text(Rule rule);

/// A part of a CSR matrix (pCSR), in arrays that it does not own.
template <class V>
struct PartialCsr {
    Part part;                            ///< nonzeros and rows
    index_t rows = 0;                     ///< rows of the whole matrix
    index_t cols = 0;                     ///< columns of the whole matrix
    const offset_t* row_begin = nullptr;  ///< local: part.lines() + 1 offsets, from 0 to part.nonzeros()
    const index_t* col = nullptr;         ///< columns of the whole matrix from part.begin on
    const V* value = nullptr;             ///< values of the whole matrix from part.begin on
    bool sorted = true;                   ///< columns ascend inside each row
    bool unique = true;                   ///< no column is stored twice in a row

    /// Rows part.first_line … part.last_line - 1, as far as they are in the part.
    CsrView<V> view() const { return {part.lines(), cols, part.nonzeros(), row_begin, col, value, sorted, unique}; }
};

/// A part of a CSC matrix (pCSC), in arrays that it does not own.
template <class V>
struct PartialCsc {
    Part part;                            ///< nonzeros and columns
    index_t rows = 0;                     ///< rows of the whole matrix
    index_t cols = 0;                     ///< columns of the whole matrix
    const offset_t* col_begin = nullptr;  ///< local: part.lines() + 1 offsets, from 0 to part.nonzeros()
    const index_t* row = nullptr;         ///< rows of the whole matrix from part.begin on
    const V* value = nullptr;             ///< values of the whole matrix from part.begin on
    bool sorted = true;                   ///< rows ascend inside each column
    bool unique = true;                   ///< no row is stored twice in a column

    /// Columns part.first_line … part.last_line - 1, for a product with that slice of x; it may touch every row.
    CscView<V> view() const { return {rows, part.lines(), part.nonzeros(), col_begin, row, value, sorted, unique}; }
};

/// A part of a COO matrix (pCOO), in arrays that it does not own.
template <class V>
struct PartialCoo {
    /// Nonzeros and rows (by_row) or columns (by_col); without order any line may be touched, and none is owned.
    Part part;
    index_t rows = 0;                 ///< rows of the whole matrix
    index_t cols = 0;                 ///< columns of the whole matrix
    const index_t* row = nullptr;     ///< rows of the whole matrix from part.begin on
    const index_t* col = nullptr;     ///< columns of the whole matrix from part.begin on
    const V* value = nullptr;         ///< values of the whole matrix from part.begin on
    CooOrder order = CooOrder::none;  ///< order of the entries
    bool unique = false;              ///< no position is stored twice

    /// The entries of the part, in a matrix of the size of the whole.
    CooView<V> view() const { return {rows, cols, part.nonzeros(), row, col, value, order, unique}; }
};

/// All parts of a matrix, with the local offsets that they use.
template <class Partial>
struct Parts {
    std::vector<Partial> part;  ///< the parts, in order
    Buffer<offset_t> pointer;   ///< the local offsets, one part after the other, in the memory of the matrix
};

/// The parts between cuts of the nonzeros.
/// @throws ValueError if there are fewer than two cuts, or they are not in order.
TULLE_API std::vector<Part> parts_of(std::span<const Cut> cuts);

/// Splits a matrix into parts with equal numbers of nonzeros, or as SplitOptions::shares says.
/// @param ctx where the arrays of the matrix are.
/// @param a the matrix; float or double. Its offsets and columns are not looked at: validate() does.
/// @param parts number of parts.
/// @param options see SplitOptions.
/// @throws ValueError as split() and check_arrays().
/// @throws ShapeError as split() and check_arrays().
template <class V>
TULLE_API Parts<PartialCsr<V>> partition(const Context& ctx, const CsrView<V>& a, int parts,
                                         const SplitOptions& options = {});
/// @copydoc partition(const Context&, const CsrView<V>&, int, const SplitOptions&)
template <class V>
TULLE_API Parts<PartialCsc<V>> partition(const Context& ctx, const CscView<V>& a, int parts,
                                         const SplitOptions& options = {});
/// @copydoc partition(const Context&, const CsrView<V>&, int, const SplitOptions&)
template <class V>
TULLE_API Parts<PartialCoo<V>> partition(const Context& ctx, const CooView<V>& a, int parts,
                                         const SplitOptions& options = {});

/// Splits a matrix at given cuts of its nonzeros: by rows (split_evenly()), products or a user's weights (split() of
/// their prefix sums), brought to the nonzeros by map_cuts().
/// @throws ShapeError if the cuts do not lead from the first row to the last.
/// @throws ValueError as parts_of() and check_arrays().
template <class V>
TULLE_API Parts<PartialCsr<V>> partition(const Context& ctx, const CsrView<V>& a, std::span<const Cut> cuts);
/// Splits a matrix at given cuts of its nonzeros, between columns.
/// @throws ShapeError if the cuts do not lead from the first column to the last.
/// @throws ValueError as parts_of() and check_arrays().
template <class V>
TULLE_API Parts<PartialCsc<V>> partition(const Context& ctx, const CscView<V>& a, std::span<const Cut> cuts);

/// Cuts of a sorted COO matrix into parts with equal numbers of nonzeros; waits.
/// @throws ValueError if the matrix has no order, or as split(); ShapeError as split().
template <class V>
TULLE_API std::vector<Cut> cuts_of(const Context& ctx, const CooView<V>& a, int parts,
                                   const SplitOptions& options = {});

/// The whole matrix again, bit for bit, in the memory of the context.
/// @throws ValueError if the parts are not all parts of one matrix, in order.
template <class V>
TULLE_API Csr<V> merge(const Context& ctx, std::span<const PartialCsr<V>> parts);
/// @copydoc merge(const Context&, std::span<const PartialCsr<V>>)
template <class V>
TULLE_API Csc<V> merge(const Context& ctx, std::span<const PartialCsc<V>> parts);
/// @copydoc merge(const Context&, std::span<const PartialCsr<V>>)
template <class V>
TULLE_API Coo<V> merge(const Context& ctx, std::span<const PartialCoo<V>> parts);

}  // namespace tulle::inline TULLE_ABI::partition
