// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// One row of a factorised sparse approximate inverse, the same on both backends: the lanes of a slice of a warp, or one
// thread of a CPU as lane 0 of 1. Whoever calls lets all lanes arrive between two calls.
//
// J: the columns of row i of G, ascending, i the last of m. L D L^T = A(J, J), and the row is L^-T e_m / sqrt(d_m), so
// that the row of G A G^T has a one on its diagonal. C = L D is computed column by column; all in double.
#pragma once

#include <limits>

#include "factor/shifted.hpp"

namespace tulle::inline TULLE_ABI::factor {

// Entries of a row; those of longer rows of A that are largest beside the diagonal are kept.
inline constexpr int most_fsai_entries = 64;

constexpr int packed_size(int m) { return m * (m + 1) / 2; }

// Doubles that a row of at most m entries needs.
constexpr int fsai_room(int m) { return packed_size(m) + 2 * m; }

template <class V>
struct FsaiRow {
    PatternView a;  // the lower triangle of A, sorted
    const V* value;
    const index_t* columns;  // J
    int m;
    double* c;        // packed by rows
    double* inverse;  // 1 / d_k
    double* x;        // diagonal of A(J, J); then sums of the substitution

    constexpr FsaiRow(const PatternView& lower, const V* values, const index_t* columns_of_row, int entries,
                      double* room)
        : a(lower),
          value(values),
          columns(columns_of_row),
          m(entries),
          c(room),
          inverse(room + packed_size(entries)),
          x(inverse + entries)
    {}

    constexpr double& at(int row, int col) const { return c[packed_size(row) + col]; }

    // c = A(J, J): rows are divided among the lanes, each merged with J.
    constexpr void load(int lane, int lanes) const
    {
        for (int r = lane; r < m; r += lanes) {
            offset_t k = a.row_begin[columns[r]];
            const offset_t end = a.row_begin[columns[r] + 1];
            for (int j = 0; j <= r; ++j) {
                while (k < end && a.col[k] < columns[j]) ++k;
                const bool found = k < end && a.col[k] == columns[j];
                at(r, j) = found ? static_cast<double>(value_at(a, value, k)) : 0.0;
            }
            x[r] = at(r, r);
        }
    }

    // Column k of C, whose columns before it are known.
    constexpr void eliminate(int k, int lane, int lanes) const
    {
        for (int r = k + lane; r < m; r += lanes) {
            double sum = at(r, k);
            for (int j = 0; j < k; ++j) sum -= at(r, j) * at(k, j) * inverse[j];
            at(r, k) = sum;
            if (r == k) inverse[k] = 1 / sum;
        }
    }

    // Whether column k can be divided by: a pivot that is only rounding cannot.
    constexpr Breakdown judge_pivot(int k) const
    {
        const double pivot = at(k, k), least = std::numeric_limits<V>::epsilon() * magnitude(x[k]);
        if (!(pivot - pivot == 0)) return Breakdown::not_finite;
        return pivot > least ? Breakdown::none : Breakdown::negative;
    }

    constexpr void clear(int lane, int lanes) const
    {
        for (int k = lane; k < m; k += lanes) x[k] = 0;
    }

    // Adds the share of entry r, which is known, to the entries before it.
    constexpr void substitute(int r, int lane, int lanes) const
    {
        const double known = solution(r);
        for (int k = lane; k < r; k += lanes) x[k] += at(r, k) * known;
    }

    // Entry k of L^-T e_m.
    constexpr double solution(int k) const { return k + 1 == m ? 1.0 : -inverse[k] * x[k]; }

    constexpr void store(double scale, V* to, int lane, int lanes) const
    {
        for (int k = lane; k < m; k += lanes) to[k] = static_cast<V>(scale * solution(k));
    }
};

}  // namespace tulle::inline TULLE_ABI::factor
