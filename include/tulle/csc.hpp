// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Compressed sparse columns: the rows and values of column j stand at positions col_begin[j] … col_begin[j+1]-1.
//
// Invariants as for CSR with rows and columns exchanged: the CSC arrays of A are the CSR arrays of A transposed.
#pragma once

#include "tulle/csr.hpp"

namespace tulle::inline TULLE_ABI {

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

}  // namespace tulle::inline TULLE_ABI
