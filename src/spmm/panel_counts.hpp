// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What counting panels yields, on every backend. Every column that a panel uses has a mask of the slabs of 16 rows that
// use it. Columns with the same mask stand together, neighbouring masks differ by one slab (Gray order), and eight
// columns make a tile: how many tiles have a nonzero follows from how many columns have each mask.
#pragma once

#include "tulle/spmm.hpp"

namespace tulle::inline TULLE_ABI::spmm {

inline constexpr int counted_slab = 16, counted_tile = 8,
                     slab_masks = 256;  // rows, columns; panels have up to 128 rows

struct PanelCounts {
    PanelCost cost;
    offset_t entries = 0;  // stored, a column named twice counted twice

    constexpr PanelCounts& operator+=(const PanelCounts& other)
    {
        cost.pairs += other.cost.pairs;
        cost.tiles += other.cost.tiles;
        cost.panels += other.cost.panels;
        cost.nonzeros += other.cost.nonzeros;
        entries += other.entries;
        return *this;
    }
};

// Pairs, tiles and whether there are any, from how many columns have each mask.
constexpr PanelCost count_columns(const index_t* cols_with)
{
    PanelCost cost;
    unsigned started = 0;  // slabs of the tile begun
    index_t filled = 0;    // its columns
    const auto end_tile = [&] {
        for (; started != 0; started &= started - 1) ++cost.tiles;
        filled = 0;
    };
    for (unsigned i = 1; i < slab_masks; ++i) {
        const unsigned mask = i ^ i >> 1;
        cost.pairs += cols_with[mask];
        for (index_t left = cols_with[mask]; left > 0;) {
            const index_t room = counted_tile - filled, taken = left < room ? left : room;
            started |= mask;
            filled += taken;
            left -= taken;
            if (filled == counted_tile) end_tile();
        }
    }
    end_tile();
    cost.panels = cost.pairs > 0;
    return cost;
}

}  // namespace tulle::inline TULLE_ABI::spmm
