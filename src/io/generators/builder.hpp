// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What the generators share: a pattern is built from a function that names the entries, called twice (count, then
// fill), in parallel.
//
//     from_rows(m, rows, cols, [&](index_t i, auto&& emit) { emit(i); });              // the columns of row i
//     from_items(m, rows, cols, items, [&](offset_t k, auto&& emit) { emit(i, j); });  // the entries that item k
//                                                                                      // stands for
//
// The functions may name entries in any order and more than once; they must name the same ones each time they are
// asked. Rows are sorted and repeats dropped afterwards, so the result does not depend on the number of threads.
// They name rows of the whole matrix; a maker with several parts keeps the rows of its own.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/math.hpp"
#include "prim/scan.hpp"
#include "tulle/context.hpp"
#include "tulle/memory.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::io::detail {

// A matrix without values, or consecutive rows of one.
struct Pattern {
    index_t rows = 0, cols = 0;
    Buffer<offset_t> row_begin = {};
    Buffer<index_t> col = {};
    index_t first = 0, all_rows = 0;  // the first row in the whole matrix, which has so many

    bool has(index_t row_of_all) const { return row_of_all >= first && row_of_all < first + rows; }

    std::span<const index_t> row(index_t i) const
    {
        const offset_t* begin = row_begin.data() + i;
        return {col.data() + begin[0], static_cast<std::size_t>(begin[1] - begin[0])};
    }
};

// The rule by which entry (i, j) gets its value.
enum class Values {
    position,  // pattern_value(i, j)
    ones,      // 1
    stencil,   // -1 beside the diagonal, a constant on it
    dominant,  // in [1, 2) on the diagonal; beside it in [-0.5, 0.5) divided by their number: |inverse| <= 2 in the
               // maximum norm
    function,  // Made::value(i, j)
};

struct Made {
    Pattern pattern;
    Values values = Values::position;
    double diagonal = 0;                                 // of Values::stencil
    std::function<double(index_t, index_t)> value = {};  // of Values::function
};

// What a sentence asked for, and with what to make it.
struct Maker {
    std::string sentence;
    std::vector<offset_t> numbers;  // checked against the least of each; none exceeds max_index
    std::uint64_t seed = 0;
    CpuQueue q;
    std::size_t value_bytes = 0;
    Progress progress = {};
    int part = 0, parts = 1;  // which rows are made: share_of()

    void report(double share) const
    {
        if (progress) progress(share);
    }
    // For a part of the work that is too short to be told of.
    Maker quiet() const { return {sentence, numbers, seed, q, value_bytes, {}}; }
};

// Refuses before any work a matrix that has too many rows or columns, or more entries than there is memory for; returns
// the rows.
index_t expect(const Maker& m, offset_t rows, offset_t cols, offset_t entries);

// f(i) for all i in 0 … n-1, in parallel; f must not throw. In pieces, so that the calling thread can tell of progress
// between them.
template <class F>
void for_each(const Maker& m, offset_t n, double from, double to, const F& f)
{
    const offset_t piece = std::max(offset_t{1} << 16, n / 64);
    for (offset_t begin = 0; begin < n; begin += piece) {
        const offset_t end = std::min(n, begin + piece);
#pragma omp parallel for num_threads(m.q.threads) schedule(dynamic, 256)
        for (offset_t i = begin; i < end; ++i) f(i);
        m.report(from + (to - from) * static_cast<double>(end) / static_cast<double>(n));
    }
}

// Sorts the rows and drops repeats.
void tidy(const Maker& m, Pattern& p);

// The rows of the maker's part, their lengths not yet known.
Pattern rows_of_part(const Maker& m, index_t all_rows, index_t cols);

template <class F>
Pattern from_rows(const Maker& m, index_t all_rows, index_t cols, const F& f)
{
    Pattern p = rows_of_part(m, all_rows, cols);
    offset_t* begin = p.row_begin.data();
    for_each(m, p.rows, 0.0, 0.3, [&](offset_t i) {
        offset_t count = 0;
        f(static_cast<index_t>(p.first + i), [&](index_t) { ++count; });
        begin[i] = count;
    });
    prim::exclusive_scan(m.q, begin, begin, p.rows);
    p.col = Buffer<index_t>(m.q, begin[p.rows]);
    for_each(m, p.rows, 0.3, 0.6, [&](offset_t i) {
        index_t* to = p.col.data() + begin[i];
        f(static_cast<index_t>(p.first + i), [&](index_t j) { *to++ = j; });
    });
    tidy(m, p);
    return p;
}

template <class F>
Pattern from_items(const Maker& m, index_t all_rows, index_t cols, offset_t items, const F& f)
{
    Pattern p = rows_of_part(m, all_rows, cols);
    offset_t* begin = p.row_begin.data();
    const auto next = [&](index_t i) {
        return std::atomic_ref<offset_t>(begin[i - p.first]).fetch_add(1, std::memory_order_relaxed);
    };
    const auto for_each_entry = [&](double from, double to, const auto& visit) {
        for_each(m, items, from, to, [&](offset_t k) {
            f(k, [&](index_t i, index_t j) {
                if (p.has(i)) visit(i, j);
            });
        });
    };
    std::fill_n(begin, p.rows, 0);
    for_each_entry(0.0, 0.3, [&](index_t i, index_t) { next(i); });
    prim::exclusive_scan(m.q, begin, begin, p.rows);
    p.col = Buffer<index_t>(m.q, begin[p.rows]);
    for_each_entry(0.3, 0.6, [&](index_t i, index_t j) { p.col.data()[next(i)] = j; });
    std::memmove(begin + 1, begin,
                 static_cast<std::size_t>(p.rows) * sizeof(offset_t));  // every begin has moved to its row's end
    begin[0] = 0;
    tidy(m, p);
    return p;
}

// b unknowns at each node: the numbers of a node's unknowns follow each other.
struct SameUnknowns {
    index_t per_node;
    index_t node_of(index_t unknown) const { return unknown / per_node; }
    index_t begin(index_t node) const { return node * per_node; }
};

// Every entry of a graph of nodes becomes the full block of their unknowns, as far as row and column are below n and
// keep(row, column).
template <class Unknowns, class Keep>
Pattern expand(const Maker& m, const Pattern& graph, const Unknowns& unknowns, index_t n, const Keep& keep)
{
    return from_rows(m, n, n, [&](index_t i, auto&& emit) {
        for (const index_t v : graph.row(unknowns.node_of(i)))
            for (index_t j = unknowns.begin(v); j < std::min(n, unknowns.begin(v + 1)); ++j)
                if (keep(i, j)) emit(j);
    });
}

template <class Unknowns>
Pattern expand(const Maker& m, const Pattern& graph, const Unknowns& unknowns, index_t n)
{
    return expand(m, graph, unknowns, n, [](index_t, index_t) { return true; });
}

}  // namespace tulle::inline TULLE_ABI::io::detail
