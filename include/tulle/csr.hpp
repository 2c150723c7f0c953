// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Compressed sparse rows: the columns and values of row i stand at positions row_begin[i] … row_begin[i+1]-1.
//
// Invariants: row_begin has rows+1 entries, starts at 0, never falls, ends at nonzeros; 0 <= col < cols.
// `sorted`: columns ascend inside each row. `unique`: no column twice in a row. validate() checks all of it.
#pragma once

#include "tulle/buffer.hpp"
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

}  // namespace tulle::inline TULLE_ABI
