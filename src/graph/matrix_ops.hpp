// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What graph_ops.hpp does for every row or entry, as operations of passes (vector/pass.hpp), the same on both backends.
// Rows are counted first and filled then; every result has one writer.
#pragma once

#include <cstdint>

#include "graph/ops.hpp"
#include "tulle/dense.hpp"
#include "tulle/graph_ops.hpp"

namespace tulle::inline TULLE_ABI::graph {

// Functions of two numbers: the additions of monoids and the multiplications of semirings.
enum class Binary { plus, times, min, max, any, both, pair, first, second };

template <class V>
constexpr V apply(Binary f, V a, V b)
{
    switch (f) {
    case Binary::plus: return a + b;
    case Binary::times: return a * b;
    case Binary::min: return b < a ? b : a;
    case Binary::max: return a < b ? b : a;
    case Binary::any: return a != 0 || b != 0 ? V(1) : V(0);
    case Binary::both: return a != 0 && b != 0 ? V(1) : V(0);
    case Binary::pair: return 1;
    case Binary::first: return a;
    case Binary::second: return b;
    }
    return a;
}

// --- Rows of a result ---
//
// rows.for_each(i, visit) calls visit(column, entry) for the entries of row i; values(entry) is the value of one.

template <class Rows>
struct CountRow {
    static constexpr int sums = 0;
    Rows rows;
    offset_t* count;

    constexpr bool load() { return true; }
    constexpr void at(offset_t i) const
    {
        offset_t n = 0;
        rows.for_each(i, [&](index_t, auto) { ++n; });
        count[i] = n;
    }
};

template <class Rows, class Values>
struct FillRow {
    static constexpr int sums = 0;
    Rows rows;
    Values values;
    const offset_t* begin = nullptr;
    index_t* col = nullptr;
    typename Values::Value* value = nullptr;

    constexpr bool load() { return true; }
    constexpr void at(offset_t i) const
    {
        offset_t to = begin[i];
        rows.for_each(i, [&](index_t j, auto entry) {
            col[to] = j;
            value[to++] = values(entry);
        });
    }
};

// An entry of A and one of B; -1 where a matrix has none.
struct Pair {
    offset_t p, r;
};

// The columns of A and B, ascending.
struct Merged {
    Edges a, b;
    bool either;  // entries of one matrix alone too

    template <class Visit>
    constexpr void for_each(offset_t i, Visit&& visit) const
    {
        offset_t p = a.begin[i], r = b.begin[i];
        const offset_t p_end = a.begin[i + 1], r_end = b.begin[i + 1];
        while (p < p_end || r < r_end) {
            const bool from_a = r == r_end || (p < p_end && a.col[p] <= b.col[r]);
            const bool from_b = p == p_end || (r < r_end && b.col[r] <= a.col[p]);
            if (either || (from_a && from_b))
                visit(from_a ? a.col[p] : b.col[r], Pair{from_a ? p : offset_t{-1}, from_b ? r : offset_t{-1}});
            p += from_a ? 1 : 0;
            r += from_b ? 1 : 0;
        }
    }
};

// The entries of A in columns that B does not have; both ascend. Rows of B begin at b.begin, wherever that points.
struct Without {
    Edges a, b;

    template <class Visit>
    constexpr void for_each(offset_t i, Visit&& visit) const
    {
        offset_t r = b.begin[i];
        for (offset_t p = a.begin[i]; p < a.begin[i + 1]; ++p) {
            while (r < b.begin[i + 1] && b.col[r] < a.col[p]) ++r;
            if (r == b.begin[i + 1] || b.col[r] != a.col[p]) visit(a.col[p], p);
        }
    }
};

// Which entries of a matrix go to row i of the result, and to which column. A null list is all, in their order.
struct Part {
    Edges a;
    const index_t* from_row;  // row of A for every row of the result; -1: none
    const index_t* to_col;    // column of the result for every column of A; -1: none
    const index_t* outside;   // 1 for rows of which only columns without to_col stay, in their place; null: as above

    template <class Visit>
    constexpr void for_each(offset_t i, Visit&& visit) const
    {
        const offset_t row = from_row ? from_row[i] : i;
        if (row < 0) return;
        for (offset_t p = a.begin[row]; p < a.begin[row + 1]; ++p) {
            const index_t j = a.col[p], to = to_col ? to_col[j] : j;
            if (outside ? outside[i] == 0 || to < 0 : to >= 0) visit(outside ? j : to, p);
        }
    }
};

// Every entry of a row of A with every entry of a row of B.
struct Kron {
    Edges a, b;
    index_t b_rows, b_cols;

