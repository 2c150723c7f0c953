// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What graph functions do for every vertex or edge, as operations of passes (vector/pass.hpp), the same on both
// backends. Every result has one writer, and nobody reads what others write in the same pass.
#pragma once

#include "graph/semirings.hpp"
#include "prim/search.hpp"
#include "tulle/csr.hpp"
#include "vector/pass.hpp"

namespace tulle::inline TULLE_ABI::graph {

inline constexpr offset_t no_entry = offset_t{1} << 62;

// The first entry of a row whose value is negative, NaN, or infinite where that is not allowed.
struct FindBadValue {
    static constexpr int sums = 0;
    CsrView<double> a;
    bool finite;
    offset_t* first;

    constexpr bool load() { return true; }
    constexpr void at(offset_t i) const
    {
        offset_t found = no_entry;
        for (offset_t p = a.row_begin[i + 1]; p-- > a.row_begin[i];)
            if (!(a.value[p] >= 0) || (finite && a.value[p] - a.value[p] != 0)) found = p;
        first[i] = found;
    }
};

// --- Ranks ---

// Values of a row scaled to add up to 1; rows that add up to nothing dangle.
struct ScaleRow {
    static constexpr int sums = 0;
    const offset_t* row_begin;
    double* value;
    double* dangles;

    constexpr bool load() { return true; }
    constexpr void at(offset_t i) const
    {
        double all = 0;
        for (offset_t p = row_begin[i]; p < row_begin[i + 1]; ++p) all += value[p];
        for (offset_t p = row_begin[i]; all > 0 && p < row_begin[i + 1]; ++p) value[p] /= all;
        dangles[i] = all == 0 ? 1 : 0;
    }
};

// What is at vertices that dangle.
struct SumDangling {
    static constexpr int sums = 1;
    double* result;
    const double* dangles;
    const double* rank;

    constexpr bool load() { return true; }
    constexpr vector::Sums<1> at(offset_t i) const { return {{dangles[i] * rank[i]}}; }
    constexpr void finish(bool, const double* sum) const { *result = sum[0]; }
};

// The rest of an iteration after the product with the damping, which is in next. state: change, at vertices that
// dangle.
struct RankStep {
    static constexpr int sums = 2;
    double damping;
    const double* rank;
    const double* jump;
    const double* from_dangling;
    const double* dangles;
    double* next;
    double* state;
    double lost = 0;

    constexpr bool load()
    {
        lost = state[1];
        return true;
    }
    constexpr vector::Sums<2> at(offset_t i) const
    {
        const double v = next[i] + damping * lost * from_dangling[i] + (1 - damping) * jump[i];
        const double change = v - rank[i];
        next[i] = v;
        return {{change < 0 ? -change : change, dangles[i] * v}};
    }
    constexpr void finish(bool, const double* sum) const
    {
        state[0] = sum[0];
        state[1] = sum[1];
    }
};

struct SumOf {
    static constexpr int sums = 1;
    double* result;
    const double* x;

    constexpr bool load() { return true; }
    constexpr vector::Sums<1> at(offset_t i) const { return {{x[i]}}; }
    constexpr void finish(bool, const double* sum) const { *result = sum[0]; }
};

// x scaled to add up to 1, unless it is nothing; result: the change from `before`.
struct ScaleToOne {
    static constexpr int sums = 1;
    double* result;
    const double* all;
    const double* before;
    double* x;
    double scale = 1;

    constexpr bool load()
    {
        scale = *all > 0 ? 1 / *all : 1;
        return true;
    }
    constexpr vector::Sums<1> at(offset_t i) const
    {
        const double v = x[i] * scale, change = v - before[i];
        x[i] = v;
        return {{change < 0 ? -change : change}};
    }
    constexpr void finish(bool, const double* sum) const { *result = sum[0]; }
};

// --- Products (GPU) ---

// y = A x over a semiring.
template <class S, class V>
struct SemiringRow {
    static constexpr int sums = 0;
    CsrView<V> a;
    const V* x;
    V* y;

