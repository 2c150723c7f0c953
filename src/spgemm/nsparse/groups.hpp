// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The groups of nsparse, as its table 1 has them (double precision): rows by products for counting, by nonzeros for
// filling. The upper end of a range is the size of the hash table, so a table can be full.
#pragma once

#include <array>
#include <string>

#include "base/math.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::spgemm::nsparse {

struct Group {
    offset_t up_to;     // products or nonzeros of a row
    bool warp_per_row;  // otherwise a block
    int threads;        // of a block
    int table;          // entries in shared memory
};

inline constexpr int groups = 7;
using Groups = std::array<Group, groups>;

inline constexpr Groups counting{
    {{256, true, 512, 256},
     {512, true, 256, 512},
     {1024, false, 128, 1024},
     {2048, false, 256, 2048},
     {4096, false, 512, 4096},
     {8192, false, 512, 8192},
     {max_offset, false, 512, 8192}}};  // tried in shared memory, finished in global memory

inline constexpr Groups filling{{{128, true, 512, 128},
                                 {256, true, 256, 256},
                                 {512, false, 128, 512},
                                 {1024, false, 256, 1024},
                                 {2048, false, 512, 2048},
                                 {4096, false, 512, 4096},
                                 {max_offset, false, 512, 0}}};  // in global memory

constexpr bool is_sound(const Groups& g)
{
    for (std::size_t k = 0; k < groups; ++k) {
        if (k > 0 && g[k].up_to <= g[k - 1].up_to) return false;
        if (k + 1 < groups && g[k].table != g[k].up_to) return false;
        if (g[k].table > 0 && !is_power_of_two(g[k].table)) return false;
        if (g[k].threads % 32 != 0 || g[k].threads > 1024) return false;
    }
    return g[groups - 1].up_to == max_offset;
}
static_assert(is_sound(counting) && is_sound(filling));

// 0: nothing to do; otherwise the number of the group in the paper.
constexpr int group_of(const Groups& g, offset_t size)
{
    if (size == 0) return 0;
    int k = 0;
    while (size > g[static_cast<std::size_t>(k)].up_to) ++k;
    return k + 1;
}

inline std::array<const char*, groups + 1> counting_names()
{
    return {"nothing",
            "up to 256 products, a warp each",
            "up to 512 products, a warp each",
            "up to 1024 products, a block each",
            "up to 2048 products, a block each",
            "up to 4096 products, a block each",
            "up to 8192 products, a block each",
            "more products, tried in shared memory first"};
}

inline std::array<const char*, groups + 1> filling_names()
{
    return {"nothing",
            "up to 128 nonzeros, a warp each",
            "up to 256 nonzeros, a warp each",
            "up to 512 nonzeros, a block each",
            "up to 1024 nonzeros, a block each",
            "up to 2048 nonzeros, a block each",
            "up to 4096 nonzeros, a block each",
            "more nonzeros, in global memory"};
}

// Global tables are for as many rows at once as this many bytes allow, one at least: never rows times longest row.
inline constexpr offset_t global_table_bytes = offset_t{64} << 20;
inline constexpr offset_t most_global_rows = 264;

// Entries of a global table for a row with at most so many columns.
constexpr offset_t global_entries(offset_t most, offset_t cols) { return power_of_two_from(most < cols ? most : cols); }

constexpr offset_t rows_at_once(offset_t entries, offset_t entry_bytes)
{
    const offset_t fit = global_table_bytes / (entries * entry_bytes);
    return fit < 1 ? 1 : fit < most_global_rows ? fit : most_global_rows;
}

}  // namespace tulle::inline TULLE_ABI::spgemm::nsparse
