// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Blocked-ELL: dense blocks of `block` x `block` entries, the same number of blocks in every block row.
///
/// Block row p holds its blocks in slots s = 0 … width-1. block_col[p * width + s] is the column of the block, in units
/// of blocks, or -1 for padding; padding comes last. The values of a slot are block * block numbers, row by row. The
/// last block row and block column may extend beyond the matrix: values there are zero.
#pragma once

#include "tulle/memory.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI {

/// A Blocked-ELL matrix in arrays that the view does not own.
///
/// The arrays are in the memory of the context that uses the view.
/// @tparam V value type: float or double.
template <class V>
struct BlockedEllView {
    index_t rows = 0;                    ///< rows of the matrix
    index_t cols = 0;                    ///< columns of the matrix
    index_t block = 1;                   ///< rows and columns of a block
    index_t width = 0;                   ///< blocks in a block row, padding included
    const index_t* block_col = nullptr;  ///< slots() entries: block column of each slot, -1 for padding
    const V* value = nullptr;            ///< slots() * block * block entries

    /// Number of block rows.
    constexpr index_t block_rows() const { return rows / block + (rows % block != 0); }
    /// Number of block columns.
    constexpr index_t block_cols() const { return cols / block + (cols % block != 0); }
    /// Number of blocks stored, padding included.
    constexpr offset_t slots() const { return offset_t{block_rows()} * width; }
};

/// A Blocked-ELL matrix that owns its arrays; moves, never copies.
/// @tparam V value type: float or double.
template <class V>
struct BlockedEll {
    index_t rows = 0;           ///< rows of the matrix
    index_t cols = 0;           ///< columns of the matrix
    index_t block = 1;          ///< rows and columns of a block
    index_t width = 0;          ///< blocks in a block row, padding included
    Buffer<index_t> block_col;  ///< block column of each slot, -1 for padding
    Buffer<V> value;            ///< values, block by block

    /// Bytes of all arrays.
    std::size_t bytes() const { return block_col.bytes() + value.bytes(); }
    /// A view of this matrix; valid while the owner lives.
    BlockedEllView<V> view() const& { return {rows, cols, block, width, block_col.data(), value.data()}; }
    /// Deleted: a view of a temporary would outlive it. Give the owner a name.
    BlockedEllView<V> view() const&& = delete;
};

}  // namespace tulle::inline TULLE_ABI
