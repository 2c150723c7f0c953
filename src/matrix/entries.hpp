// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// From a list of entries to CSR: the part that conversions and reorderings share.
//
// Entries are put in order first, by row alone where their columns ascend already; only their positions travel then.
// Columns and values are fetched once at the end. Beside the result this takes the order, 8 bytes for every entry, and
// the room that group() or order_entries() needs for a while.
#pragma once

#include <utility>

#include "matrix/convert_steps.hpp"
#include "prim/scan.hpp"
#include "tulle/csr.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::matrix {

// What stands at the positions of `source`, in that order.
template <class T, class Queue>
Buffer<T> fetch(const Queue& q, const T* from, const Buffer<offset_t>& source)
{
    Buffer<T> to(q, source.size());
    gather(q, from, source.data(), source.size(), to.data());
    return to;
}

// The matrix of entries in the order of the groups; takes groups.begin.
template <class Queue, class V>
Csr<V> csr_of_groups(const Queue& q, index_t rows, index_t cols, Groups& groups, const index_t* col, const V* value,
                     bool unique)
{
    return {.rows = rows,
            .cols = cols,
            .row_begin = std::move(groups.begin),
            .col = fetch(q, col, groups.source),
            .value = fetch(q, value, groups.source),
            .sorted = true,
            .unique = unique};
}

// The row of every nonzero.
template <class Queue, class V>
Buffer<index_t> rows_of(const Queue& q, const CsrView<V>& a)
{
    Buffer<index_t> row(q, a.nonzeros);
    expand_rows(q, a.row_begin, a.rows, a.nonzeros, row.data());
    return row;
}

// Entries in order, grouped into runs at the same position: entry k belongs to run number[k+1]-1, number[n] runs in
// all.
template <class Queue>
Buffer<offset_t> number_runs(const Queue& q, const index_t* row, const index_t* col, offset_t n)
{
    Buffer<offset_t> number(q, n + 1);
    flag_heads(q, row, col, n, number.data());
    prim::exclusive_scan(q, number.data(), number.data(), n);
    return number;
}

template <class T, class Queue>
Buffer<T> copy_of(const Queue& q, const T* from, offset_t n)
{
    Buffer<T> to(q, n);
    copy(q, from, to.data(), n);
    return to;
}

template <class Queue, class V>
Csr<V> copy_of(const Queue& q, const CsrView<V>& a)
{
    return {.rows = a.rows,
            .cols = a.cols,
            .row_begin = copy_of(q, a.row_begin, offset_t{a.rows} + 1),
            .col = copy_of(q, a.col, a.nonzeros),
            .value = copy_of(q, a.value, a.nonzeros),
            .sorted = a.sorted,
            .unique = a.unique};
}

}  // namespace tulle::inline TULLE_ABI::matrix