    constexpr bool load() { return true; }
    constexpr void at(offset_t i) const
    {
        V sum = S::identity;
        for (offset_t p = a.row_begin[i]; p < a.row_begin[i + 1]; ++p)
            sum = S::add(sum, S::times(a.value[p], x[a.col[p]]));
        y[i] = sum;
    }
};

// The entry of A B at a position of the mask, if there is a product; columns of B ascend.
template <class S, class V>
struct MaskedEntry {
    static constexpr int sums = 0;
    CsrView<V> a, b, mask;
    V* sum;
    index_t* has;

    constexpr bool load() { return true; }
    constexpr void at(offset_t p) const
    {
        const offset_t i = prim::upper_bound(mask.row_begin, offset_t{mask.rows} + 1, p) - 1;
        V total = S::identity;
        index_t found = 0;
        for (offset_t k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k) {
            const offset_t begin = b.row_begin[a.col[k]], end = b.row_begin[a.col[k] + 1];
            offset_t r = begin + prim::lower_bound(b.col + begin, end - begin, mask.col[p]);
            for (; r < end && b.col[r] == mask.col[p]; ++r) {
                const V product = S::times(a.value[k], b.value[r]);
                total = found ? S::add(total, product) : product;
                found = 1;
            }
        }
        sum[p] = total;
        has[p] = found;
    }
};

struct CountHeld {
    static constexpr int sums = 0;
    const offset_t* row_begin;
    const index_t* has;
    offset_t* count;

    constexpr bool load() { return true; }
    constexpr void at(offset_t i) const
    {
        offset_t n = 0;
        for (offset_t p = row_begin[i]; p < row_begin[i + 1]; ++p) n += has[p];
        count[i] = n;
    }
};

template <class V>
struct FillHeld {
    static constexpr int sums = 0;
    CsrView<V> mask;
    const V* sum;
    const index_t* has;
    const offset_t* row_begin;
    index_t* col;
    V* value;

    constexpr bool load() { return true; }
    constexpr void at(offset_t i) const
    {
        offset_t to = row_begin[i];
        for (offset_t p = mask.row_begin[i]; p < mask.row_begin[i + 1]; ++p)
            if (has[p]) {
                col[to] = mask.col[p];
                value[to++] = sum[p];
            }
    }
};

// --- Triangles (GPU) ---

// A pattern with ascending columns.
struct Edges {
    const offset_t* begin;
    const index_t* col;

    constexpr offset_t degree(offset_t v) const { return begin[v + 1] - begin[v]; }
    constexpr bool has(index_t from, index_t to) const
    {
        const offset_t n = degree(from), at = prim::lower_bound(col + begin[from], n, to);
        return at < n && col[begin[from] + at] == to;
    }
    // From fewer to more edges, equal ones by number.
    constexpr bool ascends(offset_t v, index_t u) const
    {
        return degree(v) != degree(u) ? degree(v) < degree(u) : v < u;
    }
};

// The first edge of a vertex that has none back.
struct FindOneWay {
    static constexpr int sums = 0;
    Edges edges;
    offset_t* first;

    constexpr bool load() { return true; }
    constexpr void at(offset_t v) const
    {
        offset_t found = no_entry;
        for (offset_t p = edges.begin[v + 1]; p-- > edges.begin[v];)
            if (!edges.has(edges.col[p], static_cast<index_t>(v))) found = p;
        first[v] = found;
    }
};

struct CountAscending {
    static constexpr int sums = 0;
    Edges edges;
    offset_t* count;

    constexpr bool load() { return true; }
    constexpr void at(offset_t v) const
    {
        offset_t n = 0;
        for (offset_t p = edges.begin[v]; p < edges.begin[v + 1]; ++p) n += edges.ascends(v, edges.col[p]) ? 1 : 0;
        count[v] = n;
    }
};

struct FillAscending {
    static constexpr int sums = 0;
    Edges edges;
    const offset_t* begin;
    index_t* col;

    constexpr bool load() { return true; }
    constexpr void at(offset_t v) const
    {
        offset_t to = begin[v];
        for (offset_t p = edges.begin[v]; p < edges.begin[v + 1]; ++p)
            if (edges.ascends(v, edges.col[p])) col[to++] = edges.col[p];
    }
};

// Triangles that an edge closes: what the lists of its two ends have in common.
struct CountClosed {
    static constexpr int sums = 1;
    double* result;
    Edges edges;
    offset_t vertices;

