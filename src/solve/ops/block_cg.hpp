// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Passes of several conjugate gradients that share their products with A. Vectors of a block are interleaved: entry i
// of column c is at i * block_columns + c. Each column has scalars and a status of its own; after its halt it is left
// as it is, and the others go on.
#pragma once

#include "solve/ops/cg.hpp"
#include "tulle/dense.hpp"

namespace tulle::inline TULLE_ABI::solve {

inline constexpr int block_columns = 4;  // two sums for each fit a pass

// Columns that take part in a pass.
struct BlockColumns {
    bool on[block_columns];
    constexpr bool any() const
    {
        bool found = false;
        for (int c = 0; c < block_columns; ++c) found = found || on[c];
        return found;
    }
};

constexpr BlockColumns running_columns(const Status* status)
{
    BlockColumns b{};
    for (int c = 0; c < block_columns; ++c) b.on[c] = status[c].halt == Halt::none;
    return b;
}

// A dense matrix that is only read.
template <class V>
struct Readable {
    const V* data;
    offset_t row_step, column_step;

    constexpr V at(offset_t i, offset_t j) const { return data[i * row_step + j * column_step]; }
};

template <class V>
constexpr Readable<V> readable(const DenseView<const V>& d)
{
    const bool rows = d.layout == Layout::row_major;
    return {d.data, rows ? d.leading : 1, rows ? 1 : d.leading};
}

// Columns first, first + 1, … of a dense matrix to a block; zeros after the last of `count`.
template <class V>
struct BlockLoad {
    static constexpr int sums = 0;
    Readable<V> from;
    index_t first, count;
    V* to;

    constexpr bool load() { return true; }
    constexpr void at(offset_t i) const
    {
        for (index_t c = 0; c < block_columns; ++c)
            to[i * block_columns + c] = c < count ? from.at(i, first + c) : V(0);
    }
};

template <class V>
struct BlockStore {
    static constexpr int sums = 0;
    const V* from;
    DenseView<V> to;
    index_t first, count;

    constexpr bool load() { return true; }
    constexpr void at(offset_t i) const
    {
        for (index_t c = 0; c < count; ++c)
            to.data[to.at(static_cast<index_t>(i), first + c)] = from[i * block_columns + c];
    }
};

// One column of a dense matrix to a vector, and back.
template <class V>
struct ColumnLoad {
    static constexpr int sums = 0;
    Readable<V> from;
    index_t column;
    V* to;

    constexpr bool load() { return true; }
    constexpr void at(offset_t i) const { to[i] = from.at(i, column); }
};

template <class V>
struct ColumnStore {
    static constexpr int sums = 0;
    const V* from;
    DenseView<V> to;
    index_t column;

    constexpr bool load() { return true; }
    constexpr void at(offset_t i) const { to.data[to.at(static_cast<index_t>(i), column)] = from[i]; }
};

// x · y for each column.
template <class V>
struct BlockDots {
    static constexpr int sums = block_columns;
    const V* x;
    const V* y;
    double* result;

    constexpr bool load() { return true; }
    constexpr vector::Sums<sums> at(offset_t i) const
    {
        vector::Sums<sums> s{};
        for (int c = 0; c < block_columns; ++c)
            s.of[c] = static_cast<double>(x[i * block_columns + c]) * y[i * block_columns + c];
        return s;
    }
    constexpr void finish(bool, const double* sum) const
    {
        for (int c = 0; c < block_columns; ++c) result[c] = sum[c];
    }
};

// p = z.
template <class V>
struct BlockCgStart {
    static constexpr int sums = block_columns;
    const V* r;
    const V* z;
    V* p;
    CgScalars* s;
    Status* status;

