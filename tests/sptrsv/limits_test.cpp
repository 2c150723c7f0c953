// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Limits of narrow types and words that hold several numbers, and right-hand sides 2^30 numbers apart. (Columns near
// 2^31 need a triangle as large.)
//
//     where                                     holds                                             switches at
//                                                          seen by
//     Task::rows, width, late (steps.hpp)       8 bits                                            32 rows; 32 late
//                                               columns a warp  RowsAndEntriesAround…
//     Graph::position                           16 bits                                           nodes of 4096 rows
//                                                          NodesOfTheCpu…
//     words of sweep (analysis.hpp)             level, level of the chain, first row, place       most_levels_swept
//                                                          LevelsAsDeepAs…, WordsOf…
//     standing_of (graph.cpp)                   level << 32 | node                                31 bits each
//                                                          NodesOfTheCpu…
//     entries of write_tasks.cu                 an entry's number in 8 bits                       long_row
//                                                          RowsAndEntriesAround…
//     lower_level of lay_out_tasks.cu           a column and a flag in 32 bits                    31 bits
//     keys of lay_out_tasks.cu, tasks.cpp         level and kind, entry << 32                       a power of two
//                                                          RowsAndEntriesAround…
//     RhsView                                     i * row_step + j * col_step                       2^31, 2^32
//                                                              RightHandSides…
#include <gtest/gtest.h>

#include <limits>

