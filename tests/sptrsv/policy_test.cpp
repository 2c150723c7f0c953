// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// choose() is pure: these tests need no device.
#include "tulle/sptrsv/policy.hpp"

#include <gtest/gtest.h>

#include "tulle/base/error.hpp"

namespace tulle::sptrsv {
namespace {

constexpr Limits gpu{.backend = Backend::cuda, .threads = 1, .multiprocessors = 132};

Features deep(index_t levels) { return {.rows = 100'000, .nonzeros = 1'000'000, .row_mean = 10, .row_longest = 20, .level_mean = 1e6 / levels, .levels = levels}; }

TEST(ChooseSptrsv, ClustersWhereTheyCutLevels)
{
    const std::vector<Outlook> cut{{Merge::none, 1, 30'000, 100'000}, {Merge::critical, 32, 1500, 4000}, {Merge::fixed, 32, 2500, 3200}};
    EXPECT_EQ(choose(deep(30'000), cut, gpu).scheme.merge, Merge::critical);
    const std::vector<Outlook> uncut{{Merge::none, 1, 40, 100'000}, {Merge::critical, 32, 38, 60'000}, {Merge::fixed, 32, 300, 3200}};
    EXPECT_EQ(choose(deep(40), uncut, gpu).scheme.merge, Merge::none);
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
    EXPECT_THROW(check_scheme({.kernel = Kernel::serial}, gpu), ValueError);
    EXPECT_THROW(check_scheme({.kernel = Kernel::tasks, .rows = 33}, gpu), ValueError);
    EXPECT_THROW(check_scheme({.kernel = Kernel::tasks, .warps = 0}, gpu), ValueError);
}

}  // namespace
}  // namespace tulle::sptrsv
