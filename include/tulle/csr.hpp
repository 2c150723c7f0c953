// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Compressed sparse rows: the columns and values of row i stand at positions row_begin[i] … row_begin[i+1]-1.
//
// Invariants: row_begin has rows+1 entries, starts at 0, never falls, ends at nonzeros; 0 <= col < cols.
// `sorted`: columns ascend inside each row. `unique`: no column twice in a row. validate() checks all of it.
#pragma once

#include <cstdint>
#include <variant>

#include "tulle/memory.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI {

template <class V>
struct CsrView {
    index_t rows = 0, cols = 0;
    offset_t nonzeros = 0;
    const offset_t* row_begin = nullptr;
    const index_t* col = nullptr;
    const V* value = nullptr;
    bool sorted = true, unique = true;
};

template <class V>
struct Csr {
    index_t rows = 0, cols = 0;
    Buffer<offset_t> row_begin;
    Buffer<index_t> col;
    Buffer<V> value;
    bool sorted = true, unique = true;

    // Room for a matrix of this size; contents not set.
    template <class Queue>
    static Csr make(const Queue& q, index_t rows, index_t cols, offset_t nonzeros)
    {
        return {.rows = rows,
                .cols = cols,
                .row_begin = Buffer<offset_t>(q, offset_t{rows} + 1),
                .col = Buffer<index_t>(q, nonzeros),
                .value = Buffer<V>(q, nonzeros)};
    }

    offset_t nonzeros() const { return col.size(); }
    std::size_t bytes() const { return row_begin.bytes() + col.bytes() + value.bytes(); }
    CsrView<V> view() const&
    {
        return {rows, cols, nonzeros(), row_begin.data(), col.data(), value.data(), sorted, unique};
    }
    // A temporary owner has no view, which would outlive it: give the owner a name. A plan keeps views.
    CsrView<V> view() const&& = delete;
};

// Compressed sparse columns: the rows and values of column j stand at positions col_begin[j] … col_begin[j+1]-1.
//
// Invariants as for CSR with rows and columns exchanged: the CSC arrays of A are the CSR arrays of A transposed.

template <class V>
struct CscView {
    index_t rows = 0, cols = 0;
    offset_t nonzeros = 0;
    const offset_t* col_begin = nullptr;
    const index_t* row = nullptr;
    const V* value = nullptr;
    bool sorted = true, unique = true;
};

template <class V>
struct Csc {
    index_t rows = 0, cols = 0;
    Buffer<offset_t> col_begin;
    Buffer<index_t> row;
    Buffer<V> value;
    bool sorted = true, unique = true;

    offset_t nonzeros() const { return row.size(); }
    std::size_t bytes() const { return col_begin.bytes() + row.bytes() + value.bytes(); }
    CscView<V> view() const&
    {
        return {rows, cols, nonzeros(), col_begin.data(), row.data(), value.data(), sorted, unique};
    }
    // A temporary owner has no view, which would outlive it: give the owner a name. A plan keeps views.
    CscView<V> view() const&& = delete;
};

// The same arrays read as the transposed matrix in the other format; nothing is copied.
template <class V>
CsrView<V> transposed(const CscView<V>& a)
{
    return {a.cols, a.rows, a.nonzeros, a.col_begin, a.row, a.value, a.sorted, a.unique};
}

template <class V>
CscView<V> transposed(const CsrView<V>& a)
{
    return {a.cols, a.rows, a.nonzeros, a.row_begin, a.col, a.value, a.sorted, a.unique};
}

// CSR and CSC whose offsets have 32 bits, as SciPy, Eigen and cuSPARSE keep them. Views only: operations, conversions,
// validate() and to_device() accept them and widen the offsets to 64 bits once. A plan keeps the widened offsets where
// it needs them later, and counts their bytes; all results have offsets of 64 bits.
//
//     const tulle::Csr32View<double> a{.rows = n, .cols = m, .nonzeros = nnz,
//                                      .row_begin = indptr, .col = indices, .value = data};
//     auto plan = tulle::spmv::Plan<double>::make(ctx, a);
//
// Invariants as for CSR and CSC, with at most 2^31 - 1 nonzeros.

template <class V>
struct Csr32View {
    index_t rows = 0, cols = 0;
    offset_t nonzeros = 0;
    const std::int32_t* row_begin = nullptr;
    const index_t* col = nullptr;
    const V* value = nullptr;
    bool sorted = true, unique = true;
};

template <class V>
struct Csc32View {
    index_t rows = 0, cols = 0;
    offset_t nonzeros = 0;
    const std::int32_t* col_begin = nullptr;
    const index_t* row = nullptr;
    const V* value = nullptr;
    bool sorted = true, unique = true;
};

// The same arrays read as the transposed matrix in the other format; nothing is copied.
template <class V>
Csr32View<V> transposed(const Csc32View<V>& a)
{
    return {a.cols, a.rows, a.nonzeros, a.col_begin, a.row, a.value, a.sorted, a.unique};
}

template <class V>
Csc32View<V> transposed(const Csr32View<V>& a)
{
    return {a.cols, a.rows, a.nonzeros, a.row_begin, a.col, a.value, a.sorted, a.unique};
}

// What operations on CSR take.
template <class V>
using AnyCsr = std::variant<CsrView<V>, Csr32View<V>>;

// The value type of a view.
template <class T>
struct ValueOf;
template <template <class> class View, class V>
struct ValueOf<View<V>> {
    using type = V;
};

namespace matrix {

// A view with the offsets given instead of its own.
template <class V>
CsrView<V> with_offsets(const Csr32View<V>& a, const offset_t* row_begin)
{
    return {a.rows, a.cols, a.nonzeros, row_begin, a.col, a.value, a.sorted, a.unique};
}

template <class V>
CscView<V> with_offsets(const Csc32View<V>& a, const offset_t* col_begin)
{
    return {a.rows, a.cols, a.nonzeros, col_begin, a.row, a.value, a.sorted, a.unique};
}

}  // namespace matrix
}  // namespace tulle::inline TULLE_ABI
