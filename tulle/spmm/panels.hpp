// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// op(A) for tensor cores: panels of 64 rows, taken in any order, each with the list of its distinct columns, so that a row of B is fetched once
// for all 64. A panel is four slabs of 16 rows. Its columns are grouped by which slabs use them (a mask of four bits, in the order of a Gray code,
// so that neighbours differ in one slab) and cut into chunks of 16 (8 for tf32, whose fragments are half as deep). What a slab has in a chunk is
// a tile: a bitmap and its values without gaps, in the order in which the lanes of a warp hold them; slabs without nonzeros there have no tile.
// Long panels are cut into units of chunks, whose sums are added up in their order.
//
// The same numbers as CSR in about its bytes: a bit for each of 16 x 16 places, a value for each nonzero, an index for each distinct column.
#pragma once

#include <cstdint>

#include "tulle/base/types.hpp"
#include "tulle/device/buffer.hpp"

namespace tulle::spmm {

inline constexpr int panel_rows = 64, slab_rows = 16, slabs = panel_rows / slab_rows;

// Columns of a chunk, and values of a tile that one lane of a warp holds.
template <class V> inline constexpr int chunk_columns = sizeof(V) == 2 ? 16 : 8;
template <class V> inline constexpr int values_per_lane = slab_rows * chunk_columns<V> / 32;

// Which lane holds an entry of a tile, and as which of its values (PTX's mma.sync fragments; device/cuda/mma.cuh says it the other way round).
struct LanePlace {
    int lane, value;
};
template <class V>
constexpr LanePlace lane_place(int row, int col)
{
    if constexpr (sizeof(V) == 2) return {row % 8 * 4 + col % 8 / 2, col % 2 + row / 8 * 2 + col / 8 * 4};
    else return {row % 8 * 4 + col % 4, row / 8 + col / 4 * 2};
}

// The place of a mask of slabs in Gray's order.
constexpr int gray_rank(unsigned mask)
{
    unsigned rank = mask;
    for (unsigned shift = 1; shift < 8; shift *= 2) rank ^= rank >> shift;
    return static_cast<int>(rank);
}

struct alignas(8) ChunkTiles {
    std::uint32_t first;                 // its first tile
    std::uint32_t slabs;                 // mask of those that have one, in their order

    bool operator==(const ChunkTiles&) const = default;
};

// Chunks that one block multiplies. Where a panel has several units, their sums go to slots and the last unit to finish adds them up.
struct alignas(16) PanelUnit {
    offset_t begin, end;                 // chunks
    index_t panel;
    std::int32_t first_slot;             // of the panel; -1: this unit is all of it
    std::int32_t piece, pieces;          // of the panel
};

// To kernels.
template <class V>
struct PanelsView {
    index_t rows = 0;
    const index_t* row = nullptr;        // the original row at each position; null: positions are rows
    const PanelUnit* unit = nullptr;
    offset_t units = 0;
    const index_t* col = nullptr;        // chunk_columns of each chunk; -1: padding, last
    const ChunkTiles* tiles = nullptr;   // of each chunk
    const offset_t* value_begin = nullptr;     // of each tile
    const std::uint32_t* bits = nullptr; // values_per_lane words of each tile: bit l of word i says that lane l has an i-th value
    const V* value = nullptr;            // word by word, lane by lane
};

template <class V>
struct Panels {
    index_t rows = 0;
    offset_t chunks = 0;
    std::int32_t slots = 0;              // sums of 64 rows that units leave for each other
    Buffer<index_t> row;
    Buffer<PanelUnit> unit;
    Buffer<index_t> col;
    Buffer<ChunkTiles> tiles;
    Buffer<offset_t> value_begin;
    Buffer<std::uint32_t> bits;
    Buffer<V> value;
    Buffer<offset_t> source;             // of every value: where it stands in the matrix

    std::size_t bytes() const { return row.bytes() + unit.bytes() + col.bytes() + tiles.bytes() + value_begin.bytes() + bits.bytes() + value.bytes() + source.bytes(); }
    PanelsView<V> view() const
    {
        return {rows, row.data(), unit.data(), unit.size(), col.data(), tiles.data(), value_begin.data(), bits.data(), value.data()};
    }
};

}  // namespace tulle::spmm
