// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Passes over the rows of a matrix: what it is like, its diagonal, its diagonal blocks. A thread has a row or a block.
#pragma once

#include <limits>

#include "base/hash.hpp"
#include "solve/status.hpp"
#include "tulle/csr.hpp"
#include "vector/pass.hpp"

namespace tulle::inline TULLE_ABI::solve {

// The entry (i, j), 0 if there is none; entries stored twice are added.
template <class V>
constexpr double entry_of(const CsrView<V>& a, index_t i, index_t j)
{
    offset_t begin = a.row_begin[i], end = a.row_begin[i + 1];
    if (a.sorted && a.unique) {
        while (begin < end) {
            const offset_t middle = (begin + end) / 2;
            if (a.col[middle] < j) begin = middle + 1;
            else end = middle;
        }
        return begin < a.row_begin[i + 1] && a.col[begin] == j ? static_cast<double>(a.value[begin]) : 0.0;
    }
    double sum = 0;
    for (offset_t k = begin; k < end; ++k)
        if (a.col[k] == j) sum += a.value[k];
    return sum;
}

// Counts of rows: not finite, empty, without diagonal, with a negative one; and of entries unlike their mirror image.
template <class V>
struct InspectRows {
    static constexpr int sums = 5;
    CsrView<V> a;
    double tolerance;
    double* result;

    constexpr bool load() { return true; }
    constexpr vector::Sums<5> at(offset_t i) const
    {
        const auto row = static_cast<index_t>(i);
        vector::Sums<5> found{};
        for (offset_t k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k) {
            const double value = a.value[k];
            if (!is_finite(value)) found.of[0] = 1;
            const double here = a.unique ? value : entry_of(a, row, a.col[k]);
            const double there = a.col[k] == row ? here : entry_of(a, a.col[k], row);
            const double most = (here < 0 ? -here : here) + (there < 0 ? -there : there);
            if (!(here - there <= tolerance * most && there - here <= tolerance * most)) found.of[4] += 1;
        }
        const double diagonal = entry_of(a, row, row);
        if (a.row_begin[i] == a.row_begin[i + 1]) found.of[1] = 1;
        if (diagonal == 0) found.of[2] = 1;
        if (diagonal < 0) found.of[3] = 1;
        return found;
    }
    constexpr void finish(bool, const double* sum) const
    {
        for (int s = 0; s < sums; ++s) result[s] = sum[s];
    }
};

// inverse[i] = 1 / a(i, i), and how many of them cannot be.
template <class V>
struct InvertDiagonal {
    static constexpr int sums = 1;
    CsrView<V> a;
    V* inverse;
    double* bad;

    constexpr bool load() { return true; }
    constexpr vector::Sums<1> at(offset_t i) const
    {
        const auto row = static_cast<index_t>(i);
        inverse[i] = static_cast<V>(1 / entry_of(a, row, row));
        return {{is_finite(static_cast<double>(inverse[i])) ? 0.0 : 1.0}};
    }
    constexpr void finish(bool, const double* sum) const { *bad = sum[0]; }
};

// The inverse of block i, rows * rows numbers by rows, by Gauss-Jordan elimination with pivots in the column; and how
// many blocks are singular.
template <class V>
struct InvertBlock {
    static constexpr int sums = 1;
    CsrView<V> a;
    int rows;
    V* inverse;
    double* bad;

    constexpr bool load() { return true; }
    constexpr vector::Sums<1> at(offset_t block) const
    {
        V* m = inverse + block * rows * rows;
        copy_block(block, m);
        int moved[32] = {};
        for (int k = 0; k < rows; ++k) {
            moved[k] = swap_pivot(m, k);
            if (!is_finite(1 / static_cast<double>(m[k * rows + k]))) {
                m[0] = std::numeric_limits<V>::quiet_NaN();  // for the host, which names the block
                return {{1}};
            }
            eliminate(m, k);
        }
        for (int k = rows - 1; k >= 0; --k)
            for (int i = 0; moved[k] != k && i < rows; ++i) swap(m[i * rows + k], m[i * rows + moved[k]]);
        return {{0}};
    }
    constexpr void finish(bool, const double* sum) const { *bad = sum[0]; }

private:
    static constexpr void swap(V& x, V& y)
    {
        const V kept = x;
        x = y;
        y = kept;
    }
    // Rows beyond the matrix are those of the identity.
    constexpr void copy_block(offset_t block, V* m) const
    {
        const offset_t first = block * rows;
        for (int i = 0; i < rows; ++i) {
            for (int j = 0; j < rows; ++j) m[i * rows + j] = first + i >= a.rows && i == j ? V(1) : V(0);
            if (first + i >= a.rows) continue;
            for (offset_t k = a.row_begin[first + i]; k < a.row_begin[first + i + 1]; ++k)
                if (a.col[k] >= first && a.col[k] < first + rows)
                    m[i * rows + static_cast<int>(a.col[k] - first)] += a.value[k];
        }
    }
    constexpr int swap_pivot(V* m, int k) const
    {
        const auto size = [&](int i) { return m[i * rows + k] < V(0) ? -m[i * rows + k] : m[i * rows + k]; };
        int pivot = k;
        for (int i = k + 1; i < rows; ++i)
            if (size(i) > size(pivot)) pivot = i;
        for (int j = 0; pivot != k && j < rows; ++j) swap(m[k * rows + j], m[pivot * rows + j]);
        return pivot;
    }
    constexpr void eliminate(V* m, int k) const
    {
        const V pivot = V(1) / m[k * rows + k];
        m[k * rows + k] = V(1);
        for (int j = 0; j < rows; ++j) m[k * rows + j] *= pivot;
        for (int i = 0; i < rows; ++i) {
            if (i == k) continue;
            const V factor = m[i * rows + k];
            m[i * rows + k] = V(0);
            for (int j = 0; j < rows; ++j) m[i * rows + j] -= factor * m[k * rows + j];
        }
    }
};

// z = inverse blocks times r.
template <class V>
struct MultiplyBlocks {
    static constexpr int sums = 0;
    const V* inverse;
    int rows;
    offset_t n;
    const V* r;
    V* z;

    constexpr bool load() { return true; }
    constexpr void at(offset_t i) const
    {
        const offset_t first = i - i % rows;
        const offset_t end = first + rows < n ? first + rows : n;
        double sum = 0;
        for (offset_t j = first; j < end; ++j) sum += static_cast<double>(inverse[i * rows + (j - first)]) * r[j];
        z[i] = static_cast<V>(sum);
    }
};

}  // namespace tulle::inline TULLE_ABI::solve
