// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// choose() is pure: these tests need no device.
#include "tulle/sptrsv.hpp"

#include <gtest/gtest.h>

#include "sptrsv/on_host.hpp"
#include "sptrsv/steps.hpp"
#include "tulle/error.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {
namespace {

Features deep(index_t levels)
{
    return {.rows = 100'000,
            .nonzeros = 1'000'000,
            .row_mean = 10,
            .row_longest = 20,
            .level_mean = 1e6 / levels,
            .levels = levels};
}

TEST(ChooseSptrsv, ClustersWhereTheyCutLevels)
{
    const std::vector<MergeEstimate> cut{{Merge::none, 1, 30'000, 100'000},
                                         {Merge::critical, 32, 1500, 4000},
                                         {Merge::fixed, 32, 2500, 3200}};
    EXPECT_EQ(choose(deep(30'000), cut, gpu).policy.merge, Merge::critical);
    const std::vector<MergeEstimate> uncut{{Merge::none, 1, 40, 100'000},
                                           {Merge::critical, 32, 38, 60'000},
                                           {Merge::fixed, 32, 300, 3200}};
    EXPECT_EQ(choose(deep(40), uncut, gpu).policy.merge, Merge::none);
}

// Few multiprocessors where levels are many and small, and only where asked for as long as nobody has measured them.
TEST(ChooseSptrsv, TakesARegimeOnlyWhereItIsPredictedToGain)
{
    Features narrow = deep(5000);
    narrow.rows = 20'000;
    narrow.nonzeros = 100'000;
    const std::vector<MergeEstimate> chains{{Merge::none, 1, 5000, 20'000}};
    Limits open = gpu;
    open.execution_scopes = true;
    EXPECT_EQ(choose(narrow, chains, gpu).policy.execution_scope, ExecutionScope::device);
    EXPECT_EQ(choose(narrow, chains, open).policy.execution_scope, ExecutionScope::block);
    EXPECT_NE(choose(narrow, chains, open).why.find("narrow enough for one block"), std::string::npos);
    Features larger = narrow;
    larger.rows = 200'000;  // does not fit into one block
    EXPECT_EQ(choose(larger, chains, open).policy.execution_scope, ExecutionScope::cluster);
    Limits no_clusters = open;
    no_clusters.cluster_blocks = 1;
    EXPECT_EQ(choose(larger, chains, no_clusters).policy.execution_scope, ExecutionScope::device);
    const std::vector<MergeEstimate> wide{{Merge::none, 1, 40, 100'000}};
    Features much = deep(40);
    much.nonzeros = 50'000'000;
    EXPECT_EQ(choose(much, wide, open).policy.execution_scope, ExecutionScope::device);
}

TEST(ChooseSptrsv, FindsLevelsOnTheGpuWhereTheyAreWide)
{
    EXPECT_GT(most_levels_on_device(80'000, 3'000'000), 500);
    EXPECT_GT(most_levels_on_device(200'000, 6'000'000), 140'000);
    EXPECT_LT(most_levels_on_device(100, 1000), 100);
    EXPECT_GT(most_levels_on_device(525'000, 525'000), 1025) << "rows with few entries cost the host as well";
    EXPECT_EQ(most_levels_on_device(0, 0), 0);
    for (const index_t rows : {1, 2, 3, 1000, 1 << 19, most_rows_swept - 1}) {
        EXPECT_LE(2 * level_bits_swept(rows) + place_bits + row_bits_swept(rows), 64) << rows;
        EXPECT_GT(index_t{1} << row_bits_swept(rows), rows - 1) << rows;
        EXPECT_GE(most_levels_swept(rows), std::min(rows, (1 << 16) - 1))
            << "a triangle of " << rows << " rows is given up";
    }
}

TEST(ChooseSptrsv, LooksForClustersWhereTheyCouldGainMoreThanTheyCost)
{
    Features narrow = deep(700), wide = deep(50);
    narrow.rows = wide.rows = 5'000;
    narrow.nonzeros = wide.nonzeros = 150'000;
    EXPECT_FALSE(has_wide_levels(narrow));
    EXPECT_TRUE(has_wide_levels(wide));
    EXPECT_TRUE(host_merge_pays(narrow, 106, 68e-6, 100));
    EXPECT_FALSE(host_merge_pays(narrow, 106, 68e-6, 10)) << "too few solves";
    EXPECT_FALSE(host_merge_pays(narrow, 22, 68e-6, 100)) << "32 rows each leave no fewer levels";
    EXPECT_FALSE(host_merge_pays(wide, 50, 68e-6, 100)) << "many nodes take the host longer";
}

TEST(ChooseSptrsv, KnowsHowManyUnknownsABlockHas)
{
    Policy s{.kernel = Kernel::tasks, .execution_scope = ExecutionScope::block};
    EXPECT_EQ(unknowns_of_a_block(s, 1), 32);
    EXPECT_EQ(unknowns_of_a_block(s, 64), 64);
    EXPECT_TRUE(fits(s, 27'000, 8, gpu));
    EXPECT_FALSE(fits(s, 29'000, 8, gpu));
    EXPECT_TRUE(fits(s, 29'000, 4, gpu));
    s.execution_scope = ExecutionScope::cluster;
    s.blocks = 8;
    EXPECT_EQ(unknowns_of_a_block(s, 257), 64);
    EXPECT_TRUE(fits(s, 200'000, 8, gpu));
    EXPECT_FALSE(fits(s, 300'000, 8, gpu));
    s.execution_scope = ExecutionScope::device;
    EXPECT_TRUE(fits(s, 2'000'000'000, 8, gpu));
}

TEST(ChooseSptrsv, LooksForClustersOnlyWhereEnoughSolvesFollow)
{
    EXPECT_FALSE(critical_merge_pays(deep(40), 1));
    EXPECT_TRUE(critical_merge_pays(deep(40), 1e6));
    EXPECT_TRUE(critical_merge_pays(deep(30'000), 10));
}

TEST(ChooseSptrsv, SharesLargeLevelsAmongThreadsOnly)
{
    const std::vector<MergeEstimate> any{{Merge::none, 1, 10, 100'000}};
    EXPECT_EQ(choose(deep(10), any, {Backend::cpu, 8}).policy.kernel, Kernel::levels);
    EXPECT_EQ(choose(deep(50'000), any, {Backend::cpu, 8}).policy.kernel, Kernel::serial);
    EXPECT_EQ(choose(deep(10), any, {Backend::cpu, 1}).policy.kernel, Kernel::serial);
}

TEST(ChooseSptrsv, SharesLevelsOnlyWithAMarginAndOnAnIdleMachine)
{
    Limits two{.backend = Backend::cpu, .threads = 2};
    EXPECT_EQ(choose(deep(10), {}, two).policy.kernel, Kernel::levels);
    EXPECT_EQ(choose(deep(400), {}, two).policy.kernel, Kernel::serial)
        << "2500 entries of a level are not shared by two threads";
    two.sync_latency = 100e-6;
    const Choice busy = choose(deep(10), {}, two);
    EXPECT_EQ(busy.policy.kernel, Kernel::serial);
    EXPECT_NE(busy.why.find("busy"), std::string::npos) << busy.why;
    two.sync_latency = 30e-6;
    EXPECT_EQ(choose(deep(10), {}, two).policy.kernel, Kernel::serial)
        << "0.3 ms less of 1.5 ms are too little to trust a prediction";
    EXPECT_GT(measure_sync_latency(2), 0);
    EXPECT_EQ(measure_sync_latency(1), Limits{}.sync_latency);
}

// As measured with 16 threads: nodes that leave 1001 of 12503 levels took twice as long as one thread, nodes of three
// unknowns a third as long.
TEST(ChooseSptrsv, MergesNodesForThreadsWhereWaitsAreNotTheMost)
{
    Limits many{.backend = Backend::cpu, .threads = 16};
    many.sync_latency = 0.25e-6;
    const Features econ{.rows = 206'500, .nonzeros = 740'000, .row_mean = 3.6, .level_mean = 59, .levels = 12'503};
    EXPECT_EQ(choose(econ, {{Merge::critical, 32, 1001, 12'000}}, many).policy.kernel, Kernel::serial);
    const Features fem{.rows = 10'125, .nonzeros = 357'000, .row_mean = 35, .level_mean = 1200, .levels = 297};
    const Choice merged = choose(fem, {{Merge::critical, 32, 48, 800}}, many);
    EXPECT_EQ(merged.policy.kernel, Kernel::levels);
    EXPECT_EQ(merged.policy.merge, Merge::critical);
    EXPECT_EQ(choose(fem, {{Merge::critical, 32, 290, 9000}}, many).policy.merge, Merge::none) << "nothing gained";
    const Features mesh{.rows = 258'000, .nonzeros = 1'300'000, .row_mean = 5, .level_mean = 29'000, .levels = 44};
    EXPECT_EQ(choose(mesh, {}, many).policy.kernel, Kernel::levels);
}

TEST(ChooseSptrsv, OffersOnlyWhatWorks)
{
    const Limits no_clusters{.backend = Backend::cuda, .cluster_blocks = 1},
        small{.backend = Backend::cuda, .multiprocessors = 4, .cluster_blocks = 4};
    for (const Limits& limits : {gpu, no_clusters, small, Limits{Backend::cpu, 1}, Limits{Backend::cpu, 8}}) {
        for (const Policy& s : candidates(limits)) EXPECT_NO_THROW(check_policy(s, limits)) << to_text(s);
        EXPECT_FALSE(candidates(limits).empty());
    }
    for (const Policy& s : ag_sptrsv_reduced_policies()) EXPECT_NO_THROW(check_policy(s, gpu)) << to_text(s);
    const std::vector<Policy> paper = ag_sptrsv_policies();
    EXPECT_EQ(paper.size(), 33u * 3 * 18 * 2 * 30)
        << "33 pairs of n_g and sw_rnnz, 3 n_w, 18 merges, 2 orders, 30 schedules";
    for (std::size_t k = 0; k < paper.size(); k += 997)
        EXPECT_NO_THROW(check_policy(paper[k], gpu)) << to_text(paper[k]);
    EXPECT_THROW(check_policy({.kernel = Kernel::groups, .merge = Merge::critical, .rows = 4}, gpu), ValueError);
    EXPECT_THROW(check_policy({.kernel = Kernel::groups, .merge = Merge::fixed, .subwarps = 3}, gpu), ValueError);
    EXPECT_THROW(check_policy({.kernel = Kernel::serial}, gpu), ValueError);
    EXPECT_THROW(check_policy({.kernel = Kernel::tasks, .rows = 33}, gpu), ValueError);
    EXPECT_THROW(check_policy({.kernel = Kernel::tasks, .warps = 0}, gpu), ValueError);
    EXPECT_THROW(check_policy({.kernel = Kernel::tasks, .warps = 32, .execution_scope = ExecutionScope::block}, gpu),
                 ValueError);
    EXPECT_THROW(
        check_policy(
            {.kernel = Kernel::tasks, .warps_per_task = 4, .warps = 6, .execution_scope = ExecutionScope::block}, gpu),
        ValueError);
    EXPECT_THROW(check_policy({.kernel = Kernel::tasks,
                               .merge = Merge::critical,
                               .rows = 32,
                               .warps = 16,
                               .execution_scope = ExecutionScope::block},
                              gpu),
                 ValueError);
    EXPECT_THROW(check_policy({.kernel = Kernel::groups,
                               .merge = Merge::fixed,
                               .warps = 8,
                               .execution_scope = ExecutionScope::block},
                              gpu),
                 ValueError);
    EXPECT_THROW(
        check_policy({.kernel = Kernel::tasks, .warps = 8, .execution_scope = ExecutionScope::cluster, .blocks = 3},
                     gpu),
        ValueError);
    EXPECT_THROW(
        check_policy({.kernel = Kernel::tasks, .warps = 8, .execution_scope = ExecutionScope::cluster, .blocks = 32},
                     gpu),
        ValueError);
}

}  // namespace
}  // namespace tulle::inline TULLE_ABI::sptrsv
