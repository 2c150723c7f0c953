// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// choose() without any device.
#include <gtest/gtest.h>

#include <algorithm>

#include "tulle/spmm.hpp"

namespace tulle::inline TULLE_ABI::spmm {
namespace {

constexpr Limits gpu{Backend::cuda}, cpu{Backend::cpu};

// A matrix whose 64-row panels use every row of B `reuse` times.
Features traits_of(offset_t nonzeros, double reuse, index_t n = 128)
{
    Features t{
        .rows = 10'000, .cols = 10'000, .nonzeros = nonzeros, .longest = 100, .n = n, .value_bytes = 2, .tensor = true};
    t.cost = {.pairs = static_cast<offset_t>(static_cast<double>(nonzeros) / reuse),
              .tiles = nonzeros / 8,
              .panels = 157,
              .nonzeros = nonzeros};
    return t;
}

TEST(SpmmPolicy, PanelsWhereRowsShareColumns)
{
    EXPECT_EQ(choose(traits_of(1'000'000, 6), gpu).policy.kernel, Kernel::panels);
    EXPECT_EQ(choose(traits_of(1'000'000, 1.1), gpu).policy.kernel, Kernel::rows);
    Features many = traits_of(1'000'000, 1.8);
    EXPECT_EQ(choose(many, gpu).policy.kernel, Kernel::rows) << "B stays in the cache";
    many.cols = 100'000;
    EXPECT_EQ(choose(many, gpu).policy.kernel, Kernel::panels);
    EXPECT_EQ(choose(traits_of(1'000'000, 6), cpu).policy, (Policy{Kernel::rows, 1, OrderKind::natural}));
    EXPECT_EQ(choose(traits_of(1'000'000, 6, 8), gpu).policy.kernel, Kernel::rows) << "too few columns";
    Features exact = traits_of(1'000'000, 6), once = exact, twice = exact, packed = exact;
    exact.tensor = false;
    once.expected_calls = 1;
    twice.unique = false;
    packed.order = OrderKind::pack;
    packed.rows = 100'000;
    EXPECT_EQ(choose(exact, gpu).policy.kernel, Kernel::rows);
    EXPECT_EQ(choose(once, gpu).policy.kernel, Kernel::rows);
    EXPECT_EQ(choose(twice, gpu).policy.kernel, Kernel::rows);
    EXPECT_EQ(choose(packed, gpu).policy, (Policy{Kernel::panels, 1, OrderKind::pack, 128}));
}

TEST(SpmmPolicy, AsManyLanesAsThereAreColumns)
{
    for (const auto& [n, lanes] : std::vector<std::pair<index_t, int>>{
             {0, 2}, {1, 2}, {8, 2}, {9, 8}, {32, 8}, {33, 32}, {128, 32}, {1000, 32}}) {
        Features t = traits_of(50'000, 1, n);
        t.tensor = false;
        t.value_bytes = 4;
        t.longest = 5;
        EXPECT_EQ(choose(t, gpu).policy.lanes, lanes) << n;
    }
    EXPECT_EQ(choose(traits_of(1000, 1, 33), gpu).policy.lanes, 32) << "numbers of 16 bits";
    const auto lanes = [](index_t rows, offset_t nonzeros, offset_t longest) {
        return policy_of(
                   Kernel::rows,
                   {.rows = rows, .cols = rows, .nonzeros = nonzeros, .longest = longest, .n = 32, .value_bytes = 4},
                   gpu)
            .lanes;
    };
    EXPECT_EQ(lanes(24 * gpu.multiprocessors, 20'000, 20), 32) << "a warp for each of few rows";
    EXPECT_EQ(lanes(24 * gpu.multiprocessors + 1, 20'000, 8), 8);
    EXPECT_EQ(lanes(2000, 8000, 4), 8) << "G33: nothing to share in a row of four nonzeros";
    EXPECT_EQ(lanes(8297, 103'689, 893), 8) << "wiki-Vote";
}

// Slices share the nonzeros of rows that are too few for all multiprocessors, or long.
TEST(SpmmPolicy, LanesBeyondTheColumnsShareARow)
{
    const auto rows_of = [](index_t rows, offset_t nonzeros, offset_t longest, index_t n, std::size_t bytes = 4) {
        const Policy p = policy_of(
            Kernel::rows,
            {.rows = rows, .cols = rows, .nonzeros = nonzeros, .longest = longest, .n = n, .value_bytes = bytes}, gpu);
        return std::pair{p.lanes, p.piece};
    };
    EXPECT_EQ(rows_of(2000, 39'980, 40, 8), (std::pair{8, 0})) << "G31";
    EXPECT_EQ(rows_of(2000, 39'980, 40, 32), (std::pair{32, 0})) << "G31";
    EXPECT_EQ(rows_of(2000, 23'570, 279, 32, 8), (std::pair{128, 0})) << "G37: a block for each of few long rows";
    EXPECT_EQ(rows_of(1024, 32'768, 32, 128), (std::pair{32, 0})) << "gc_dnn: 3.4 us, 4.0 by a block for each row";
    EXPECT_EQ(rows_of(11'948, 149'090, 49, 32), (std::pair{8, 0})) << "bcsstk18: 5.3 us, 7.8 by a warp for each row";
    EXPECT_EQ(rows_of(4929, 33'111, 44, 32), (std::pair{8, 0})) << "gemat12: 3.9 us, 4.7 by a warp for each row";
    EXPECT_GT(rows_of(25, 129'018, 10'500, 8).second, 0) << "netlib_fit2d";
    EXPECT_GT(rows_of(25, 129'018, 10'500, 32).second, 0) << "netlib_fit2d: more than one block for a row";
    EXPECT_EQ(rows_of(10'000, 40'000, 4, 8), (std::pair{2, 0})) << "G67";
    EXPECT_EQ(rows_of(48'600, 1'181'120, 27, 32), (std::pair{8, 0})) << "xenon1: blocks enough, and rows too short";
    EXPECT_EQ(rows_of(34'920, 4'644'230, 438, 32), (std::pair{32, 0})) << "ship_001_pattern: many, but long";
    EXPECT_GT(rows_of(10'000, 158'304, 123, 128, 8).second, 0) << "Fashion: 24.6 to 27.2 us by lines, 31.2 by rows";
    Features exact{.rows = 37, .cols = 37, .nonzeros = 233, .longest = 10, .n = 128, .value_bytes = 4};
    exact.cost.pairs = 37;
    EXPECT_EQ(choose(exact, gpu).policy.kernel, Kernel::rows) << "cage5: done before a dense panel has begun";
}

// A graph with hubs, one with short rows, and meshes: lines where one row would take longer than all others, or rows
// are too short to hide what they wait for.
TEST(SpmmPolicy, LinesWhereRowsAreUnevenOrShort)
{
    const auto piece = [](index_t rows, offset_t nonzeros, offset_t longest, index_t n, const Limits& limits = gpu) {
        return policy_of(
                   Kernel::rows,
                   {.rows = rows, .cols = rows, .nonzeros = nonzeros, .longest = longest, .n = n, .value_bytes = 4},
                   limits)
            .piece;
    };
    EXPECT_EQ(piece(10'000, 158'304, 123, 128), 48) << "Fashion, 28 warps a multiprocessor";
    EXPECT_EQ(piece(36'692, 367'662, 1383, 32), 32) << "email-Enron";
    EXPECT_EQ(piece(36'692, 367'662, 1383, 128), 64) << "email-Enron";
    EXPECT_EQ(piece(1'000'005, 3'105'339, 4700, 128), 64) << "webbase-1M";
    EXPECT_EQ(piece(62'451, 4'007'383, 78, 128), 0) << "cant";
    EXPECT_EQ(piece(121'192, 2'631'245, 81, 128), 0) << "cop20k_A";
    EXPECT_EQ(piece(10'000, 158'304, 123, 32, cpu), 0);
    EXPECT_EQ(piece(0, 0, 0, 32), 0);
    EXPECT_EQ(
        policy_of(Kernel::rows,
                  {.rows = 13'000, .cols = 13'000, .nonzeros = 180'000, .longest = 200, .n = 128, .value_bytes = 8},
                  gpu)
            .piece,
        64)
        << "24 warps a multiprocessor";
    EXPECT_EQ(
        policy_of(Kernel::rows,
                  {.rows = 13'000, .cols = 13'000, .nonzeros = 180'000, .longest = 200, .n = 128, .value_bytes = 2},
                  gpu)
            .piece,
        48)
        << "32 warps a multiprocessor";
    EXPECT_EQ(piece(1000, 3000, 9, 128), 0) << "taken together, short rows would leave multiprocessors without work";
    EXPECT_EQ(piece(206'500, 1'273'389, 44, 128), 64) << "mac_econ";
}

// Wide blocks where B is wide and there are enough of them.
TEST(SpmmPolicy, AsWideAsThereAreBlocksFor)
{
    for (const auto& [rows, n, width] : std::vector<std::tuple<index_t, index_t, int>>{{100'000, 128, 128},
                                                                                       {100'000, 65, 128},
                                                                                       {100'000, 64, 64},
                                                                                       {100'000, 33, 64},
                                                                                       {100'000, 32, 32},
                                                                                       {2048, 128, 32},
                                                                                       {25'000, 128, 64}}) {
        Features t = traits_of(1'000'000, 6, n);
        t.rows = rows;
        t.cols = 100'000;
        EXPECT_EQ(choose(t, gpu).policy.width, width) << rows << " rows, " << n << " columns";
    }
}

// What is small is done by rows before panels have begun; tf32 needs more reuse than numbers of 16 bits.
TEST(SpmmPolicy, RowsForTheSmallAndTheWide)
{
    Features small = traits_of(20'000, 6), dense = traits_of(400'000, 6), hub = small, tf32 = traits_of(1'000'000, 4);
    small.rows = dense.rows = hub.rows = 1000;
    dense.cols = 100'000;
    hub.longest = 1000;
    small.longest = 60;
    tf32.value_bytes = 4;
    EXPECT_EQ(choose(small, gpu).policy.kernel, Kernel::rows);
    EXPECT_EQ(choose(dense, gpu).policy.kernel, Kernel::panels);
    EXPECT_EQ(choose(hub, gpu).policy.kernel, Kernel::panels);
    EXPECT_EQ(choose(tf32, gpu).policy.kernel, Kernel::rows);
    tf32.cost.pairs /= 2;
    EXPECT_EQ(choose(tf32, gpu).policy.kernel, Kernel::panels);
    EXPECT_EQ(policy_of(Kernel::panels, small, gpu), (Policy{Kernel::panels, 1, OrderKind::natural, 32}));
    for (const auto& [reuse, kernel] :
         {std::pair{1.61, Kernel::rows}, std::pair{1.75, Kernel::panels}}) {  // webbase-1M, mac_econ
        Features many = traits_of(3'000'000, reuse);
        many.rows = many.cols = 1'000'000;
        EXPECT_EQ(choose(many, gpu).policy.kernel, kernel) << reuse;
    }
}

// Where panels need most rows of B they take all; in as many parts as there are multiprocessors for, and as have
// something to do.
TEST(SpmmPolicy, DenseWhereMostRowsOfBAreNeeded)
{
    const auto pruned = [](index_t rows, index_t cols, double share, index_t n = 128) {
        Features t = traits_of(offset_t{rows} * cols / 4, 1, n);
        t.rows = rows;
        t.cols = cols;
        t.longest = cols / 2;
        t.cost.pairs = static_cast<offset_t>(share * ((rows + 63) / 64) * cols);
        return choose(t, gpu).policy;
    };
    const auto dense = [](int width, int parts) { return Policy{Kernel::dense, 1, OrderKind::natural, width, parts}; };
    EXPECT_EQ(pruned(512, 512, 0.9), dense(32, 2));
    EXPECT_EQ(pruned(256, 2304, 0.9), dense(32, 8));
    EXPECT_EQ(pruned(512, 256, 0.9), dense(32, 1)) << "sixteen chunks";
    EXPECT_EQ(pruned(2048, 512, 0.9), dense(32, 1)) << "two blocks of a multiprocessor took 4.6 us instead of 3.6";
    EXPECT_EQ(pruned(2048, 1024, 0.9), dense(64, 2)) << "5.2 us, narrow blocks 5.6 and 5.9";
    EXPECT_EQ(pruned(1200, 1024, 0.9), dense(64, 2));
    EXPECT_EQ(pruned(1000, 2048, 0.9), dense(32, 2));
    EXPECT_EQ(pruned(512, 2048, 0.9), dense(32, 4));
    EXPECT_EQ(pruned(20'000, 1024, 0.9), dense(64, 1));
    EXPECT_EQ(pruned(512, 512, 0.4).kernel, Kernel::dense);
    EXPECT_EQ(policy_of(Kernel::dense, traits_of(1000, 1), {Backend::cuda, 132, false}).parts, 1)
        << "a GPU without clusters";
    EXPECT_THROW(check_policy(dense(32, 2), traits_of(1000, 1), {Backend::cuda, 132, false}), ValueError);
    EXPECT_EQ(pruned(512, 512, 0.2).kernel, Kernel::panels);
    EXPECT_EQ(pruned(20'000, 1024, 0.5).kernel, Kernel::panels);
    Features even = traits_of(39'980, 1);  // G31: short rows are done sooner than all columns
    even.rows = even.cols = 2000;
    even.longest = 40;
    even.cost.pairs = 29'800;
    EXPECT_EQ(choose(even, gpu).policy.kernel, Kernel::rows);
}

// Matrices that were multiplied slower on tensor cores than row by row (graph times of an H200, 128 columns).
TEST(SpmmPolicy, RowsWhereTensorCoresTakeLonger)
{
    const auto choice = [](index_t rows, offset_t nonzeros, offset_t longest, offset_t pairs, std::size_t bytes,
                           index_t n = 128) {
        Features t{.rows = rows,
                   .cols = rows,
                   .nonzeros = nonzeros,
                   .longest = longest,
                   .n = n,
                   .value_bytes = bytes,
                   .tensor = true};
        t.cost.pairs = pairs;
        return choose(t, gpu).policy;
    };
    EXPECT_EQ(choice(769, 17'801, 61, 5251, 4).kernel, Kernel::rows) << "Si2, tf32: 3.1 us, 7.3 by dense panels";
    EXPECT_EQ(choice(113, 655, 20, 159, 4).kernel, Kernel::rows) << "gent113: 1.5 us, 2.9";
    EXPECT_EQ(choice(130, 1282, 124, 209, 2).kernel, Kernel::dense) << "arc130";
    EXPECT_GT(choice(46'500, 139'498, 46'500, 70'839, 2, 256).piece, 0) << "arrow: 38 us, 177 by panels";
    EXPECT_EQ(choice(2003, 83'883, 95, 8322, 2), (Policy{Kernel::rows, 32, OrderKind::natural, 0, 1, 32}))
        << "bcsstk13: 6.9 us, 10.0 by a block for each row";
}

// Full precision: floats and doubles, where all columns take less time than rows one by one.
TEST(SpmmPolicy, DenseInFullPrecisionWhereItIsFaster)
{
    const auto features = [](index_t rows, index_t cols, double full, std::size_t bytes) {
        Features t{.rows = rows,
                   .cols = cols,
                   .nonzeros = static_cast<offset_t>(full * rows * cols),
                   .longest = static_cast<offset_t>(full * cols * 1.3),
                   .n = 128,
                   .value_bytes = bytes};
        t.cost.pairs = std::min(t.nonzeros, offset_t{(rows + 63) / 64} * cols);
        return t;
    };
    const auto choice = [&](index_t rows, index_t cols, double full, std::size_t bytes, const Limits& limits = gpu) {
        const Features t = features(rows, cols, full, bytes);
        const Policy policy = choose(t, limits).policy;
        if (policy.kernel == Kernel::dense) {
            EXPECT_TRUE(wants_cost(t, limits)) << "otherwise nobody counts";
        }
        return policy;
    };
    const auto dense = [](int width, int parts, int clusters = 1) {
        return Policy{Kernel::dense, 1, OrderKind::natural, width, parts, 0, clusters};
    };
    EXPECT_EQ(choice(2048, 512, 0.5, 4), dense(64, 2)) << "pruned weights: 8.3 us, 9.2 by 32 columns in one part";
    EXPECT_EQ(choice(2048, 1024, 0.5, 4), dense(64, 2)) << "13.5 us, 16.0";
    EXPECT_EQ(choice(2048, 1024, 0.5, 8), dense(32, 2)) << "15.8 us, 21.6 in one part";
    EXPECT_EQ(choice(1000, 2048, 0.5, 8), dense(32, 2, 2)) << "17.3 us, 21.1 in one cluster";
    EXPECT_EQ(choice(512, 2048, 0.3, 4), dense(32, 2, 4)) << "9.8 us, 10.1 with two clusters, 12.5 with eight parts";
    EXPECT_EQ(choice(512, 2048, 0.3, 4, {Backend::cuda, 132, false}), dense(32, 1, 4)) << "no clusters of blocks";
    EXPECT_EQ(choice(1000, 2048, 0.3, 4), dense(32, 2));
    EXPECT_EQ(choice(25, 10'500, 0.49, 4), dense(32, 2, 16)) << "netlib_fit2d";
    EXPECT_EQ(choice(25, 10'500, 0.49, 8), dense(32, 2, 16));
    Features narrow = features(25, 10'500, 0.49, 4);
    narrow.n = 8;
    EXPECT_EQ(choose(narrow, gpu).policy.kernel, Kernel::dense) << "8 columns take as long as 32";
    EXPECT_GT(choose(narrow, gpu).policy.clusters, 4);
    narrow.n = 10;
    EXPECT_EQ(choose(narrow, gpu).policy.kernel, Kernel::rows) << "rows of B are not whole pieces";
    EXPECT_EQ(choice(66, 66, 1, 8), dense(32, 4)) << "bcsstk02";
    EXPECT_EQ(choice(183, 183, 0.5, 4), dense(32, 4));
    EXPECT_EQ(choice(512, 512, 0.3, 4), dense(32, 4)) << "pruned weights";
    EXPECT_EQ(choice(512, 512, 0.1, 4).kernel, Kernel::rows) << "crowded clusters of four";
    EXPECT_EQ(choice(66, 66, 1, 8, {Backend::cuda, 132, true, false}).kernel, Kernel::rows) << "no such tensor cores";
    EXPECT_EQ(choice(66, 66, 1, 8, cpu).kernel, Kernel::rows);
    EXPECT_EQ(choice(1000, 1000, 0.02, 4).kernel, Kernel::rows) << "G45: short rows";
    EXPECT_EQ(choice(20'000, 20'000, 0.02, 4).kernel, Kernel::rows) << "all columns are fifty times as many";
    EXPECT_FALSE(wants_cost(features(10'000, 10'000, 0.002, 4), gpu)) << "panels cannot use enough rows of B";
    Features twice = features(2048, 512, 0.5, 4);
    twice.unique = false;
    EXPECT_EQ(choose(twice, gpu).policy.kernel, Kernel::rows);
}

TEST(SpmmPolicy, CountsPanelsOnlyWhereTheyCanBeUsed)
{
    Features seldom = traits_of(1'000'000, 2), twice = seldom;
    seldom.expected_calls = 10;
    twice.unique = false;
    EXPECT_TRUE(wants_cost(traits_of(1'000'000, 2), gpu));
    EXPECT_FALSE(wants_cost(traits_of(1'000'000, 2), cpu));
    EXPECT_FALSE(wants_cost(traits_of(0, 1), gpu));
    EXPECT_FALSE(wants_cost(traits_of(1'000'000, 2, 4), gpu));
    EXPECT_FALSE(wants_cost(seldom, gpu));
    EXPECT_FALSE(wants_cost(twice, gpu));
}

TEST(SpmmPolicy, ForcedPoliciesMustBePossible)
{
    const Features t = traits_of(1000, 2);
    for (const Policy& p : candidates(t, gpu)) EXPECT_NO_THROW(check_policy(p, t, gpu)) << to_text(p);
    EXPECT_EQ(candidates(t, gpu).size(), 65u);
    EXPECT_EQ(candidates(t, cpu).size(), 6u);
    EXPECT_NO_THROW(check_policy(policy_of(Kernel::tiles, t, cpu), t, cpu));
    EXPECT_NO_THROW(check_policy(policy_of(Kernel::tiles, t, gpu), t, gpu));
    EXPECT_THROW(check_policy({Kernel::panels, 1, OrderKind::natural, 128}, t, cpu), ValueError);
    EXPECT_THROW(check_policy({Kernel::rows, 3, OrderKind::natural}, t, gpu), ValueError);
    EXPECT_NO_THROW(check_policy({Kernel::dense, 1, OrderKind::natural, 32, 2, 0, 64}, t, gpu));
    EXPECT_THROW(check_policy({Kernel::dense, 1, OrderKind::natural, 32, 2, 0, 128}, t, gpu), ValueError);
    EXPECT_NO_THROW(check_policy({Kernel::dense, 1, OrderKind::natural, 64, 2, 0, 2}, t, gpu));
    EXPECT_THROW(check_policy({Kernel::dense, 1, OrderKind::natural, 128, 2, 0, 2}, t, gpu), ValueError);
    EXPECT_THROW(check_policy({Kernel::dense, 1, OrderKind::natural, 32, 2, 0, 3}, t, gpu), ValueError);
    EXPECT_NO_THROW(check_policy({Kernel::rows, 8, OrderKind::natural, 0, 1, 64}, t, gpu));
    EXPECT_THROW(check_policy({Kernel::rows, 8, OrderKind::natural, 0, 1, 40}, t, gpu), ValueError);
    EXPECT_THROW(check_policy({Kernel::rows, 1, OrderKind::natural, 0, 1, 64}, t, cpu), ValueError);
    EXPECT_THROW(check_policy({Kernel::panels, 1, OrderKind::natural, 128, 1, 64}, t, gpu), ValueError);
    EXPECT_NO_THROW(check_policy({Kernel::tiles, 32, OrderKind::bsa, 32, 1, 64}, t, gpu))
        << "the rest may be cut in any way";
    EXPECT_THROW(check_policy({Kernel::tiles, 32, OrderKind::bsa, 32, 1, 16}, t, gpu), ValueError);
    EXPECT_NO_THROW(check_policy({Kernel::tiles, 128, OrderKind::bsa, 32}, t, gpu));
    EXPECT_THROW(check_policy({Kernel::tiles, 128, OrderKind::bsa, 32, 1, 64}, t, gpu), ValueError);
    EXPECT_THROW(check_policy({Kernel::rows, 128, OrderKind::natural, 0, 1, 64}, t, gpu), ValueError)
        << "a line is for a warp at most";
    Features twice = t;
    twice.unique = false;
    EXPECT_THROW(check_policy({Kernel::panels, 1, OrderKind::natural, 128}, twice, gpu), ValueError);
}

TEST(SpmmPolicy, NamesAreReadBack)
{
    for (const Kernel kernel : {Kernel::rows, Kernel::panels, Kernel::dense, Kernel::tiles})
        EXPECT_EQ(parse_kernel(to_text(kernel)), kernel);
    EXPECT_THROW(parse_kernel("bricks"), ValueError);
    EXPECT_EQ(to_text(Policy{Kernel::rows, 8, OrderKind::natural}), "rows, 8 lanes");
    EXPECT_EQ(to_text(Policy{Kernel::rows, 8, OrderKind::natural, 0, 1, 32}), "rows, 8 lanes, lines of 32");
    EXPECT_EQ(to_text(Policy{Kernel::rows, 1, OrderKind::natural}), "rows");
    EXPECT_EQ(to_text(Policy{Kernel::tiles, 8, OrderKind::bsa, 32}), "tiles of 32 and rest, bsa order");
    EXPECT_EQ(to_text(Policy{Kernel::panels, 1, OrderKind::bsa, 64}), "panels of 64, bsa order");
    EXPECT_EQ(to_text(Policy{Kernel::dense, 1, OrderKind::natural, 64, 8}), "dense, 64 columns, 8 parts");
    EXPECT_EQ(to_text(Policy{Kernel::dense, 1, OrderKind::natural, 32, 2, 0, 4}),
              "dense, 32 columns, 2 parts, 4 clusters");
}

}  // namespace
}  // namespace tulle::inline TULLE_ABI::spmm