    template <class Visit>
    constexpr void for_each(offset_t i, Visit&& visit) const
    {
        const offset_t row = i / b_rows, k = i % b_rows;
        for (offset_t p = a.begin[row]; p < a.begin[row + 1]; ++p)
            for (offset_t r = b.begin[k]; r < b.begin[k + 1]; ++r) visit(a.col[p] * b_cols + b.col[r], Pair{p, r});
    }
};

// The function of two entries; where there is one alone, that.
template <class V>
struct PairValues {
    using Value = V;
    const V* a;
    const V* b;
    Binary f;

    constexpr V operator()(const Pair& at) const
    {
        return at.p < 0 ? b[at.r] : at.r < 0 ? a[at.p] : apply(f, a[at.p], b[at.r]);
    }
};

template <class V>
struct SameValues {
    using Value = V;
    const V* from;

    constexpr V operator()(offset_t p) const { return from[p]; }
};

using CountMerged = CountRow<Merged>;
using CountPart = CountRow<Part>;
using CountWithout = CountRow<Without>;
template <class V>
using FillMerged = FillRow<Merged, PairValues<V>>;
template <class V>
using FillPart = FillRow<Part, SameValues<V>>;
template <class V>
using FillWithout = FillRow<Without, SameValues<V>>;
template <class V>
using FillKron = FillRow<Kron, PairValues<V>>;

template <class V>
struct ReduceRow {
    static constexpr int sums = 0;
    CsrView<V> a;
    Binary f;
    V identity;
    V* y;

    constexpr bool load() { return true; }
    constexpr void at(offset_t i) const
    {
        V sum = identity;
        for (offset_t p = a.row_begin[i]; p < a.row_begin[i + 1]; ++p) sum = apply(f, sum, a.value[p]);
        y[i] = sum;
    }
};

// An entry of C = A B with dense B and C, or of the sum of C and A B; neighbours in memory are computed side by side.
template <class V>
struct DenseEntry {
    static constexpr int sums = 0;
    CsrView<V> a;
    const V* b;
    offset_t b_row, b_col;  // from a row of B to the next, and from a column
    DenseView<V> c;
    Binary times, plus;
    V identity;
    bool accumulate;

    constexpr bool load() { return true; }
    constexpr void at(offset_t e) const
    {
        const bool by_rows = c.layout == Layout::row_major;
        const auto i = static_cast<index_t>(by_rows ? e / c.cols : e % c.rows);
        const auto j = static_cast<index_t>(by_rows ? e % c.cols : e / c.rows);
        V sum = accumulate ? c(i, j) : identity;
        for (offset_t p = a.row_begin[i]; p < a.row_begin[i + 1]; ++p)
            sum = apply(plus, sum, apply(times, a.value[p], b[a.col[p] * b_row + j * b_col]));
        c(i, j) = sum;
    }
};

// Counted without a loop over the entries.
struct CountKron {
    static constexpr int sums = 0;
    const offset_t* a_begin;
    const offset_t* b_begin;
    offset_t b_rows;
    offset_t* count;

    constexpr bool load() { return true; }
    constexpr void at(offset_t i) const
    {
        const offset_t row = i / b_rows, k = i % b_rows;
        count[i] = (a_begin[row + 1] - a_begin[row]) * (b_begin[k + 1] - b_begin[k]);
    }
};

// --- Sparse vectors ---

// The first index that does not ascend or is out of range.
struct FindBadIndex {
    static constexpr int sums = 0;
    const index_t* index;
    index_t size;
    offset_t* first;

    constexpr bool load() { return true; }
    constexpr void at(offset_t k) const
    {
        const bool good = index[k] >= 0 && index[k] < size && (k == 0 || index[k - 1] < index[k]);
        first[k] = good ? no_entry : k;
    }
};

// Products of every entry of x: the length of its column.
struct CountPushed {
    static constexpr int sums = 0;
    const offset_t* row_begin;  // of the transposed matrix
    const index_t* index;
    offset_t* count;

