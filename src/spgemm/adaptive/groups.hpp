// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The adaptive method on a GPU: which kernel counts a row of C, and which fills it. Pure functions of what is known of
// the row, used by kernels and tests alike. Bounds marked "measured" refer to docs/design/spgemm.md; the others are
// reasoned from the size of shared memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/math.hpp"
#include "spgemm/adaptive/runs.hpp"
#include "spgemm/steps.hpp"

namespace tulle::inline TULLE_ABI::spgemm {

// Counting: columns that must be told apart are few (registers), close together (a bitmap), or neither (a hash table).
enum class SymbolicKernel : unsigned char {
    none,  // nothing to do: the row is empty, one scaled row of B, or its predecessor's equal
    lists4,
    lists8,  // so many nonzeros of A at most: a thread merges the rows of B they ask for
    cut4,
    cut8,  // the same, but too long for one thread: pieces of them
    short8,
    short16,
    short32,  // so many products and nonzeros of A at most: a lane each
    map_small,
    map_large,  // a warp and a bitmap
    hash_small,
    hash_medium,
    hash_large,  // a warp and a table
    hash_block,
    map_block,  // a block and a table, a block and a bitmap of any width
};
inline constexpr int counters = 15;
inline constexpr std::array<const char*, counters> counter_names{"nothing to count",
                                                                 "up to 4 lists merged",
                                                                 "up to 8 lists merged",
                                                                 "up to 4 lists merged in pieces",
                                                                 "up to 8 lists merged in pieces",
                                                                 "8 products in registers",
                                                                 "16 products in registers",
                                                                 "32 products in registers",
                                                                 "bitmap of 8192 columns",
                                                                 "bitmap of 65536 columns",
                                                                 "hash table for 64 products",
                                                                 "hash table for 256 products",
                                                                 "hash table for 1024 products",
                                                                 "hash table for 8192 products, a block each",
                                                                 "bitmap, a block each"};

// Filling.
enum class NumericKernel : unsigned char {
    none,  // empty, or filled together with a predecessor of equal pattern
    copy,  // one nonzero in A: a scaled row of B
    lists4,
    lists8,
    cut4,
    cut8,  // as above
    short8,
    short16,
    short32,  // as above
    single_small,
    single_large,  // a bitmap for the columns, values by rank
    run_tiny,
    run_small,
    run_large,
    run_huge,  // the same for up to run_limit rows of equal pattern at once
    hash64,
    hash128,
    hash256,
    hash512,  // a warp and a table for so many nonzeros
    hash1024,
    hash2048,
    hash4096,
    hash8192,  // a block and a table
    dense,     // a block and an array, window after window; hubs as well
};
inline constexpr int fillers = 24;
inline constexpr std::array<const char*, fillers> filler_names{"nothing to fill",
                                                               "one scaled row of B",
                                                               "up to 4 lists merged",
                                                               "up to 8 lists merged",
                                                               "up to 4 lists merged in pieces",
                                                               "up to 8 lists merged in pieces",
                                                               "8 products in registers",
                                                               "16 products in registers",
                                                               "32 products in registers",
                                                               "ranks in 7 KiB",
                                                               "ranks in 14 KiB",
                                                               "runs, ranks in 7 KiB",
                                                               "runs, ranks in 14 KiB",
                                                               "runs, ranks in 28 KiB",
                                                               "runs, ranks in 56 KiB",
                                                               "hash table for 64 nonzeros",
                                                               "hash table for 128 nonzeros",
                                                               "hash table for 256 nonzeros",
                                                               "hash table for 512 nonzeros",
                                                               "hash table for 1024 nonzeros, a block each",
                                                               "hash table for 2048 nonzeros, a block each",
                                                               "hash table for 4096 nonzeros, a block each",
                                                               "hash table for 8192 nonzeros, a block each",
                                                               "array of values, a block each"};

inline constexpr index_t small_map_columns = 8192, large_map_columns = 65536;
inline constexpr index_t map_block_columns =
    48 * 1024 * 32;  // 192 KiB of bits, a block's; rows that are wider take several rounds
inline constexpr index_t most_columns_at_once = large_map_columns;
inline constexpr std::uint32_t counted_at_once =
    2048;  // products of a row that a warp counts while others wait for it (reasoned: 50 µs)
inline constexpr std::uint32_t mapped_by_warp =
    8192;  // products; 16384 kept a warp busy for 0.4 ms (measured: email-Enron)
// Hubs: rows of C from many nonzeros of A. A warp adds one row of B after the other, 0.3 µs each (measured:
// hangGlider_2, 1463 nonzeros of A, 0.49 ms). Where the product has little other work, so many that nobody is left to
// hide that, such rows are divided into parts of hub_entries, a warp each.
inline constexpr offset_t product_with_hubs = 1
                                              << 17;  // nonzeros of A at most (reasoned: one for each thread of a GPU)
inline constexpr offset_t hub_nonzeros = 64;          // of A in a row: 20 µs for one warp
inline constexpr int hub_entries = 128;
inline constexpr std::uint32_t products_small = 64, products_medium = 256, products_large = 1024, products_block = 8192;
// Shared memory of the kernels that keep values by rank, smallest first: 32, 16, 8 and 4 warps of a multiprocessor
// share its 227 KiB. (Functions, because a kernel cannot look into a constant array of the host.)
inline constexpr int single_sizes = 2, run_sizes = 4;
constexpr int rank_bytes_of(int size) { return (7 * 1024) << size; }

// Rows of C from few nonzeros of A: the rows of B are sorted lists.
inline constexpr int few_lists = 4, most_lists = 8;
inline constexpr std::uint32_t merged_at_once =
    64;  // products; longer rows go elsewhere or are cut (reasoned: steps of a thread while its neighbours wait)
inline constexpr int cut_every = 32;                         // entries of a list between two cuts
inline constexpr index_t most_list_columns = (1 << 29) - 1;  // of C: a column and the number of its list share 32 bits
constexpr offset_t pieces_in(offset_t entries) { return (entries + cut_every - 1) / cut_every; }

// 0: the row is not merged; 1: at once; 2: in pieces.
constexpr int turns_of(const RowStats& f, offset_t nonzeros_a, const KernelSet& kinds)
{
    if (nonzeros_a > kinds.lists) return 0;
    return f.products <= merged_at_once ? 1 : f.products > kinds.cut_above ? 2 : 0;
}

// Whether the kernel looks at the facts of its rows; the others know enough from C's offsets.
constexpr bool reads_facts(NumericKernel f)
{
    return (f >= NumericKernel::single_small && f <= NumericKernel::run_huge) || f >= NumericKernel::hash1024;
}

constexpr offset_t words_of(index_t width) { return (offset_t{width} + 31) / 32; }

// Shared memory of a row, or of a run of rows, whose values are kept by rank: a word and a count for every 32 columns,
// and the values.
constexpr offset_t rank_bytes(index_t width, offset_t nonzeros, int rows, offset_t value_bytes)
{
    return words_of(width) * 8 + rows * nonzeros * value_bytes;
}

// A bitmap is cleared and read once for all products: it must not be much longer than they are many.
constexpr bool map_pays(const RowStats& f) { return words_of(f.width) <= offset_t{f.pattern}; }

constexpr SymbolicKernel counter_for(const RowStats& f, offset_t nonzeros_a, const RunByte& run, const KernelSet& kinds)
{
    if (f.products == 0 || nonzeros_a == 1 || run.place > 0) return SymbolicKernel::none;
    if (kinds.at_once) return f.pattern <= counted_at_once ? SymbolicKernel::map_large : SymbolicKernel::map_block;
    if (const int turns = turns_of(f, nonzeros_a, kinds); turns > 0)
        return nonzeros_a <= few_lists ? (turns == 1 ? SymbolicKernel::lists4 : SymbolicKernel::cut4)
               : turns == 1            ? SymbolicKernel::lists8
                                       : SymbolicKernel::cut8;
    const offset_t lanes = std::max(nonzeros_a, offset_t{f.products});
    if (kinds.registers && lanes <= 32)
        return lanes <= 8 ? SymbolicKernel::short8 : lanes <= 16 ? SymbolicKernel::short16 : SymbolicKernel::short32;
    const std::uint32_t by_warp = kinds.hubs ? counted_at_once : mapped_by_warp;
    if (kinds.ranks && f.pattern <= by_warp && map_pays(f) && f.width <= large_map_columns)
        return f.width <= small_map_columns ? SymbolicKernel::map_small : SymbolicKernel::map_large;
    if (f.pattern <= products_large)
        return f.pattern <= products_small    ? SymbolicKernel::hash_small
               : f.pattern <= products_medium ? SymbolicKernel::hash_medium
                                              : SymbolicKernel::hash_large;
    return f.pattern <= products_block ? SymbolicKernel::hash_block : SymbolicKernel::map_block;
}

constexpr NumericKernel filler_for_run(const RowStats& f, offset_t nonzeros, offset_t value_bytes)
{
    const offset_t bytes = rank_bytes(f.width, nonzeros, run_limit, value_bytes);
    for (int k = 0; k < run_sizes; ++k)
        if (bytes <= rank_bytes_of(k)) return static_cast<NumericKernel>(static_cast<int>(NumericKernel::run_tiny) + k);
    return NumericKernel::none;  // does not fit
}

constexpr NumericKernel filler_by_size(offset_t nonzeros)
{
    if (nonzeros <= 128) return nonzeros <= 64 ? NumericKernel::hash64 : NumericKernel::hash128;
    if (nonzeros <= 512) return nonzeros <= 256 ? NumericKernel::hash256 : NumericKernel::hash512;
    if (nonzeros <= 2048) return nonzeros <= 1024 ? NumericKernel::hash1024 : NumericKernel::hash2048;
    return nonzeros <= 4096   ? NumericKernel::hash4096
           : nonzeros <= 8192 ? NumericKernel::hash8192
                              : NumericKernel::dense;
}

constexpr NumericKernel filler_for(const RowStats& f, offset_t nonzeros_a, const RunByte& run, offset_t nonzeros,
                                   offset_t value_bytes, const KernelSet& kinds)
{
    if (nonzeros == 0) return NumericKernel::none;
    if (nonzeros_a == 1) return NumericKernel::copy;
    const offset_t lanes = std::max(nonzeros_a, offset_t{f.products});
    const int turns = turns_of(f, nonzeros_a, kinds);
    if (kinds.registers && lanes <= 32 && turns == 0)
        return lanes <= 8 ? NumericKernel::short8 : lanes <= 16 ? NumericKernel::short16 : NumericKernel::short32;
    if (kinds.ranks && lanes > 32 && run.length > 1 && words_of(f.width) <= offset_t{f.products}) {
        const NumericKernel together = filler_for_run(f, nonzeros, value_bytes);
        if (together != NumericKernel::none) return run.place > 0 ? NumericKernel::none : together;
    }
    if (turns > 0)
        return nonzeros_a <= few_lists ? (turns == 1 ? NumericKernel::lists4 : NumericKernel::cut4)
               : turns == 1            ? NumericKernel::lists8
                                       : NumericKernel::cut8;
    if (kinds.hubs && nonzeros_a > hub_nonzeros && nonzeros > hub_entries) return NumericKernel::dense;
    const offset_t alone = rank_bytes(f.width, nonzeros, 1, value_bytes);
    if (kinds.ranks && words_of(f.width) * 8 <= offset_t{f.products} && alone <= rank_bytes_of(single_sizes - 1))
        return alone <= rank_bytes_of(0) ? NumericKernel::single_small : NumericKernel::single_large;
    return filler_by_size(nonzeros);
}

}  // namespace tulle::inline TULLE_ABI::spgemm
