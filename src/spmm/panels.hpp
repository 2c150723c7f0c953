// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// op(A) for tensor cores: panels of 64 rows, taken in any order, each with the list of its distinct columns, so that a
// row of B is fetched once for all 64. A panel is four slabs of 16 rows. Its columns are grouped by which slabs use
// them (a mask of four bits, in the order of a Gray code, so that neighbours differ in one slab) and cut into chunks of
// 16 (8 for floats, 4 for doubles, whose fragments are less deep). What a slab has in a chunk is a tile: 16 x 16
// numbers (16 x 8, 16 x 4) as the lanes of a warp hold them, 16 bytes each; slabs without nonzeros there have no tile.
// Long panels are cut into units of chunks, whose sums are added up in their order.
#pragma once

#include <cstdint>

#include "tulle/memory.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::spmm {

inline constexpr int panel_rows = 64, slab_rows = 16, slabs = panel_rows / slab_rows;

// Columns of C that a block computes.
inline constexpr int narrowest_panel = 32, widest_panel = 128;

// Columns of a chunk, and values of a tile that one lane of a warp holds.
template <class V>
inline constexpr int chunk_columns = static_cast<int>(32 / sizeof(V));
template <class V>
inline constexpr int values_per_lane = slab_rows* chunk_columns<V> / 32;

// What is copied to shared memory at once.
struct alignas(16) Piece {
    std::uint32_t word[4];
};
template <class T>
inline constexpr int per_piece = static_cast<int>(sizeof(Piece) / sizeof(T));

// Which lane holds an entry of a tile, and as which of its values (PTX's mma.sync fragments; device/cuda/mma.cuh says
// it the other way round).
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

// A chunk: its columns, and the tiles of the slabs that use them.
template <int Columns>
struct alignas(16) ChunkOf {
    index_t col[Columns];  // -1: padding, last
    std::uint32_t first;   // its first tile
    std::uint32_t slabs;   // mask of those that have a tile, in their order
    std::uint32_t unused[2];

    constexpr bool has(int slab) const { return (slabs >> slab & 1u) != 0; }
    constexpr offset_t tile(int slab) const  // the slab's, where it has one
    {
        offset_t tile = first;
        for (int s = 0; s < slab; ++s) tile += has(s);
        return tile;
    }
};
template <class V>
using Chunk = ChunkOf<chunk_columns<V>>;

// Chunks that one block multiplies. Where a panel has several units, their sums go to slots and the last unit to finish
// adds them up.
struct alignas(16) PanelUnit {
    offset_t begin, end;  // chunks
    index_t panel;
    std::int32_t first_slot;     // of the panel; -1: this unit is all of it
    std::int32_t piece, pieces;  // of the panel
};

// To kernels.
template <class V>
struct PanelsView {
    index_t rows = 0;
    const index_t* row = nullptr;  // the original row at each position; null: positions are rows
    const PanelUnit* unit = nullptr;
    offset_t units = 0;
    const Chunk<V>* chunk = nullptr;
    const V* value = nullptr;               // values_per_lane of each lane of each tile; zero where nothing is stored
    const std::uint8_t* present = nullptr;  // of each lane of each tile: which of them are stored
};

template <class V>
struct Panels {
    index_t rows = 0;
    offset_t nonzeros = 0;
    std::int32_t slots = 0;  // sums of 64 rows that units leave for each other
    Buffer<index_t> row;
    Buffer<PanelUnit> unit;
    Buffer<Chunk<V>> chunk;
    Buffer<V> value;
    Buffer<std::uint8_t> present;
    Buffer<offset_t> place;  // of every nonzero of the matrix: where its value stands

    offset_t tiles() const { return present.size() / 32; }
    std::size_t bytes() const
    {
        return row.bytes() + unit.bytes() + chunk.bytes() + value.bytes() + present.bytes() + place.bytes();
    }
    PanelsView<V> view() const
    {
        return {rows, row.data(), unit.data(), unit.size(), chunk.data(), value.data(), present.data()};
    }
};

}  // namespace tulle::inline TULLE_ABI::spmm
