// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What is computed for a row, an unknown or an aggregate, the same on both backends: each struct is the arguments of a
// step, and its operator() the work for number i. Every result has one writer, and sums are in the order of positions,
// so that results do not depend on the order of the work.
#pragma once

#include <cstdint>

#include "base/hash.hpp"
#include "tulle/csr.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::amg {

template <class V>
constexpr V magnitude(V v)
{
    return v < V(0) ? -v : v;
}

// --- The matrix of a level ---

// Inverse diagonal, or inverse sums of magnitudes; sum of magnitudes over the diagonal, whose largest bounds the
// spectral radius of D^-1 A; what is wrong with the row: 0 nothing, 1 no diagonal, 2 not positive, 3 not finite.
template <class V>
struct InspectRow {
    CsrView<V> a;
    V* diagonal;
    V* bound;
    index_t* problem;

    constexpr void operator()(offset_t i) const
    {
        V own = 0, sum = 0, residue = 0;
        index_t found = 0;
        for (offset_t k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k) {
            sum += magnitude(a.value[k]);
            residue += a.value[k] * V(0);
            if (a.col[k] != i) continue;
            own = a.value[k];
            ++found;
        }
        diagonal[i] = own;
        bound[i] = own > V(0) ? sum / own : V(0);
        problem[i] = !(residue == V(0)) ? 3 : found != 1 ? 1 : own > V(0) ? 0 : 2;
    }
};

// 1 / d, or 1 / l1 norm of the row; zero where that is not positive.
template <class V>
struct InvertDiagonal {
    const V* diagonal;
    const V* bound;
    bool l1;
    V* inverse;

    constexpr void operator()(offset_t i) const
    {
        const V d = l1 ? diagonal[i] * bound[i] : diagonal[i];
        inverse[i] = d > V(0) ? V(1) / d : V(0);
    }
};

// --- Strength of connection ---

template <class V>
constexpr bool is_strong(const CsrView<V>& a, const V* diagonal, double squared, offset_t i, offset_t k)
{
    const index_t j = a.col[k];
    if (j == i || a.value[k] == V(0)) return false;
    const double v = static_cast<double>(a.value[k]);
    const double scale = static_cast<double>(diagonal[i]) * static_cast<double>(diagonal[j]);
    return v * v >= squared * scale;
}

template <class V>
struct CountStrong {
    CsrView<V> a;
    const V* diagonal;
    double squared;
    offset_t* count;

    constexpr void operator()(offset_t i) const
    {
        offset_t n = 0;
        for (offset_t k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k) n += is_strong(a, diagonal, squared, i, k);
        count[i] = n;
    }
};

// Column of every strong connection, and its weight a_ij^2 / (a_ii a_jj), which scaling does not change.
template <class V>
struct FillStrong {
    CsrView<V> a;
    const V* diagonal;
    double squared;
    const offset_t* begin;
    index_t* col;
    V* weight;

    constexpr void operator()(offset_t i) const
    {
        offset_t to = begin[i];
        for (offset_t k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k)
            if (is_strong(a, diagonal, squared, i, k)) {
                col[to] = a.col[k];
                weight[to++] = a.value[k] / diagonal[i] * (a.value[k] / diagonal[a.col[k]]);
            }
    }
};

// --- MIS-2: a maximal set of rows with no two within distance two (Bell, Dalton, Olson 2012,
// doi:10.1137/110838844). A word is state, priority and row; the largest of those within distance two joins ---

using Word = std::uint64_t;
inline constexpr int state_shift = 62;
inline constexpr Word out = 0, undecided = 1, in = 2;
constexpr Word state_of(Word word) { return word >> state_shift; }
constexpr Word with_state(Word word, Word state)
{
    return (word & ((Word{1} << state_shift) - 1)) | state << state_shift;
}

// The graph of strong connections.
struct Graph {
    const offset_t* begin;
    const index_t* col;
};