    constexpr bool load() { return true; }
    constexpr vector::Sums<1> at(offset_t p) const
    {
        const offset_t v = prim::upper_bound(edges.begin, vertices + 1, p) - 1;
        offset_t x = edges.begin[v], y = edges.begin[edges.col[p]], common = 0;
        const offset_t x_end = edges.begin[v + 1], y_end = edges.begin[edges.col[p] + 1];
        while (x < x_end && y < y_end) {
            const index_t u = edges.col[x], w = edges.col[y];
            common += u == w ? 1 : 0;
            x += u <= w ? 1 : 0;
            y += w <= u ? 1 : 0;
        }
        return {{static_cast<double>(common)}};
    }
    constexpr void finish(bool, const double* sum) const { *result = sum[0]; }
};

// --- Searches (GPU) ---

inline constexpr index_t no_vertex = max_index;

// Vertices that were not reached look for the smallest vertex of the last level with an edge to them; columns of
// `back`, the transposed matrix, ascend.
struct PullLevel {
    static constexpr int sums = 0;
    Edges back;
    const index_t* level;
    index_t last;
    index_t* parent;

    constexpr bool load() { return true; }
    constexpr void at(offset_t v) const
    {
        if (level[v] >= 0) return;
        for (offset_t p = back.begin[v]; p < back.begin[v + 1]; ++p)
            if (level[back.col[p]] == last) {
                parent[v] = back.col[p];
                return;
            }
    }
};

// Vertices with a parent and no level get one. state: how many, and their edges.
struct SetLevel {
    static constexpr int sums = 2;
    const offset_t* row_begin;
    const index_t* parent;
    index_t now;
    index_t* level;
    double* state;

    constexpr bool load() { return true; }
    constexpr vector::Sums<2> at(offset_t v) const
    {
        if (level[v] >= 0 || parent[v] == no_vertex) return {{0, 0}};
        level[v] = now;
        return {{1, static_cast<double>(row_begin[v + 1] - row_begin[v])}};
    }
    constexpr void finish(bool, const double* sum) const
    {
        state[0] = sum[0];
        state[1] = sum[1];
    }
};

// A round of min-plus with the transposed matrix; result: how many distances changed.
struct Relax {
    static constexpr int sums = 1;
    double* result;
    CsrView<double> back;
    const double* distance;
    double* next;
    index_t* parent;

    constexpr bool load() { return true; }
    constexpr vector::Sums<1> at(offset_t v) const
    {
        double best = distance[v];
        index_t through = no_vertex;
        for (offset_t p = back.row_begin[v]; p < back.row_begin[v + 1]; ++p) {
            const double length = distance[back.col[p]] + back.value[p];
            if (length < best) {
                best = length;
                through = back.col[p];
            }
        }
        next[v] = best;
        if (through == no_vertex) return {{0}};
        parent[v] = through;
        return {{1}};
    }
    constexpr void finish(bool, const double* sum) const { *result = sum[0]; }
};

// The smallest name of a vertex and its neighbours, along edges and against them.
struct SpreadName {
    static constexpr int sums = 0;
    Edges out, back;
    const index_t* name;
    index_t* next;

    constexpr index_t smallest(const Edges& edges, offset_t v, index_t least) const
    {
        for (offset_t p = edges.begin[v]; p < edges.begin[v + 1]; ++p)
            least = name[edges.col[p]] < least ? name[edges.col[p]] : least;
        return least;
    }
    constexpr bool load() { return true; }
    constexpr void at(offset_t v) const { next[v] = smallest(back, v, smallest(out, v, name[v])); }
};

// The name of the vertex that one is named by; result: how many names changed since `before`.
struct ShortenName {
    static constexpr int sums = 1;
    double* result;
    const index_t* name;
    const index_t* before;
    index_t* next;

    constexpr bool load() { return true; }
    constexpr vector::Sums<1> at(offset_t v) const
    {
        next[v] = name[name[v]];
        return {{next[v] != before[v] ? 1.0 : 0.0}};
    }
    constexpr void finish(bool, const double* sum) const { *result = sum[0]; }
};

}  // namespace tulle::inline TULLE_ABI::graph
