// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What classical coarsening computes for a row, the same on both backends (as rows.hpp).
//
//   strong      i depends on j where -a_ij >= theta times the largest -a_ik of the row
//   PMIS        coarse points: no two undecided neighbours at once; points that depend on one are fine (De Sterck,
//               Yang, Heys 2006, doi:10.1137/040615729). More dependents come first, then a hash: the same on every
//               backend
//   extended+i  by products of matrices (Li, Sjogreen, Yang 2021, doi:10.1137/20M134931X): with C_k the coarse points
//               that fine point k depends on, F_i the fine ones of i, beta_k = sum of a_kl over C_k,
//                   P = D X B,  B_kj = a_kj for j in C_k,  X_ii = 1,  X_ik = a_ik / (beta_k + a_ki) for k in F_i,
//                   D_ii = -1 / (a_ii + other a_in + sum over F_i of X_ik a_ki)
//               and rows of coarse points 1 at their own number. A is symmetric: a_ki is a_ik
//   truncation  the largest entries of each row of P, scaled to its sum
#pragma once

#include <bit>

#include "amg/rows.hpp"

namespace tulle::inline TULLE_ABI::amg {

// --- Dependences ---

// Values that differ by rounding alone are on the same side.
inline constexpr double strength_margin = 1 - 1e-5;

template <class V>
struct Dependence {
    CsrView<V> a;
    double strength;

    constexpr double least(offset_t i) const
    {
        V most = 0;
        for (offset_t k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k)
            if (a.col[k] != i && -a.value[k] > most) most = -a.value[k];
        return static_cast<double>(most) * strength * strength_margin;
    }
    constexpr bool is_strong(offset_t i, offset_t k, double least) const
    {
        const double v = -static_cast<double>(a.value[k]);
        return a.col[k] != i && v > 0 && v >= least;
    }
};

template <class V>
struct CountDependences {
    Dependence<V> of;
    offset_t* count;

    constexpr void operator()(offset_t i) const
    {
        const double least = of.least(i);
        offset_t n = 0;
        for (offset_t k = of.a.row_begin[i]; k < of.a.row_begin[i + 1]; ++k) n += of.is_strong(i, k, least);
        count[i] = n;
    }
};

// Columns, values, and positions in A.
template <class V>
struct FillDependences {
    Dependence<V> of;
    const offset_t* begin;
    index_t* col;
    V* value;
    offset_t* source;

    constexpr void operator()(offset_t i) const
    {
        const double least = of.least(i);
        offset_t to = begin[i];
        for (offset_t k = of.a.row_begin[i]; k < of.a.row_begin[i + 1]; ++k) {
            if (!of.is_strong(i, k, least)) continue;
            col[to] = of.a.col[k];
            value[to] = of.a.value[k];
            source[to++] = k;
        }
    }
};

// --- PMIS. A word is state, number of dependents, hash and row; states as in rows.hpp: in is coarse, out is fine ---

struct StartPoints {
    Graph needs, dependents;
    Word* word;

    constexpr void operator()(offset_t i) const
    {
        constexpr Word most = (Word{1} << 12) - 1;
        const auto count = static_cast<Word>(dependents.begin[i + 1] - dependents.begin[i]);
        const bool alone = count == 0 && needs.begin[i] == needs.begin[i + 1];
        const Word priority = (count < most ? count : most) << 50 | (hash_of(1, i) >> 45) << 31 | static_cast<Word>(i);
        word[i] = with_state(priority, alone ? out : undecided);
    }
};

// The largest of its undecided neighbours is coarse.
struct DecideCoarse {
    Graph needs, dependents;
    const Word* word;
    Word* next;

    constexpr bool is_largest(const Graph& g, offset_t i) const
    {
        for (offset_t k = g.begin[i]; k < g.begin[i + 1]; ++k) {
            const Word other = word[g.col[k]];
            if (state_of(other) == undecided && other > word[i]) return false;
        }
        return true;
    }
    constexpr void operator()(offset_t i) const
    {
        const bool coarse = state_of(word[i]) == undecided && is_largest(needs, i) && is_largest(dependents, i);
        next[i] = coarse ? with_state(word[i], in) : word[i];
    }
};

// What depends on a coarse point is fine; open[i]: whether point i is still undecided.
struct DecideFine {
    Graph needs;
    const Word* next;
    Word* word;
    index_t* open;

    constexpr void operator()(offset_t i) const
    {
        Word mine = next[i];
        for (offset_t k = needs.begin[i]; state_of(mine) == undecided && k < needs.begin[i + 1]; ++k)
            if (state_of(next[needs.col[k]]) == in) mine = with_state(mine, out);
        word[i] = mine;
        open[i] = state_of(mine) == undecided ? 1 : 0;
    }
};

// --- Patterns of B and X ---

// number: scanned flags of coarse points.
struct Points {
    const offset_t* number;
    constexpr bool is_coarse(offset_t i) const { return number[i + 1] != number[i]; }
};

struct CountInterpolation {
    Graph needs;
    Points points;
    offset_t *direct, *through;

    constexpr void operator()(offset_t i) const
    {
        offset_t coarse = points.is_coarse(i) ? 1 : 0, fine = 1;
        for (offset_t k = needs.begin[i]; !points.is_coarse(i) && k < needs.begin[i + 1]; ++k)
            ++(points.is_coarse(needs.col[k]) ? coarse : fine);
        direct[i] = coarse;
        through[i] = fine;
    }
};

// A position of -1 stands for 1.
struct FillInterpolation {
    Graph needs;
    const offset_t* source;
    Points points;
    const offset_t *direct_begin, *through_begin;
    index_t *direct_col, *through_col;
    offset_t *direct_source, *through_source;