// Rows without a strong connection are out from the beginning, and in no aggregate.
struct StartSet {
    Graph strong;
    Word* word;

    constexpr void operator()(offset_t i) const
    {
        const Word priority = hash_of(0, i) >> 34;  // 30 bits
        const bool alone = strong.begin[i] == strong.begin[i + 1];
        word[i] = with_state(priority << 32 | static_cast<Word>(i), alone ? out : undecided);
    }
};

struct LargestAround {
    Graph strong;
    const Word* word;
    Word* largest;

    constexpr void operator()(offset_t i) const
    {
        Word most = word[i];
        for (offset_t k = strong.begin[i]; k < strong.begin[i + 1]; ++k) {
            const Word other = word[strong.col[k]];
            most = other > most ? other : most;
        }
        largest[i] = most;
    }
};

// The largest within distance two decides; open[i]: whether row i is still undecided.
struct DecideSet {
    Graph strong;
    const Word* around;
    Word* word;
    index_t* open;

    constexpr void operator()(offset_t i) const
    {
        open[i] = 0;
        if (state_of(word[i]) != undecided) return;
        Word most = around[i];
        for (offset_t k = strong.begin[i]; k < strong.begin[i + 1]; ++k) {
            const Word other = around[strong.col[k]];
            most = other > most ? other : most;
        }
        if (most == word[i]) word[i] = with_state(word[i], in);
        else if (state_of(most) == in) word[i] = with_state(word[i], out);
        else open[i] = 1;
    }
};

// --- Aggregates: a row of the set, its neighbours, and then the rows that have one of those as a neighbour ---

struct FlagRoots {
    const Word* word;
    offset_t* is_root;

    constexpr void operator()(offset_t i) const { is_root[i] = state_of(word[i]) == in ? 1 : 0; }
};

// number: the scanned flags. At most one root is a neighbour: two are further apart.
struct JoinRoot {
    Graph strong;
    const offset_t* number;
    index_t* aggregate;

    constexpr bool is_root(offset_t i) const { return number[i + 1] != number[i]; }
    constexpr void operator()(offset_t i) const
    {
        index_t mine = is_root(i) ? static_cast<index_t>(number[i]) : -1;
        for (offset_t k = strong.begin[i]; mine < 0 && k < strong.begin[i + 1]; ++k)
            if (is_root(strong.col[k])) mine = static_cast<index_t>(number[strong.col[k]]);
        aggregate[i] = mine;
    }
};

// The neighbour with the strongest connection that has an aggregate. A row that finds none (a pattern that is not
// symmetric) stays alone.
template <class V>
struct JoinNeighbour {
    Graph strong;
    const V* weight;
    const index_t* first;
    index_t* aggregate;

    constexpr void operator()(offset_t i) const
    {
        index_t mine = first[i];
        V most = 0;
        if (mine < 0)
            for (offset_t k = strong.begin[i]; k < strong.begin[i + 1]; ++k) {
                if (first[strong.col[k]] < 0 || !(weight[k] > most)) continue;
                most = weight[k];
                mine = first[strong.col[k]];
            }
        aggregate[i] = mine;
    }
};

// --- The tentative prolongator: the near null space on each aggregate, orthonormal ---

// Entries of row i: `vectors`, or none outside of aggregates.
struct CountTentative {
    const index_t* aggregate;
    index_t vectors;
    offset_t* count;

    constexpr void operator()(offset_t i) const { count[i] = aggregate[i] < 0 ? 0 : vectors; }
};

// Bins for rows outside of aggregates come last.
struct BinRows {
    const index_t* aggregate;
    index_t aggregates;
    index_t* bin;

    constexpr void operator()(offset_t i) const { bin[i] = aggregate[i] < 0 ? aggregates : aggregate[i]; }
};

// Q and R of one aggregate, by Gram-Schmidt, twice. A vector that depends on those before it gives a column of zeros.
template <class V>
struct Orthonormalize {
    const offset_t *begin, *row;  // rows of each aggregate
    const V* near_null;           // row-major
    index_t vectors;
    const offset_t* row_begin;  // of the prolongator
    index_t* col;
    V* value;
    V* coarse;  // near null space of the coarse level, row-major

