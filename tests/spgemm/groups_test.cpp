// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Which kernel a row goes to: its table, bitmap or array must be able to hold it, and rows of a run must agree.
#include "spgemm/adaptive/groups.hpp"

#include <gtest/gtest.h>

#include "base/hash.hpp"
#include "spgemm/nsparse/groups.hpp"

namespace tulle::inline TULLE_ABI::spgemm {
namespace {

// Facts of all sizes: powers of two give or take one.
std::uint32_t some(std::uint64_t seed, int bits)
{
    const auto size = std::uint32_t{1} << below(hash_of(seed, 1), static_cast<unsigned>(bits));
    return size - 1 + static_cast<std::uint32_t>(below(hash_of(seed, 2), 3));
}

struct Example {
    RowStats facts;
    offset_t nonzeros_a, nonzeros;
};

// Something that can exist: no more columns than products, or than the width has room for.
Example example(std::uint64_t seed)
{
    Example e{{some(hash_of(seed, 1), 20), 0, 5, 0}, 0, 0};
    e.facts.pattern = std::min(e.facts.products, some(hash_of(seed, 2), 20) + 1);
    e.nonzeros = std::min(e.facts.pattern, some(hash_of(seed, 3), 18));
    e.facts.width = static_cast<index_t>(std::max<offset_t>(e.nonzeros, some(hash_of(seed, 4), 24)));
    e.nonzeros_a = 1 + static_cast<offset_t>(below(hash_of(seed, 5), seed % 2 == 0 ? 12 : 300));
    if (e.facts.products > 0 && e.nonzeros == 0) e.nonzeros = 1;
    return e;
}

void expect_counter_holds(const Example& e, SymbolicKernel counter)
{
    const RowStats& f = e.facts;
    const offset_t lanes = std::max(e.nonzeros_a, offset_t{f.products});
    switch (counter) {
    case SymbolicKernel::none: EXPECT_TRUE(f.products == 0 || e.nonzeros_a == 1); break;
    case SymbolicKernel::lists4: EXPECT_TRUE(e.nonzeros_a <= 4 && f.products <= merged_at_once); break;
    case SymbolicKernel::lists8: EXPECT_TRUE(e.nonzeros_a <= 8 && f.products <= merged_at_once); break;
    case SymbolicKernel::cut4: EXPECT_LE(e.nonzeros_a, 4); break;
    case SymbolicKernel::cut8: EXPECT_LE(e.nonzeros_a, 8); break;
    case SymbolicKernel::short8: EXPECT_LE(lanes, 8); break;
    case SymbolicKernel::short16: EXPECT_LE(lanes, 16); break;
    case SymbolicKernel::short32: EXPECT_LE(lanes, 32); break;
    case SymbolicKernel::map_small: EXPECT_LE(f.width, small_map_columns); break;
    case SymbolicKernel::map_large: EXPECT_LE(f.width, large_map_columns); break;
    case SymbolicKernel::hash_small: EXPECT_LE(f.pattern, products_small); break;
    case SymbolicKernel::hash_medium: EXPECT_LE(f.pattern, products_medium); break;
    case SymbolicKernel::hash_large: EXPECT_LE(f.pattern, products_large); break;
    case SymbolicKernel::hash_block: EXPECT_LE(f.pattern, products_block); break;
    case SymbolicKernel::map_block: break;
    }
}

void expect_filler_holds(const Example& e, NumericKernel filler, offset_t value_bytes)
{
    const offset_t lanes = std::max(e.nonzeros_a, offset_t{e.facts.products});
    const offset_t one = rank_bytes(e.facts.width, e.nonzeros, 1, value_bytes),
                   three = rank_bytes(e.facts.width, e.nonzeros, run_limit, value_bytes);
    switch (filler) {
    case NumericKernel::none: EXPECT_EQ(e.nonzeros, 0); break;
    case NumericKernel::copy: EXPECT_EQ(e.nonzeros_a, 1); break;
    case NumericKernel::lists4: EXPECT_TRUE(e.nonzeros_a <= 4 && e.facts.products <= merged_at_once); break;
    case NumericKernel::lists8: EXPECT_TRUE(e.nonzeros_a <= 8 && e.facts.products <= merged_at_once); break;
    case NumericKernel::cut4: EXPECT_LE(e.nonzeros_a, 4); break;
    case NumericKernel::cut8: EXPECT_LE(e.nonzeros_a, 8); break;
    case NumericKernel::short8: EXPECT_LE(lanes, 8); break;
    case NumericKernel::short16: EXPECT_LE(lanes, 16); break;
    case NumericKernel::short32: EXPECT_LE(lanes, 32); break;
    case NumericKernel::single_small: EXPECT_LE(one, rank_bytes_of(0)); break;
    case NumericKernel::single_large: EXPECT_LE(one, rank_bytes_of(1)); break;
    case NumericKernel::run_tiny: EXPECT_LE(three, rank_bytes_of(0)); break;
    case NumericKernel::run_small: EXPECT_LE(three, rank_bytes_of(1)); break;
    case NumericKernel::run_large: EXPECT_LE(three, rank_bytes_of(2)); break;
    case NumericKernel::run_huge: EXPECT_LE(three, rank_bytes_of(3)); break;
    case NumericKernel::hash64: EXPECT_LE(e.nonzeros, 64); break;
    case NumericKernel::hash128: EXPECT_LE(e.nonzeros, 128); break;
    case NumericKernel::hash256: EXPECT_LE(e.nonzeros, 256); break;
    case NumericKernel::hash512: EXPECT_LE(e.nonzeros, 512); break;
    case NumericKernel::hash1024: EXPECT_LE(e.nonzeros, 1024); break;
    case NumericKernel::hash4096: EXPECT_LE(e.nonzeros, 4096); break;
    case NumericKernel::hash2048: EXPECT_LE(e.nonzeros, 2048); break;
    case NumericKernel::hash8192: EXPECT_LE(e.nonzeros, 8192); break;
    case NumericKernel::dense: break;
    }
}

constexpr KernelSet ways_of_lists[]{{},
                                    {.lists = 4},
                                    {.lists = 8},
                                    {.lists = 8, .cut_above = 64},
                                    {.lists = 4, .cut_above = 512},
                                    {.registers = false},
                                    {.lists = 8, .ranks = false},
                                    {.hubs = true},
                                    {.lists = 8, .cut_above = 64, .hubs = true}};

TEST(SpgemmGroups, EveryRowFitsItsKernel)
{
    for (const KernelSet& lists : ways_of_lists)
        for (std::uint64_t seed = 0; seed < 20000; ++seed) {
            SCOPED_TRACE(seed);
            const Example e = example(seed);
            const RunByte alone{false, 0, 1}, first{false, 0, 3};
            expect_counter_holds(e, counter_for(e.facts, e.nonzeros_a, alone, lists));
            for (const offset_t value_bytes : {4, 8}) {
                expect_filler_holds(e, filler_for(e.facts, e.nonzeros_a, alone, e.nonzeros, value_bytes, lists),
                                    value_bytes);
                expect_filler_holds(e, filler_for(e.facts, e.nonzeros_a, first, e.nonzeros, value_bytes, lists),
                                    value_bytes);
            }
        }
}

// A row behind the first of a run is left alone exactly where the first one takes it along.
TEST(SpgemmGroups, RunsAreFilledOnceAndByOneKernel)
{
    int together = 0;
    for (const KernelSet& lists : ways_of_lists)
        for (std::uint64_t seed = 0; seed < 20000; ++seed) {
            const Example e = example(seed);
            if (e.nonzeros == 0) continue;
            const NumericKernel head = filler_for(e.facts, e.nonzeros_a, {false, 0, 3}, e.nonzeros, 8, lists),
                                next = filler_for(e.facts, e.nonzeros_a, {true, 1, 3}, e.nonzeros, 8, lists);
            const bool takes_along = head >= NumericKernel::run_tiny && head <= NumericKernel::run_huge;
            EXPECT_EQ(next, takes_along ? NumericKernel::none : head) << seed;
            EXPECT_EQ(counter_for(e.facts, e.nonzeros_a, {true, 1, 3}, lists), SymbolicKernel::none);
            together += takes_along;
        }
    EXPECT_GT(together, 100);
}

TEST(SpgemmGroups, EmptyRowsAreNobodysWork)
{
    EXPECT_EQ(counter_for({0, 0, 0, 0}, 0, {false, 0, 1}, {true, true}), SymbolicKernel::none);
    EXPECT_EQ(counter_for({0, 0, 0, 0}, 7, {false, 0, 1}, {true, true}), SymbolicKernel::none)
        << "all rows of B are empty";
    EXPECT_EQ(filler_for({0, 0, 0, 0}, 7, {false, 0, 1}, 0, 8, {true, true}), NumericKernel::none);
}

// Pieces exist only for rows that were counted as such.
TEST(SpgemmGroups, RowsAreFilledInPiecesWhereTheyWereCountedInPieces)
{
    int cut = 0;
    for (std::uint64_t seed = 0; seed < 20000; ++seed) {
        const Example e = example(seed);
        if (e.nonzeros == 0) continue;
        const RunByte alone{false, 0, 1};
        const KernelSet kinds{.lists = 8, .cut_above = seed % 2 == 0 ? merged_at_once : 512};
        const SymbolicKernel counter = counter_for(e.facts, e.nonzeros_a, alone, kinds);
        const NumericKernel filler = filler_for(e.facts, e.nonzeros_a, alone, e.nonzeros, 8, kinds);
        EXPECT_TRUE((filler != NumericKernel::cut4 && filler != NumericKernel::cut8) ||
                    e.facts.products > kinds.cut_above);
        EXPECT_EQ(counter == SymbolicKernel::cut4, filler == NumericKernel::cut4);
        EXPECT_EQ(counter == SymbolicKernel::cut8, filler == NumericKernel::cut8);
        const NumericKernel without = filler_for(e.facts, e.nonzeros_a, alone, e.nonzeros, 8, {.lists = 8});
        EXPECT_TRUE(without != NumericKernel::cut4 && without != NumericKernel::cut8);
        cut += filler == NumericKernel::cut4 || filler == NumericKernel::cut8;
    }
    EXPECT_GT(cut, 100);
}

TEST(NsparseGroups, AreThoseOfThePaper)
{
    using namespace nsparse;
    const offset_t products[] = {256, 512, 1024, 2048, 4096, 8192}, nonzeros[] = {128, 256, 512, 1024, 2048, 4096};
    EXPECT_EQ(group_of(counting, 0), 0);
    for (int k = 0; k < 6; ++k) {
        EXPECT_EQ(group_of(counting, products[k]), k + 1);
        EXPECT_EQ(group_of(counting, products[k] + 1), k + 2);
        EXPECT_EQ(group_of(filling, nonzeros[k]), k + 1);
        EXPECT_EQ(group_of(filling, nonzeros[k] + 1), k + 2);
    }
    EXPECT_EQ(group_of(counting, offset_t{1} << 40), 7);
}

TEST(NsparseGroups, GlobalTablesStayWithinTheirBytes)
{
    using namespace nsparse;
    for (const offset_t most : {offset_t{4097}, offset_t{100000}, offset_t{1} << 24, offset_t{1} << 33}) {
        const offset_t entries = global_entries(most, max_index), rows = rows_at_once(entries, 12);
        EXPECT_GE(entries, std::min(most, offset_t{max_index}));
        EXPECT_GE(rows, 1);
        EXPECT_TRUE(rows == 1 || rows * entries * 12 <= global_table_bytes);
        EXPECT_LE(rows, most_global_rows);
    }
}

}  // namespace
}  // namespace tulle::inline TULLE_ABI::spgemm
