// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// choose() is pure: these tests need no device.
#include "tulle/sptrsv/policy.hpp"

#include <gtest/gtest.h>

#include "sptrsv/on_host.hpp"
#include "tulle/base/error.hpp"

namespace tulle::sptrsv {
namespace {

Features deep(index_t levels) { return {.rows = 100'000, .nonzeros = 1'000'000, .row_mean = 10, .row_longest = 20, .level_mean = 1e6 / levels, .levels = levels}; }

TEST(ChooseSptrsv, ClustersWhereTheyCutLevels)
{
    const std::vector<Outlook> cut{{Merge::none, 1, 30'000, 100'000}, {Merge::critical, 32, 1500, 4000}, {Merge::fixed, 32, 2500, 3200}};
    EXPECT_EQ(choose(deep(30'000), cut, gpu).scheme.merge, Merge::critical);
    const std::vector<Outlook> uncut{{Merge::none, 1, 40, 100'000}, {Merge::critical, 32, 38, 60'000}, {Merge::fixed, 32, 300, 3200}};
    EXPECT_EQ(choose(deep(40), uncut, gpu).scheme.merge, Merge::none);
}

TEST(ChooseSptrsv, LooksForClustersOnlyWhereEnoughSolvesFollow)
{
    EXPECT_FALSE(worth_clusters(deep(40), 1));
    EXPECT_TRUE(worth_clusters(deep(40), 1e6));
    EXPECT_TRUE(worth_clusters(deep(30'000), 10));
}

TEST(ChooseSptrsv, SharesLargeLevelsAmongThreadsOnly)
{
    const std::vector<Outlook> any{{Merge::none, 1, 10, 100'000}};
    EXPECT_EQ(choose(deep(10), any, {Backend::cpu, 8}).scheme.kernel, Kernel::levels);
    EXPECT_EQ(choose(deep(50'000), any, {Backend::cpu, 8}).scheme.kernel, Kernel::serial);
    EXPECT_EQ(choose(deep(10), any, {Backend::cpu, 1}).scheme.kernel, Kernel::serial);
}

TEST(ChooseSptrsv, OffersOnlyWhatWorks)
{
    for (const Limits& limits : {gpu, Limits{Backend::cpu, 1}, Limits{Backend::cpu, 8}}) {
        for (const Scheme& s : candidates(limits)) EXPECT_NO_THROW(check_scheme(s, limits)) << to_text(s);
        EXPECT_FALSE(candidates(limits).empty());
    }
    for (const Scheme& s : reduced_schemes()) EXPECT_NO_THROW(check_scheme(s, gpu)) << to_text(s);
    const std::vector<Scheme> paper = paper_schemes();
    EXPECT_EQ(paper.size(), 33u * 3 * 18 * 2 * 30) << "33 pairs of n_g and sw_rnnz, 3 n_w, 18 merges, 2 orders, 30 schedules";
    for (std::size_t k = 0; k < paper.size(); k += 997) EXPECT_NO_THROW(check_scheme(paper[k], gpu)) << to_text(paper[k]);
    EXPECT_THROW(check_scheme({.kernel = Kernel::groups, .merge = Merge::critical, .rows = 4}, gpu), ValueError);
    EXPECT_THROW(check_scheme({.kernel = Kernel::groups, .merge = Merge::fixed, .subwarps = 3}, gpu), ValueError);
    EXPECT_THROW(check_scheme({.kernel = Kernel::serial}, gpu), ValueError);
    EXPECT_THROW(check_scheme({.kernel = Kernel::tasks, .rows = 33}, gpu), ValueError);
    EXPECT_THROW(check_scheme({.kernel = Kernel::tasks, .warps = 0}, gpu), ValueError);
}

}  // namespace
}  // namespace tulle::sptrsv