    constexpr void operator()(offset_t i) const
    {
        offset_t d = direct_begin[i], t = through_begin[i];
        if (points.is_coarse(i)) {
            direct_col[d] = static_cast<index_t>(points.number[i]);
            direct_source[d] = -1;
            through_col[t] = static_cast<index_t>(i);
            through_source[t] = -1;
            return;
        }
        bool own = false;
        for (offset_t k = needs.begin[i]; k < needs.begin[i + 1]; ++k) {
            const index_t j = needs.col[k];
            if (points.is_coarse(j)) {
                direct_col[d] = static_cast<index_t>(points.number[j]);
                direct_source[d++] = source[k];
                continue;
            }
            if (!own && j > i) own = put_own(i, t);
            through_col[t] = j;
            through_source[t++] = source[k];
        }
        if (!own) put_own(i, t);
    }
    constexpr bool put_own(offset_t i, offset_t& t) const
    {
        through_col[t] = static_cast<index_t>(i);
        through_source[t++] = -1;
        return true;
    }
};

// --- Values ---

// Values of B, and their sum for each row.
template <class V>
struct FillDirect {
    const V* value;  // of A
    const offset_t *begin, *source;
    V *direct, *sum;

    constexpr void operator()(offset_t i) const
    {
        V total = 0;
        for (offset_t k = begin[i]; k < begin[i + 1]; ++k) {
            direct[k] = source[k] < 0 ? V(1) : value[source[k]];
            total += direct[k];
        }
        sum[i] = total;
    }
};

// Values of X, and the factor D of each row. Points that B has no entries for, and denominators of zero: the entry is
// added to the diagonal.
template <class V>
struct FillThrough {
    CsrView<V> a;
    Points points;
    const offset_t *begin, *source;
    const index_t* col;
    const V *sum, *diagonal;  // of B; of A
    V *through, *factor;

    constexpr void operator()(offset_t i) const
    {
        V left = 0, back = 0;  // what is neither in B nor in X; what comes back to i
        for (offset_t k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k) left += a.value[k];
        left -= sum[i];
        for (offset_t k = begin[i]; k < begin[i + 1]; ++k) {
            through[k] = V(1);
            if (source[k] < 0) continue;
            const V v = a.value[source[k]], below = sum[col[k]] + v;
            through[k] = below != V(0) ? v / below : V(0);
            left -= v;
            back += below != V(0) ? through[k] * v : v;
        }
        const V whole = left + back;
        factor[i] = points.is_coarse(i) ? V(1) : V(-1) / (whole > V(0) ? whole : diagonal[i]);
    }
};

// --- Truncation ---

// The entries of a row in the order of their magnitudes, those that differ by rounding alone in the order of columns.
template <class V>
struct Ranking {
    const offset_t* begin;
    const V* value;
    offset_t most;  // entries that are kept

    // To 16 binary digits, to nearest.
    static constexpr std::uint64_t size_of(V v)
    {
        const auto bits = std::bit_cast<std::uint64_t>(static_cast<double>(magnitude(v)));
        return (bits + (std::uint64_t{1} << 35)) >> 36;
    }
    constexpr offset_t kept(offset_t i) const
    {
        const offset_t all = begin[i + 1] - begin[i];
        return all < most ? all : most;
    }
    // The largest entry after the one at `last`, or of all for -1.
    constexpr offset_t next(offset_t i, offset_t last) const
    {
        offset_t best = -1;
        for (offset_t k = begin[i]; k < begin[i + 1]; ++k)
            if ((last < 0 || comes_after(k, last)) && (best < 0 || comes_after(best, k))) best = k;
        return best;
    }
    constexpr bool comes_after(offset_t k, offset_t other) const
    {
        const std::uint64_t x = size_of(value[k]), y = size_of(value[other]);
        return x < y || (x == y && k > other);
    }
};

template <class V>
struct CountKept {
    Ranking<V> ranking;
    offset_t* count;

    constexpr void operator()(offset_t i) const { count[i] = ranking.kept(i); }
};

// Columns and positions of the entries that are kept, in the order of columns.
template <class V>
struct ChooseKept {
    Ranking<V> ranking;
    const index_t* col;
    const offset_t* begin;
    index_t* kept_col;
    offset_t* source;

    constexpr void operator()(offset_t i) const
    {
        offset_t last = -1, to = begin[i];
        for (offset_t n = 0; n < ranking.kept(i); ++n) last = ranking.next(i, last);
        for (offset_t k = ranking.begin[i]; k < ranking.begin[i + 1]; ++k) {
            if (k != last && ranking.comes_after(k, last)) continue;
            kept_col[to] = col[k];
            source[to++] = k;
        }
    }
};

// P: the factor of the row, and what brings the sum of the kept entries to that of all.
template <class V>
struct FillKept {
    const offset_t* all_begin;
    const V *all, *factor;
    const offset_t *begin, *source;
    V* value;

    constexpr void operator()(offset_t i) const
    {
        V whole = 0, kept = 0;
        for (offset_t k = all_begin[i]; k < all_begin[i + 1]; ++k) whole += all[k];
        for (offset_t k = begin[i]; k < begin[i + 1]; ++k) kept += all[source[k]];
        const V scale =
            factor[i] *
            (begin[i + 1] - begin[i] < all_begin[i + 1] - all_begin[i] && kept != V(0) ? whole / kept : V(1));
        for (offset_t k = begin[i]; k < begin[i + 1]; ++k) value[k] = scale * all[source[k]];
    }
};

}  // namespace tulle::inline TULLE_ABI::amg