#include "sptrsv/schemes.hpp"
#include "sptrsv/steps.hpp"
#include "sptrsv/triangles.hpp"
#include "support/backends.hpp"
#include "support/guarded.hpp"
#include "support/reserved.hpp"
#include "tulle/sptrsv.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {
namespace {

using namespace tulle::test;

class SptrsvLimitsOn : public OnBackend {};

// A few rows, right-hand sides far apart, by rows and by columns: products of an index and a leading dimension exceed
// 32 bits, of sides of the first bundle and of later ones.
template <class V>
void check_far_apart(const Context& c, Layout layout_b, Layout layout_x, index_t columns, const Options& options,
                     const std::string& what)
{
    SCOPED_TRACE(what);
    const auto a = triangle_where<V>(9, 4, [](index_t i, index_t j) { return i - j <= 2; });
    const auto there = to_device(c, a.view());
    const offset_t leading = (offset_t{1} << (columns > 9 ? 28 : 30)) + 1;
    ReservedDense<V> b(c, 9, columns, layout_b, leading), x(c, 9, columns, layout_x, leading);
    std::vector<std::vector<V>> right(static_cast<std::size_t>(columns));
    for (index_t j = 0; j < columns; ++j)
        for (index_t i = 0; i < 9; ++i) {
            right[static_cast<std::size_t>(j)].push_back(static_cast<V>(unit(hash_of(8, i, j)) + 1));
            b.put(i, j, right[static_cast<std::size_t>(j)].back());
        }
    const auto plan = Plan<V>::make(c, there.view(), options);
    plan.solve(V(2), b.view(), x.view());
    plan.wait();
    for (index_t j = 0; j < columns; ++j) {
        std::vector<V> got;
        for (index_t i = 0; i < 9; ++i) got.push_back(x.get(i, j));
        ASSERT_TRUE(within_bound(got, oracle_solve(a, V(2), right[static_cast<std::size_t>(j)], 2))) << "column " << j;
    }
}

TEST_P(SptrsvLimitsOn, RightHandSides30BitsApart)
{
    const RoomToReserve room;
    const auto c = ctx();
    if (const std::string why = why_not_reserved(c, std::size_t{100} << 30); !why.empty()) GTEST_SKIP() << why;
    std::vector<std::optional<Policy>> schemes{std::nullopt};
    for (const Policy& s : schemes_for(c)) schemes.emplace_back(s);
    for (const auto& scheme : schemes)
        for (const index_t prepared : {1, 6})
            for (const Layout b : {Layout::row_major, Layout::col_major})
                for (const Layout x : {Layout::row_major, Layout::col_major})
                    for (const index_t columns : {1, 6}) {
                        const std::string what = (scheme ? to_text(*scheme) : "chosen") + ", for " +
                                                 std::to_string(prepared) + ", " + std::to_string(columns) +
                                                 " sides, " + (b == Layout::row_major ? "rows to " : "columns to ") +
                                                 (x == Layout::row_major ? "rows" : "columns");
                        if (!is_drawn(what, 10)) continue;
                        check_far_apart<float>(c, b, x, columns, {.right_hand_sides = prepared, .force = scheme}, what);
                        if (HasFatalFailure()) return;
                    }
}

// More sides than a bundle has, and than all bundles of a plan have: where later ones begin.
TEST_P(SptrsvLimitsOn, LaterBundles30BitsApart)
{
    const RoomToReserve room;
    const auto c = ctx();
    if (const std::string why = why_not_reserved(c, std::size_t{100} << 30); !why.empty()) GTEST_SKIP() << why;
    std::vector<std::optional<Policy>> schemes{std::nullopt};
    if (c.backend() == Backend::cuda)
        schemes = {
            std::nullopt,
            Policy{.kernel = Kernel::tasks, .merge = Merge::fixed, .rows = 5, .warps_per_task = most_team, .warps = 4},
            Policy{.kernel = Kernel::tasks}};
    for (const auto& scheme : schemes)
        for (const Layout b : {Layout::row_major, Layout::col_major})
            for (const Layout x : {Layout::row_major, Layout::col_major})
                for (const index_t columns : {9, 34}) {
                    const std::string what = (scheme ? to_text(*scheme) : "chosen") + ", " + std::to_string(columns) +
                                             " sides, " + (b == Layout::row_major ? "rows to " : "columns to ") +
                                             (x == Layout::row_major ? "rows" : "columns");
                    check_far_apart<float>(c, b, x, columns, {.right_hand_sides = 9, .force = scheme}, what);
                    if (HasFatalFailure()) return;
                }
}

// Rows with as many entries, levels with as many rows and chains of as many rows as a lane, a warp, a team, 8 bits and
// the lists of long rows hold, and one more or less.
TEST_P(SptrsvLimitsOn, RowsAndEntriesAround5To9Bits)
{
    const auto c = ctx();
    for (const index_t limit : {32, 64, 128, 256, 512})
        for (const index_t n : {limit - 1, limit, limit + 1}) {
            std::vector<Case<double>> cases;
            cases.push_back(
                {"last row of " + std::to_string(n), triangle_where<double>(n + 40, 5, [n](index_t i, index_t j) {
                     return (i == n + 39 && j < n) || (i > n && i < n + 39 && j == i - 1);
                 })});
            cases.push_back(
                {"level of " + std::to_string(n),
                 triangle_where<double>(n + 3, 6, [n](index_t i, index_t j) { return i >= n && j % 3 == 0; })});
            cases.push_back({"chain of " + std::to_string(n), triangle_where<double>(n, 7, [](index_t i, index_t j) {
                                 return j == i - 1 || j == i - 33;
                             })});
            for (const auto& [name, a] : cases) {
                const auto there = to_device(c, a.view());
                std::vector<double> b;
                for (index_t i = 0; i < a.rows; ++i) b.push_back(2.0 * unit(hash_of(8, i)) - 1.0);
                const auto want = oracle_solve(a, 1.0, b, 2);
                for (const Policy& scheme : schemes_for(c))
                    for (const Analysis analysis : {Analysis::device, Analysis::host}) {
                        const std::string what =
                            name + ", " + to_text(scheme) + (analysis == Analysis::host ? ", tasks of the host" : "");
                        if (!is_drawn(what, 50)) continue;
                        SCOPED_TRACE(what);
                        const auto plan = Plan<double>::make(c, there.view(), {.force = scheme, .analysis = analysis});
                        const auto b_there = to_device<double>(c, std::span<const double>(b));
                        Guarded<double> x(c, std::vector<double>(b.size(), std::numeric_limits<double>::quiet_NaN()));
                        plan.solve(1.0, b_there.span(), x.span());
                        plan.wait();
                        ASSERT_TRUE(within_bound(x.take(), want));
                    }
            }
        }
}

// Nodes of the CPU's levels are as large as a position can be, and larger ones are refused.
TEST_P(SptrsvLimitsOn, NodesOfTheCpuHaveUpTo4096Rows)
{
    const auto c = ctx();
    if (c.backend() != Backend::cpu || c.host().threads == 1) GTEST_SKIP() << "levels are of CPUs with several threads";
    std::vector<std::tuple<index_t, index_t, double>> entries;
    for (index_t i = 0; i < 9000; ++i) {
        if (i > 0) entries.emplace_back(i, i - 1, -1.0);
        entries.emplace_back(i, i, 1.0);
    }
    const auto chain = csr_of<double>(9000, 9000, entries);
    for (const Merge merge : {Merge::critical, Merge::fixed})
        for (const int rows : {255, 256, 257, 4095, 4096}) {
            const auto plan = Plan<double>::make(
                c, chain.view(), {.force = Policy{.kernel = Kernel::levels, .merge = merge, .rows = rows, .limit = 1}});
            std::vector<double> b(9000, 1.0), x(9000, 0.0);
            plan.solve(b, x);
            for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(x[i], static_cast<double>(i + 1)) << rows;
        }
    EXPECT_THROW(Plan<double>::make(c, chain.view(),
                                    {.force = Policy{.kernel = Kernel::levels, .merge = Merge::fixed, .rows = 4097}}),
                 ValueError);
}

// Rows, levels and places share a word of 64 bits, however many rows there are.
TEST(SptrsvLimits, WordsOfASweepHoldWhatTheyPromise)
{
    for (int bits = 0; bits <= 27; ++bits)
        for (const index_t rows : {(index_t{1} << bits) - 1, index_t{1} << bits, (index_t{1} << bits) + 1}) {
            if (rows < 1 || rows > most_rows_swept) continue;
            EXPECT_GE(offset_t{1} << row_bits_swept(rows), rows) << rows;
            EXPECT_LE(row_bits_swept(rows) + 2 * level_bits_swept(rows) + place_bits, 64) << rows;
            EXPECT_LT(offset_t{most_levels_swept(rows)}, offset_t{1} << level_bits_swept(rows)) << rows;
        }
    EXPECT_TRUE(can_take_nodes(most_rows_swept - 1, most_levels_swept(most_rows_swept - 1)));
    EXPECT_FALSE(can_take_nodes(most_rows_swept, 1));
    EXPECT_FALSE(can_take_nodes(1000, most_levels_swept(1000) < max_index ? most_levels_swept(1000) + 1 : max_index));
}

TULLE_ON_BACKENDS(SptrsvLimitsOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI::sptrsv
