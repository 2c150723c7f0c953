// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// From a list of entries to CSR: the part that conversions and reorderings share.
//
// Entries are put in order by their columns, unless those ascend already, and then by their rows; both times stably, so entries at the
// same position stay in the order they had. Only numbers travel while sorting; columns and values are fetched once at the end.
// Memory beside the result, in bytes for n entries: the order (8 n) and what group() needs; with a sort by columns 36 n at its peak.
#pragma once

#include <utility>

#include "tulle/device/copy.hpp"
#include "tulle/matrix/convert_steps.hpp"
#include "tulle/matrix/csr.hpp"
#include "tulle/prim/scan.hpp"
#include "tulle/prim/sort.hpp"

namespace tulle::matrix {

// The positions 0 … n-1 in ascending order of their bin; stable.
template <class Queue>
Buffer<offset_t> order_by(const Queue& q, const index_t* bin, offset_t n, index_t bins)
{
    Buffer<std::uint32_t> key(q, n);
    Buffer<offset_t> source(q, n);
    number_keys(q, bin, n, key.data(), source.data());
    prim::sort_pairs(q, key.data(), source.data(), n, prim::bits_for(static_cast<std::uint64_t>(bins)));
    return source;
}

// What stands at the positions of `source`, in that order.
template <class T, class Queue>
Buffer<T> fetch(const Queue& q, const T* from, const Buffer<offset_t>& source)
{
    Buffer<T> to(q, source.size());
    gather(q, from, source.data(), source.size(), to.data());
    return to;
}

// The entries by row and, inside each row, by column.
template <class Queue>
Groups order_entries(const Queue& q, const index_t* row, const index_t* col, offset_t n, index_t rows, index_t cols, bool cols_ascend)
{
    if (cols_ascend) return group(q, row, n, rows);
    const Buffer<offset_t> by_col = order_by(q, col, n, cols);
    const Buffer<index_t> row_by_col = fetch(q, row, by_col);
    Groups groups = group(q, row_by_col.data(), n, rows);
    groups.source = fetch(q, by_col.data(), groups.source);
    return groups;
}

// The matrix of entries in that order; takes groups.begin.
template <class Queue, class V>
Csr<V> csr_of_groups(const Queue& q, index_t rows, index_t cols, Groups& groups, const index_t* col, const V* value, bool unique)
{
    return {.rows = rows, .cols = cols, .row_begin = std::move(groups.begin), .col = fetch(q, col, groups.source), .value = fetch(q, value, groups.source),
            .sorted = true, .unique = unique};
}

// The row of every nonzero.
template <class Queue, class V>
Buffer<index_t> rows_of(const Queue& q, const CsrView<V>& a)
{
    Buffer<index_t> row(q, a.nonzeros);
    expand_rows(q, a.row_begin, a.rows, a.nonzeros, row.data());
    return row;
}

// Entries in order, grouped into runs at the same position: entry k belongs to run number[k+1]-1, number[n] runs in all.
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
    return {.rows = a.rows, .cols = a.cols, .row_begin = copy_of(q, a.row_begin, offset_t{a.rows} + 1), .col = copy_of(q, a.col, a.nonzeros),
            .value = copy_of(q, a.value, a.nonzeros), .sorted = a.sorted, .unique = a.unique};
}

}  // namespace tulle::matrix
