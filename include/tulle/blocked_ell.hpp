// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Blocked-ELL: dense blocks of block x block entries, the same number of blocks in every block row (short ones are
// padded).
//
// Block row p holds its blocks at slots s = 0 … width-1; block_col[p * width + s] is the block's column, in units of
// blocks, or -1 for padding; padding comes last. Values of a slot are block * block numbers, row after row. The last
// block row and block column may reach beyond the matrix: values there are zero.
#pragma once

#include "tulle/memory.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI {

template <class V>
struct BlockedEllView {
    index_t rows = 0, cols = 0;
    index_t block = 1;
    index_t width = 0;  // blocks in a block row, padding included
    const index_t* block_col = nullptr;
    const V* value = nullptr;

    constexpr index_t block_rows() const { return rows / block + (rows % block != 0); }
    constexpr index_t block_cols() const { return cols / block + (cols % block != 0); }
    constexpr offset_t slots() const { return offset_t{block_rows()} * width; }
};

template <class V>
struct BlockedEll {
    index_t rows = 0, cols = 0;
    index_t block = 1;
    index_t width = 0;
    Buffer<index_t> block_col;
    Buffer<V> value;

    std::size_t bytes() const { return block_col.bytes() + value.bytes(); }
    BlockedEllView<V> view() const& { return {rows, cols, block, width, block_col.data(), value.data()}; }
    // A temporary owner has no view, which would outlive it: give the owner a name. A plan keeps views.
    BlockedEllView<V> view() const&& = delete;
};

}  // namespace tulle::inline TULLE_ABI
