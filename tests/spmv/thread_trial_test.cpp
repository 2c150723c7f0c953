// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// One thread or all of a plan, with given times: no clock is read here.
#include "spmv/thread_trial.hpp"

#include <gtest/gtest.h>

namespace tulle::inline TULLE_ABI::spmv {
namespace {

// So many runs; one thread and all of them take so long. Runs by all threads are counted.
int run(ThreadTrial& trial, std::int64_t times, double one, double all)
{
    int by_all = 0;
    for (std::int64_t k = 0; k < times; ++k) {
        const bool timed = trial.wants_time();
        by_all += trial.by_all();
        if (timed) trial.note(trial.by_all() ? all : one);
    }
    return by_all;
}

TEST(ThreadTrial, KeepsWhatWasFaster)
{
    constexpr std::int64_t rest = ThreadTrial::first_rest - 1;
    ThreadTrial trial = ThreadTrial::of_both();
    EXPECT_EQ(run(trial, ThreadTrial::runs, 3e-6, 2e-6), ThreadTrial::runs / 2) << "both have as many runs";
    EXPECT_EQ(run(trial, rest, 3e-6, 2e-6), rest);
    trial = ThreadTrial::of_both();
    run(trial, ThreadTrial::runs, 2e-6, 3e-6);
    EXPECT_EQ(run(trial, rest, 2e-6, 3e-6), 0);
    trial = ThreadTrial::of_both();
    run(trial, ThreadTrial::runs, 2e-6, 1.99e-6);
    EXPECT_EQ(run(trial, rest, 2e-6, 1.99e-6), 0) << "one thread where all gain next to nothing";
}

TEST(ThreadTrial, LeavesOutTheFirstRunOfATurnAndStalls)
{
    ThreadTrial trial = ThreadTrial::of_both();
    for (int k = 0; k < ThreadTrial::runs; ++k) {
        ASSERT_TRUE(trial.wants_time());
        const int in_turn = k % ThreadTrial::runs_per_turn;
        const double usual = trial.by_all() ? 2e-6 : 3e-6;
        trial.note(in_turn == 0 ? (trial.by_all() ? 1e-3 : 1e-9) : in_turn == 1 ? 8e-3 : usual);
    }
    EXPECT_TRUE(trial.by_all());
    EXPECT_FALSE(trial.wants_time());
}

TEST(ThreadTrial, AsksAgainMoreAndMoreSeldomWhileTheAnswerStays)
{
    constexpr std::int64_t rest = ThreadTrial::first_rest;
    ThreadTrial trial = ThreadTrial::of_both();
    run(trial, ThreadTrial::runs, 3e-6, 2e-6);
    EXPECT_EQ(run(trial, rest - 1, 3e-6, 2e-6), rest - 1);
    EXPECT_EQ(run(trial, ThreadTrial::runs, 3e-6, 2e-6), ThreadTrial::runs / 2);
    EXPECT_EQ(run(trial, 4 * rest - 1, 3e-6, 2e-6), 4 * rest - 1);
    EXPECT_EQ(run(trial, ThreadTrial::runs, 2e-6, 9e-6), ThreadTrial::runs / 2) << "another time, another machine";
    EXPECT_EQ(run(trial, rest - 1, 2e-6, 9e-6), 0) << "the answer is new";
    EXPECT_TRUE(trial.wants_time());
}

// Another program has a core for the whole of the first trial.
TEST(ThreadTrial, MendsAWrongAnswerSoon)
{
    ThreadTrial trial = ThreadTrial::of_both();
    run(trial, ThreadTrial::runs, 9e-6, 3e-5);
    EXPECT_FALSE(trial.by_all());
    run(trial, ThreadTrial::first_rest + ThreadTrial::runs, 9e-6, 5e-6);
    EXPECT_TRUE(trial.by_all());
    EXPECT_TRUE(trial.is_held());
}

// Runs that pass are counted like the others, so that both are compared again in time.
TEST(ThreadTrial, PassesRunsByOneThreadBetweenComparisons)
{
    constexpr std::int64_t rest = ThreadTrial::first_rest;
    ThreadTrial trial = ThreadTrial::of_both();
    EXPECT_FALSE(trial.passes_by_one()) << "a comparison wants times";
    run(trial, ThreadTrial::runs, 2e-6, 3e-6);
    for (std::int64_t k = 0; k + 1 < rest; ++k) ASSERT_TRUE(trial.passes_by_one()) << k;
    EXPECT_FALSE(trial.passes_by_one());
    EXPECT_TRUE(trial.wants_time());
    run(trial, ThreadTrial::runs, 3e-6, 2e-6);
    EXPECT_FALSE(trial.passes_by_one()) << "all threads are faster";
    EXPECT_EQ(run(trial, rest - 1, 3e-6, 2e-6), rest - 1) << "a run that does not pass is not counted";
    EXPECT_TRUE(ThreadTrial(false).passes_by_one());
    EXPECT_FALSE(ThreadTrial(true).passes_by_one());
}

TEST(ThreadTrial, IsNotHeldWhereThereIsNothingToCompare)
{
    for (const bool all : {false, true}) {
        ThreadTrial trial(all);
        EXPECT_EQ(run(trial, 3 * ThreadTrial::first_rest, 1, 1), all ? 3 * ThreadTrial::first_rest : 0);
        EXPECT_FALSE(trial.wants_time());
    }
}

}  // namespace
}  // namespace tulle::inline TULLE_ABI::spmv
