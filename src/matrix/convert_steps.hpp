// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The steps of conversions and reorderings, each once per backend. All of them are deterministic: every output has one
// writer, and what is added is added in the order of positions. Arrays are in the queue's memory; T is index_t,
// offset_t, float or double.
#pragma once

#include "tulle/blocked_ell.hpp"
#include "tulle/coo.hpp"
#include "tulle/csr.hpp"
#include "tulle/dense.hpp"
#include "tulle/memory.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::matrix {

// row[k] = the row that position k belongs to.
void expand_rows(const CpuQueue& q, const offset_t* row_begin, index_t rows, offset_t nonzeros, index_t* row);
void expand_rows(const CudaQueue& q, const offset_t* row_begin, index_t rows, offset_t nonzeros, index_t* row);

// The other way: row_begin[i] = first position whose row is not below i; `row` ascends, row_begin has rows+1 entries.
void compress_rows(const CpuQueue& q, const index_t* row, offset_t nonzeros, index_t rows, offset_t* row_begin);
void compress_rows(const CudaQueue& q, const index_t* row, offset_t nonzeros, index_t rows, offset_t* row_begin);

// to[k] = from[at[k]]; At is index_t or offset_t.
template <class T, class At>
void gather(const CpuQueue& q, const T* from, const At* at, offset_t n, T* to);
template <class T, class At>
void gather(const CudaQueue& q, const T* from, const At* at, offset_t n, T* to);

// to[k] = from[k] / by: from entries to the blocks they lie in.
void divide(const CpuQueue& q, const index_t* from, offset_t n, index_t by, index_t* to);
void divide(const CudaQueue& q, const index_t* from, offset_t n, index_t by, index_t* to);

// Positions 0 … n-1 by their bin, ascending inside each bin: bin b holds source[begin[b]] … source[begin[b+1]-1].
struct Groups {
    Buffer<offset_t> begin, source;
};
Groups group(const CpuQueue& q, const index_t* bin, offset_t n, index_t bins);
Groups group(const CudaQueue& q, const index_t* bin, offset_t n, index_t bins);

// The entries of the transposed matrix by row, and where they stood (unless source is null). On a GPU group() and
// gather() do this as fast.
template <class V>
void transpose_entries(const CpuQueue& q, const CsrView<V>& a, offset_t* col_begin, index_t* row, V* value,
                       offset_t* source);

// The same for entries (row, col): by row and, inside each row, by column; entries at the same position stay in their
// order.
Groups order_entries(const CpuQueue& q, const index_t* row, const index_t* col, offset_t n, index_t rows, index_t cols);
Groups order_entries(const CudaQueue& q, const index_t* row, const index_t* col, offset_t n, index_t rows,
                     index_t cols);

// head[k] = 1 where entry k stands at another position (row, col) than the entry before it, else 0.
void flag_heads(const CpuQueue& q, const index_t* row, const index_t* col, offset_t n, offset_t* head);
void flag_heads(const CudaQueue& q, const index_t* row, const index_t* col, offset_t n, offset_t* head);

// Entry k belongs to run number[k+1]-1 (number: the scanned heads, n+1 entries). Each run becomes one entry, added up
// in order by one thread, so that the sum does not depend on the number of threads.
template <class V>
void sum_runs(const CpuQueue& q, const index_t* col, const V* value, const offset_t* number, offset_t n,
              index_t* run_col, V* run_value);
template <class V>
void sum_runs(const CudaQueue& q, const index_t* col, const V* value, const offset_t* number, offset_t n,
              index_t* run_col, V* run_value);

// Writes every entry to its place; the rest of `to` stays as it is. No position twice.
template <class V>
void scatter_dense(const CpuQueue& q, const CooView<V>& a, const DenseView<V>& to);
template <class V>
void scatter_dense(const CudaQueue& q, const CooView<V>& a, const DenseView<V>& to);

// Where the blocks of a matrix stand: entry source[k] lies in block number[k+1]-1, block row p begins with block
// begin[p].
struct BlockNumbers {
    const offset_t *source, *number, *begin;
};

// Entry source[k] to its place in its block, row by row inside; the first entry of a block also writes the block's
// column.
template <class V>
constexpr void scatter_to_block(const CooView<V>& a, const BlockNumbers& blocks, index_t block, index_t width,
                                offset_t k, index_t* block_col, V* value)
{
    const offset_t entry = blocks.source[k];
    const index_t row = a.row[entry], col = a.col[entry];
    const index_t block_row = row / block;
    const offset_t slot = offset_t{block_row} * width + blocks.number[k + 1] - 1 - blocks.begin[block_row];
    if (blocks.number[k + 1] != blocks.number[k]) block_col[slot] = col / block;
    value[(slot * block + row % block) * block + col % block] = a.value[entry];
}

// The same for all entries; what no entry writes stays as it is. No position twice.
template <class V>
void scatter_blocks(const CpuQueue& q, const CooView<V>& a, const BlockNumbers& blocks, index_t block, index_t width,
                    index_t* block_col, V* value);
template <class V>
void scatter_blocks(const CudaQueue& q, const CooView<V>& a, const BlockNumbers& blocks, index_t block, index_t width,
                    index_t* block_col, V* value);

// Formats that store zeros hold a fixed number of candidates in every row; the entries are those that are not zero.
template <class V>
struct Candidate {
    index_t col;
    V value;
};

// The lines of a dense matrix: its rows, or, if it is column-major, the rows of the transposed matrix.
template <class V>
struct DenseRows {
    index_t rows, cols;
    offset_t leading;
    const V* data;
};

template <class V>
constexpr offset_t candidates(const DenseRows<V>& a)
{
    return a.cols;
}

template <class V>
constexpr Candidate<V> candidate(const DenseRows<V>& a, index_t row, offset_t k)
{
    return {static_cast<index_t>(k), a.data[row * a.leading + k]};
}

template <class V>
constexpr offset_t candidates(const BlockedEllView<V>& a)
{
    return offset_t{a.width} * a.block;
}

// Slot after slot; padding and what reaches beyond the last column count as zero.
template <class V>
constexpr Candidate<V> candidate(const BlockedEllView<V>& a, index_t row, offset_t k)
{
    const offset_t slot = offset_t{row / a.block} * a.width + k / a.block;
    const index_t block_col = a.block_col[slot];
    const offset_t col = offset_t{block_col} * a.block + k % a.block;
    if (block_col < 0 || col >= a.cols) return {0, V(0)};
    return {static_cast<index_t>(col), a.value[(slot * a.block + row % a.block) * a.block + k % a.block]};
}

// How many candidates of each row are not zero, and then those themselves. View: BlockedEllView<V> or DenseRows<V>.
template <class View>
void count_entries(const CpuQueue& q, const View& a, offset_t* count);
template <class View>
void count_entries(const CudaQueue& q, const View& a, offset_t* count);
template <class View, class V>
void fill_entries(const CpuQueue& q, const View& a, const offset_t* row_begin, index_t* col, V* value);
template <class View, class V>
void fill_entries(const CudaQueue& q, const View& a, const offset_t* row_begin, index_t* col, V* value);

// inverse[from[i]] = i. *problem = the first i whose from[i] is outside 0 … n-1 or was there before, n where there is
// none; then inverse[x] is the first i with from[i] = x, or max_index.
void invert(const CpuQueue& q, const index_t* from, index_t n, index_t* inverse, index_t* problem);
void invert(const CudaQueue& q, const index_t* from, index_t n, index_t* inverse, index_t* problem);

}  // namespace tulle::inline TULLE_ABI::matrix
