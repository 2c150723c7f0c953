// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What blocks with a tile of X Y^T have in common: its sums in shared memory, and the nonzeros that take them.
#pragma once

#include "sddmm/cuda/dots.cuh"

namespace tulle::inline TULLE_ABI::sddmm {

// From line to line of the sums: rows of a warp are in different banks.
inline constexpr int sums_line = tile_side + 8;
__device__ inline int place_of_sum(int spot) { return spot / tile_side * sums_line + spot % tile_side; }

// Threads that may begin early, as for sample().
inline constexpr offset_t most_early_of_tiles = 1 << 16;

// Some nonzeros of a tile for this thread, asked for before their sums are there.
template <int Threads, int Count>
struct SomeNonzeros {
    std::uint32_t place[Count];
    int spot[Count];

    __device__ void ask(const TilesView& tiles, const Tile& tile, std::uint32_t first)
    {
#pragma unroll
        for (int c = 0; c < Count; ++c) {
            if (!has(tile, first, c)) continue;
            const std::uint32_t i = tile.begin + first + static_cast<std::uint32_t>(c * Threads);
            place[c] = tiles.place[i];
            spot[c] = tiles.spot[i];
        }
    }
    // Calls take(place, sum) for each.
    template <class S, class Take>
    __device__ void give(const Tile& tile, std::uint32_t first, const S* sums, Take&& take) const
    {
        S sum[Count];
#pragma unroll
        for (int c = 0; c < Count; ++c) sum[c] = has(tile, first, c) ? sums[place_of_sum(spot[c])] : S(0);
#pragma unroll
        for (int c = 0; c < Count; ++c)
            if (has(tile, first, c)) take(place[c], sum[c]);
    }

private:
    __device__ static bool has(const Tile& tile, std::uint32_t first, int c)
    {
        return first + static_cast<std::uint32_t>(c * Threads) < tile.count;
    }
};

// Calls take(place, sum) for this thread's share of a tile's nonzeros, of which it has asked for the first.
template <int Threads, int Count, class S, class Take>
__device__ inline void take_sums(const TilesView& tiles, const Tile& tile, SomeNonzeros<Threads, Count>& some,
                                 const S* sums, Take&& take)
{
    for (std::uint32_t first = threadIdx.x; first < tile.count;) {
        some.give(tile, first, sums, take);
        first += static_cast<std::uint32_t>(Threads * Count);
        some.ask(tiles, tile, first);
    }
}

}  // namespace tulle::inline TULLE_ABI::sddmm