    constexpr V& entry(offset_t n, index_t c) const { return value[row_begin[row[n]] + c]; }
    constexpr V dot(offset_t g, index_t c, index_t d) const
    {
        V sum = 0;
        for (offset_t n = begin[g]; n < begin[g + 1]; ++n) sum += entry(n, c) * entry(n, d);
        return sum;
    }
    constexpr void operator()(offset_t g) const
    {
        V* const r = coarse + g * vectors * vectors;
        for (index_t c = 0; c < vectors * vectors; ++c) r[c] = V(0);
        for (index_t c = 0; c < vectors; ++c) {
            for (offset_t n = begin[g]; n < begin[g + 1]; ++n) {
                col[row_begin[row[n]] + c] = static_cast<index_t>(g * vectors + c);
                entry(n, c) = near_null[row[n] * vectors + c];
            }
            orthogonalize(g, c, r);
        }
    }
    constexpr void orthogonalize(offset_t g, index_t c, V* r) const
    {
        const V before = dot(g, c, c);
        for (int pass = 0; pass < 2; ++pass)
            for (index_t d = 0; d < c; ++d) {
                const V part = dot(g, d, c);
                r[d * vectors + c] += part;
                for (offset_t n = begin[g]; n < begin[g + 1]; ++n) entry(n, c) -= part * entry(n, d);
            }
        const V left = dot(g, c, c);
        constexpr V dependent = sizeof(V) == 8 ? V(1e-24) : V(1e-10);  // of the squared norm
        const bool zero = !(left > dependent * before);
        const V norm = zero ? V(0) : square_root(left);
        r[c * vectors + c] = norm;
        for (offset_t n = begin[g]; n < begin[g + 1]; ++n) entry(n, c) = zero ? V(0) : entry(n, c) / norm;
    }
    // Newton's method from above: the same bits on both backends.
    static constexpr V square_root(V v)
    {
        V x = v > V(1) ? v : V(1);
        for (int n = 0; n < 200; ++n) {
            const V next = (x + v / x) / V(2);
            if (!(next < x)) break;
            x = next;
        }
        return x;
    }
};

// P = T - damping D^-1 (A T), in the place of A T, whose pattern has that of T in it. Rows are sorted.
template <class V>
struct SmoothRow {
    const offset_t *row_begin, *tentative_begin;
    const index_t *col, *tentative_col;
    const V *tentative, *diagonal;
    V damping;
    const V* product;
    V* value;

    constexpr void operator()(offset_t i) const
    {
        const V factor = diagonal[i] > V(0) ? damping / diagonal[i] : V(0);
        offset_t t = tentative_begin[i];
        for (offset_t k = row_begin[i]; k < row_begin[i + 1]; ++k) {
            V v = -factor * product[k];
            if (t < tentative_begin[i + 1] && tentative_col[t] == col[k]) v += tentative[t++];
            value[k] = v;
        }
    }
};

// --- Smoothers. D^-1 is `inverse` ---

// d = factor D^-1 r, z = d.
template <class V>
struct SmoothFirst {
    const V *inverse, *r;
    V factor;
    V *d, *z;
    constexpr void operator()(offset_t i) const
    {
        const V step = factor * inverse[i] * r[i];
        if (d) d[i] = step;
        z[i] = step;
    }
};

// d = keep d + factor D^-1 r, z += d; without d: keep is zero.
template <class V>
struct SmoothNext {
    const V *inverse, *r;
    V keep, factor;
    V *d, *z;
    constexpr void operator()(offset_t i) const
    {
        V step = factor * inverse[i] * r[i];
        if (d) {
            if (keep != V(0)) step += keep * d[i];
            d[i] = step;
        }
        z[i] += step;
    }
};

}  // namespace tulle::inline TULLE_ABI::amg
