// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The steps of finding a halo, each once per backend. Arrays are in the queue's memory.
#pragma once

#include "tulle/memory.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::partition {

// Columns a part owns.
struct ColumnRange {
    index_t begin = 0, end = 0;

    constexpr bool has(index_t col) const { return col >= begin && col < end; }
    constexpr index_t size() const { return end - begin; }
    bool operator==(const ColumnRange&) const = default;
};

// mark[j] = 1 for every column j that occurs outside `own`; all marks are 0 before.
void mark_outside(const CpuQueue& q, const index_t* col, offset_t nonzeros, ColumnRange own, offset_t* mark);
void mark_outside(const CudaQueue& q, const index_t* col, offset_t nonzeros, ColumnRange own, offset_t* mark);

// From the scanned marks the marked columns, ascending.
void list_marked(const CpuQueue& q, const offset_t* number, index_t cols, index_t* list);
void list_marked(const CudaQueue& q, const offset_t* number, index_t cols, index_t* list);

// to[k] = the number of col[k] in the part's own x. In place is allowed.
void renumber(const CpuQueue& q, const index_t* col, offset_t nonzeros, ColumnRange own, const offset_t* number,
              index_t* to);
void renumber(const CudaQueue& q, const index_t* col, offset_t nonzeros, ColumnRange own, const offset_t* number,
              index_t* to);

// Its halo below its own columns, these, and its halo above them: the order of columns stays, and neighbours stay near.
constexpr index_t renumbered(index_t col, ColumnRange own, const offset_t* number)
{
    if (own.has(col)) return static_cast<index_t>(number[own.begin]) + (col - own.begin);
    return static_cast<index_t>(number[col]) + (col < own.begin ? 0 : own.size());
}

// reaches[i] = 1 if row i has a column outside `own`, else 0. The pointer is local.
void find_reaching_rows(const CpuQueue& q, const offset_t* row_begin, index_t rows, const index_t* col, ColumnRange own,
                        unsigned char* reaches);
void find_reaching_rows(const CudaQueue& q, const offset_t* row_begin, index_t rows, const index_t* col,
                        ColumnRange own, unsigned char* reaches);

}  // namespace tulle::inline TULLE_ABI::partition
