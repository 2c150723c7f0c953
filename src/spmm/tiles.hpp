// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The paper's form of op(A), ready to be multiplied: rows in an order, cut into tiles of 32 x 32; tiles with many
// nonzeros as Blocked-ELL for tensor cores, everything else as CSR (BSA-SpMM, doi:10.1007/978-3-031-69583-4_1;
// order/split.hpp has the same form for looking at it). Two differences serve the product: a tile's numbers lie as the
// lanes of a warp hold them (16 x 16 at a time, 16 x 8 for numbers of four bytes), and the rest keeps the caller's
// rows, so that it is multiplied straight into C and no pass puts rows back.
#pragma once

#include <cstdint>

#include "spmm/panels.hpp"
#include "tulle/csr.hpp"

namespace tulle::inline TULLE_ABI::spmm {

inline constexpr index_t tile_side = 32;  // tau: that of the authors' scripts; a row of a tile is a word of bits
inline constexpr index_t tile_places = tile_side * tile_side;

// Which tiles are dense. A fixed delta is {delta * tau * tau, 0}.
struct TileRule {
    double least = 0;  // a tile has more nonzeros than this, …
    double gain = 0;   // … and a panel's dense tiles have so many more than that together, or the panel has none
};

// Where entry (row, col) of a tile stands among its numbers.
template <class V>
constexpr index_t place_in_tile(int row, int col)
{
    constexpr int columns = chunk_columns<V>, numbers = slab_rows * columns;
    const LanePlace at = lane_place<V>(row % slab_rows, col % columns);
    return (row / slab_rows * (tile_side / columns) + col / columns) * numbers + at.lane * values_per_lane<V> +
           at.value;
}

// To kernels: panels from the first that has a dense tile.
template <class V>
struct TilesView {
    index_t rows = 0, cols = 0;
    index_t first_panel = 0, panels = 0, width = 0;
    const index_t* row = nullptr;
    const index_t* block_col = nullptr;
    const std::uint32_t* present = nullptr;
    const V* value = nullptr;
};

template <class V>
struct Tiles {
    index_t rows = 0, cols = 0;
    index_t first_panel = 0;        // leading panels without a dense tile are left out; all of them where there is none
    index_t panels = 0, width = 0;  // panels that follow, and tiles of each, padding included
    offset_t dense_tiles = 0, in_tiles = 0;  // padding not counted; nonzeros in dense tiles
    Buffer<index_t> row;                     // the original row at each position
    Buffer<index_t> block_col;               // of every tile of every panel, ascending; -1: padding, last
    Buffer<std::uint32_t> present;           // of every row of every tile: the columns that are stored
    Buffer<V> value;                         // of every tile, zero where nothing is stored; then those of the rest
    Buffer<offset_t> rest_begin;             // CSR of the caller's rows
    Buffer<index_t> rest_col;
    Buffer<offset_t> place;  // of every nonzero of the matrix: where its value stands

    offset_t slots() const { return offset_t{panels} * width; }
    std::size_t bytes() const
    {
        return row.bytes() + block_col.bytes() + present.bytes() + value.bytes() + rest_begin.bytes() +
               rest_col.bytes() + place.bytes();
    }
    TilesView<V> view() const
    {
        return {rows, cols, first_panel, panels, width, row.data(), block_col.data(), present.data(), value.data()};
    }
    CsrView<V> rest() const
    {
        return {rows,  cols, rest_col.size(), rest_begin.data(), rest_col.data(), value.data() + slots() * tile_places,
                false, true};
    }
};

}  // namespace tulle::inline TULLE_ABI::spmm
