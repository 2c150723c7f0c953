// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// choose() is pure: these tests need no device.
#include "tulle/spmv/policy.hpp"

#include <gtest/gtest.h>

#include "tulle/base/error.hpp"

namespace tulle::spmv {
namespace {

constexpr Limits gpu{Backend::cuda, 1};
constexpr Limits cpu8{Backend::cpu, 8};

Traits even_rows(double mean)
{
    Traits t{};
    t.row = {.rows = 1000, .cols = 1000, .nonzeros = static_cast<offset_t>(1000 * mean), .longest = static_cast<offset_t>(mean) + 1, .mean = mean};
    return t;
}

TEST(ChooseSpmv, GivesLongRowsMoreLanes)
{
    EXPECT_EQ(choose(even_rows(2), gpu).policy.lanes, 1);
    EXPECT_EQ(choose(even_rows(200), gpu).policy.lanes, 32);
    int before = 0;
    for (double mean = 1; mean < 300; mean *= 1.5) {
        const Policy p = choose(even_rows(mean), gpu).policy;
        EXPECT_EQ(p.kernel, Kernel::rows);
        EXPECT_GE(p.lanes, before);
        before = p.lanes;
    }
}

TEST(ChooseSpmv, StreamsOrSplitsWhereOneRowIsMuchLonger)
{
    Traits t = even_rows(5);
    t.row.rows = 1'000'005;
    t.row.nonzeros = 5'000'000;
    t.row.longest = 4700;
    EXPECT_EQ(choose(t, gpu).policy.kernel, Kernel::stream);
    EXPECT_EQ(choose(t, cpu8).policy.kernel, Kernel::rows) << "a thousandth of the work in one row holds nobody up";
    t.reused = false;
    EXPECT_EQ(choose(t, gpu).policy.kernel, Kernel::split) << "used once, it is not worth preparing";
    t.row.longest = 1'000'000;
    EXPECT_EQ(choose(t, gpu).policy.kernel, Kernel::split);
    EXPECT_EQ(choose(t, cpu8).policy.kernel, Kernel::split);
    EXPECT_EQ(choose(t, {Backend::cpu, 1}).policy.kernel, Kernel::rows) << "one thread has nobody to wait for";
}

TEST(ChooseSpmv, GivesSmallMatricesWithALongRowMoreLanesInsteadWhenUsedOnce)
{
    Traits t = even_rows(7);
    t.row.longest = 574;
    t.reused = false;
    EXPECT_EQ(choose(t, gpu).policy, (Policy{Kernel::rows, 16, false}));
}

TEST(ChooseSpmv, GroupsRowsWithTheSameColumns)
{
    Traits t = even_rows(60);
    t.row.repeats = 667;
    EXPECT_EQ(choose(t, gpu).policy, (Policy{Kernel::groups, 16, false}));
    t.row.nonzeros = 50'000'000;
    EXPECT_EQ(choose(t, gpu).policy, (Policy{Kernel::groups, 32, false})) << "more than the L2 holds";
    t.row.mean = 20;
    EXPECT_EQ(choose(t, gpu).policy, (Policy{Kernel::groups, 8, false}));
    t.row.longest = 100'000;
    EXPECT_NE(choose(t, gpu).policy.kernel, Kernel::groups) << "nobody waits for a giant";
    t.row.longest = 61;
    t.row.repeats = 100;
    EXPECT_NE(choose(t, gpu).policy.kernel, Kernel::groups);
}

TEST(ChooseSpmv, SlicesWhereRowsFollowEachOther)
{
    Traits t = even_rows(7);
    t.row.shifts = 900;
    t.row.padded = 7100;
    EXPECT_EQ(choose(t, gpu).policy.kernel, Kernel::sell);
    t.row.padded = 9000;
    EXPECT_NE(choose(t, gpu).policy.kernel, Kernel::sell) << "too much padding";
    t.row.padded = 7100;
    t.reused = false;
    EXPECT_NE(choose(t, gpu).policy.kernel, Kernel::sell);
}

TEST(ChooseSpmv, CpusTakeTwoSumsOrSlicesWhereRowsAreShortForAVector)
{
    Traits t = even_rows(6);
    t.row.longest = 40;
    EXPECT_EQ(choose(t, cpu8).policy, (Policy{Kernel::rows, 2, false}));
    t.row.longest = 400;
    EXPECT_EQ(choose(t, {Backend::cpu, 1}).policy, (Policy{Kernel::rows, 8, false})) << "uneven";
    t = even_rows(20);
    t.row.shifts = t.row.rows;
    t.row.padded = t.row.nonzeros;
    EXPECT_EQ(choose(t, cpu8).policy, (Policy{Kernel::sell, 8, false})) << "x is read in pieces";
    t.row.padded = 2 * t.row.nonzeros;
    EXPECT_EQ(choose(t, cpu8).policy.kernel, Kernel::rows) << "too much padding";
}

TEST(ChooseSpmv, NarrowsColumnsWhereTheyFit)
{
    Traits t = even_rows(60);
    t.row.widest = 65'535;
    EXPECT_TRUE(choose(t, gpu).policy.narrow);
    t.row.widest = 65'536;
    EXPECT_FALSE(choose(t, gpu).policy.narrow);
    EXPECT_THROW(check_policy({Kernel::rows, 8, false, true}, t, gpu), ValueError);
    t.row.widest = 10;
    t.row.nonzeros = max_index;
    EXPECT_FALSE(choose(t, gpu).policy.narrow) << "offsets of 32 bits could overflow in a loop";
}

TEST(ChooseSpmv, CopiesByRowsOnlyWhereItPaysOrMust)
{
    Traits t = even_rows(10);
    t.transposed = true;
    EXPECT_TRUE(choose(t, gpu).policy.copy);
    t.reused = false;
    EXPECT_EQ(choose(t, gpu).policy, (Policy{Kernel::scatter, 32, false}));
    t.deterministic = true;
    EXPECT_TRUE(choose(t, gpu).policy.copy);
    t.format = Format::csc;
    EXPECT_FALSE(choose(t, gpu).policy.copy) << "CSC transposed is stored by rows of op(A)";
}

TEST(ChooseSpmv, ChoosesAmongItsCandidatesAndThoseOnly)
{
    for (const Format format : {Format::csr, Format::csc, Format::coo, Format::blocked_ell})
        for (const bool transposed : {false, true})
            for (const bool deterministic : {false, true})
                for (const bool reused : {false, true})
                    for (const Limits& limits : {gpu, cpu8, Limits{Backend::cpu, 1}}) {
                        Traits t = even_rows(12);
                        t.format = format;
                        t.transposed = transposed;
                        t.deterministic = deterministic;
                        t.reused = reused;
                        const Choice choice = choose(t, limits);
                        EXPECT_NO_THROW(check_policy(choice.policy, t, limits)) << to_text(format) << " " << to_text(choice.policy);
                        EXPECT_EQ(choice.policy, choose(t, limits).policy);
                        EXPECT_FALSE(choice.why.empty());
                        EXPECT_EQ(wants_copy(t, limits), choice.policy.copy);
                    }
}

TEST(ChooseSpmv, RefusesWhatCannotWork)
{
    Traits t = even_rows(10);
    EXPECT_THROW(check_policy({Kernel::entries, 32, false}, t, gpu), ValueError);
    EXPECT_THROW(check_policy({Kernel::rows, 32, true}, t, gpu), ValueError);
    EXPECT_THROW(check_policy({Kernel::rows, 7, false}, t, gpu), ValueError);
    t.transposed = true;
    t.deterministic = true;
    EXPECT_THROW(check_policy({Kernel::scatter, 32, false}, t, gpu), ValueError);
}

TEST(ChooseSpmv, NamesKernels)
{
    for (const Kernel k : {Kernel::rows, Kernel::groups, Kernel::stream, Kernel::sell, Kernel::split, Kernel::scatter, Kernel::entries, Kernel::blocks}) EXPECT_EQ(parse_kernel(to_text(k)), k);
    EXPECT_THROW(parse_kernel("merge"), ValueError);
    EXPECT_EQ(to_text(Policy{Kernel::rows, 1, false}), "rows, 1 lane");
    EXPECT_EQ(to_text(Policy{Kernel::rows, 8, true, true}), "rows, 8 lanes, narrow columns, on a copy by rows");
    EXPECT_EQ(to_text(Policy{Kernel::sell, 32, false, false, true}), "sell, sorted");
}

}  // namespace
}  // namespace tulle::spmv