    constexpr bool load() { return true; }
    constexpr vector::Sums<sums> at(offset_t i) const
    {
        vector::Sums<sums> share{};
        for (int c = 0; c < block_columns; ++c) {
            const offset_t k = i * block_columns + c;
            p[k] = z[k];
            share.of[c] = static_cast<double>(r[k]) * z[k];
        }
        return share;
    }
    constexpr void finish(bool, const double* sum) const
    {
        for (int c = 0; c < block_columns; ++c) {
            s[c].rho = sum[c];
            if (!(sum[c] > 0)) halt(status + c, Halt::preconditioner_indefinite, sum[c]);
        }
    }
};

// r -= alpha q; z = D r where the preconditioner is a diagonal. CgResidual for each column.
template <class V>
struct BlockCgResidual {
    static constexpr int sums = 2 * block_columns;
    const V* q;
    V* r;
    const V* inverse;  // null: z is made otherwise
    V* z;
    bool complete;  // z is known after this pass
    const double* curvature;
    CgScalars* s;
    Status* status;
    double alpha[block_columns] = {};
    BlockColumns columns = {};

    constexpr bool load()
    {
        columns = running_columns(status);
        for (int c = 0; c < block_columns; ++c) {
            alpha[c] = s[c].rho / curvature[c];
            columns.on[c] = columns.on[c] && curvature[c] > 0 && is_finite(alpha[c]);
        }
        return columns.any();
    }
    constexpr vector::Sums<sums> at(offset_t i) const
    {
        vector::Sums<sums> share{};
        for (int c = 0; c < block_columns; ++c) {
            if (!columns.on[c]) continue;
            const offset_t k = i * block_columns + c;
            const V next = static_cast<V>(r[k] - alpha[c] * q[k]);
            r[k] = next;
            if (inverse) z[k] = inverse[i] * next;
            share.of[2 * c] = static_cast<double>(next) * next;
            share.of[2 * c + 1] = inverse ? static_cast<double>(next) * z[k] : 0.0;
        }
        return share;
    }
    constexpr void finish(bool, const double* sum) const
    {
        for (int c = 0; c < block_columns; ++c) {
            status[c].performed = columns.on[c];
            if (!columns.on[c]) {
                halt(status + c, Halt::not_positive_definite, curvature[c]);
                continue;
            }
            s[c].alpha = alpha[c];
            record(status + c, root(sum[2 * c]));
            if (complete && status[c].halt == Halt::none)
                continue_cg(status + c, s + c, inverse ? sum[2 * c + 1] : sum[2 * c]);
        }
    }
};

// r · z for a preconditioner that is not a diagonal.
template <class V>
struct BlockCgPreconditioned {
    static constexpr int sums = block_columns;
    const V* r;
    const V* z;
    CgScalars* s;
    Status* status;

    constexpr bool load() { return running_columns(status).any(); }
    constexpr vector::Sums<sums> at(offset_t i) const
    {
        vector::Sums<sums> share{};
        for (int c = 0; c < block_columns; ++c)
            share.of[c] = static_cast<double>(r[i * block_columns + c]) * z[i * block_columns + c];
        return share;
    }
    constexpr void finish(bool on, const double* sum) const
    {
        for (int c = 0; on && c < block_columns; ++c)
            if (status[c].halt == Halt::none) continue_cg(status + c, s + c, sum[c]);
    }
};

// x += alpha p; p = z + beta p. CgDirection for each column.
template <class V>
struct BlockCgDirection {
    static constexpr int sums = 0;
    V* x;
    const V* z;
    V* p;
    const CgScalars* s;
    const Status* status;
    double alpha[block_columns] = {}, beta[block_columns] = {};
    BlockColumns columns = {};

    constexpr bool load()
    {
        for (int c = 0; c < block_columns; ++c) {
            columns.on[c] = status[c].performed != 0;
            alpha[c] = s[c].alpha;
            beta[c] = s[c].beta;
        }
        return columns.any();
    }
    constexpr void at(offset_t i) const
    {
        for (int c = 0; c < block_columns; ++c) {
            if (!columns.on[c]) continue;
            const offset_t k = i * block_columns + c;
            const double direction = p[k];
            x[k] = static_cast<V>(x[k] + alpha[c] * direction);
            p[k] = static_cast<V>(z[k] + beta[c] * direction);
        }
    }
};

}  // namespace tulle::inline TULLE_ABI::solve