    constexpr bool load() { return true; }
    constexpr void at(offset_t k) const { count[k] = row_begin[index[k] + 1] - row_begin[index[k]]; }
};

// Every product, and the row it belongs to.
template <class V>
struct PushProduct {
    static constexpr int sums = 0;
    CsrView<V> transposed;
    const index_t* index;
    const V* x;
    const offset_t* begin;  // of the products of each entry of x
    offset_t entries;
    Binary f;
    std::uint32_t* row;
    offset_t* number;
    V* product;

    constexpr bool load() { return true; }
    constexpr void at(offset_t k) const
    {
        const offset_t e = prim::upper_bound(begin, entries + 1, k) - 1;
        const offset_t p = transposed.row_begin[index[e]] + (k - begin[e]);
        row[k] = static_cast<std::uint32_t>(transposed.col[p]);
        number[k] = k;
        product[k] = apply(f, transposed.value[p], x[e]);
    }
};

// 1 for the first product of every row.
struct FlagFirst {
    static constexpr int sums = 0;
    const std::uint32_t* row;
    offset_t* flag;

    constexpr bool load() { return true; }
    constexpr void at(offset_t k) const { flag[k] = k == 0 || row[k - 1] != row[k] ? 1 : 0; }
};

// The sum of the products of a row; they are one after the other, in the order of the columns.
template <class V>
struct SumPushed {
    static constexpr int sums = 0;
    const std::uint32_t* row;
    const offset_t* number;
    const V* product;
    offset_t products;
    const offset_t* place;  // of the row in the result, at the first product
    Binary f;
    index_t* index;
    V* value;

    constexpr bool load() { return true; }
    constexpr void at(offset_t k) const
    {
        if (place[k + 1] == place[k]) return;
        V sum = product[number[k]];
        for (offset_t l = k + 1; l < products && row[l] == row[k]; ++l) sum = apply(f, sum, product[number[l]]);
        index[place[k]] = static_cast<index_t>(row[k]);
        value[place[k]] = sum;
    }
};

// Where x has its entry of a column; -1 elsewhere.
struct PlaceEntry {
    static constexpr int sums = 0;
    const index_t* index;
    offset_t entries;
    index_t* place;

    constexpr bool load() { return true; }
    constexpr void at(offset_t j) const
    {
        const offset_t k = prim::lower_bound(index, entries, static_cast<index_t>(j));
        place[j] = k < entries && index[k] == j ? static_cast<index_t>(k) : -1;
    }
};

// The sum of the products of a row, and 1 where there is one.
template <class V>
struct PullRow {
    static constexpr int sums = 0;
    CsrView<V> a;
    const V* x;
    const index_t* place;
    Binary times, plus;
    V* sum;
    offset_t* flag;

    constexpr bool load() { return true; }
    constexpr void at(offset_t i) const
    {
        V total = 0;
        offset_t found = 0;
        for (offset_t p = a.row_begin[i]; p < a.row_begin[i + 1]; ++p) {
            if (place[a.col[p]] < 0) continue;
            const V product = apply(times, a.value[p], x[place[a.col[p]]]);
            total = found ? apply(plus, total, product) : product;
            found = 1;
        }
        sum[i] = total;
        flag[i] = found;
    }
};

template <class V>
struct PackEntry {
    static constexpr int sums = 0;
    const V* sum;
    const offset_t* place;
    index_t* index;
    V* value;

    constexpr bool load() { return true; }
    constexpr void at(offset_t i) const
    {
        if (place[i + 1] == place[i]) return;
        index[place[i]] = static_cast<index_t>(i);
        value[place[i]] = sum[i];
    }
};

// F(operation) for all of these: where backends instantiate run_pass().
#define TULLE_GRAPH_MATRIX_PASSES_OF(F, V) \
    F(FillMerged<V>)                       \
    F(FillPart<V>)                         \
    F(ReduceRow<V>)                        \
    F(FillKron<V>) F(PushProduct<V>) F(SumPushed<V>) F(PullRow<V>) F(PackEntry<V>) F(FillWithout<V>) F(DenseEntry<V>)
#define TULLE_GRAPH_MATRIX_PASSES(F)        \
    TULLE_GRAPH_MATRIX_PASSES_OF(F, float)  \
    TULLE_GRAPH_MATRIX_PASSES_OF(F, double) \
    F(CountMerged) F(CountPart) F(CountKron) F(FindBadIndex) F(CountPushed) F(FlagFirst) F(PlaceEntry) F(CountWithout)

}  // namespace tulle::inline TULLE_ABI::graph
