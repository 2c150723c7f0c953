// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "tulle/context.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <type_traits>

#include "support/backends.hpp"
#include "tulle/memory.hpp"
#include "tulle/team.hpp"

namespace tulle::inline TULLE_ABI {
namespace {

TEST(Context, SaysWhereItWorks)
{
    EXPECT_EQ(Context::cpu(3).name(), "cpu:3");
    EXPECT_EQ(Context::cpu(3).backend(), Backend::cpu);
    EXPECT_EQ(Context::cpu(3).host().threads, 3);
    EXPECT_THROW(Context::cpu(-1), ValueError);
    EXPECT_FALSE(Context::cpu().is_deterministic());
    EXPECT_TRUE(Context::cpu().deterministic().is_deterministic());
}

TEST(Context, RefusesThreadsNoMachineHas)
{
    EXPECT_GE(most_threads(), available_threads());
    EXPECT_EQ(Context::cpu(0).host().threads, available_threads());
    EXPECT_NO_THROW(Context::cpu(most_threads()));
    for (const int threads :
         {most_threads() + 1, 1000000, std::numeric_limits<int>::max(), -1, std::numeric_limits<int>::min()})
        EXPECT_THROW(Context::cpu(threads), ValueError) << threads;
    try {
        (void)Context::cpu(1000000);
    } catch (const ValueError& e) {
        EXPECT_EQ(e.message(),
                  concat("a CPU queue can have ", most_threads(), " threads on this machine, not 1000000"));
        EXPECT_FALSE(e.hint().empty());
    }
}

// Never some of them: a team that changes its size costs milliseconds.
TEST(Context, GivesSmallWorkOneThread)
{
    CpuQueue q(8);
    q.work_per_thread = 1000;
    EXPECT_EQ(threads_for(q, -5), 1);
    EXPECT_EQ(threads_for(q, 0), 1);
    EXPECT_EQ(threads_for(q, 3999), 1);
    EXPECT_EQ(threads_for(q, 4000), 8);
    EXPECT_EQ(threads_for(q, 7999), 8);
    EXPECT_EQ(threads_for(q, offset_t{1} << 60), 8);
    const test::WorkPerThread thousand("1000");
    const Context all = Context::cpu(8).deterministic();
    EXPECT_EQ(all.for_work(3).name(), "cpu:1");
    EXPECT_EQ(all.for_work(3500).name(), "cpu:1");
    EXPECT_EQ(all.for_work(4500).name(), "cpu:8");
    EXPECT_EQ(Context::cpu(2).for_work(1999).name(), "cpu:1");
    EXPECT_EQ(Context::cpu(2).for_work(2000).name(), "cpu:2");
    EXPECT_TRUE(all.for_work(3).is_deterministic());
    EXPECT_EQ(&all.for_work(3).memory(), &all.memory()) << "counted in the same memory";
    EXPECT_EQ(all.name(), "cpu:8");
    const test::WorkPerThread nonsense("many");
    EXPECT_THROW(Context::cpu(2), ValueError);
}

TEST(Context, BestIsAGpuOnlyWhereOneCanBeUsed)
{
    EXPECT_EQ(Context::best().backend(), cuda_devices().empty() ? Backend::cpu : Backend::cuda);
    EXPECT_EQ(cuda_devices().empty(), !why_no_cuda().empty());
}

TEST(Context, CudaFailsWithAReasonWhereThereIsNone)
{
    if (!cuda_devices().empty()) {
        EXPECT_THROW(Context::cuda(1000), DeviceError);
        EXPECT_THROW(Context::cuda(-1), DeviceError);
        return;
    }
    try {
        (void)Context::cuda();
        FAIL() << "there is no GPU here";
    } catch (const NotBuilt& e) {
        EXPECT_FALSE(build::has_cuda);
        EXPECT_FALSE(e.hint().empty());
    } catch (const DeviceError& e) {
        EXPECT_TRUE(build::has_cuda);
        EXPECT_NE(e.message().find(why_no_cuda()), std::string::npos) << e.what();
    }
}

TEST(Context, UsesTheCallersStream)
{
    if (cuda_devices().empty()) GTEST_SKIP() << why_no_cuda();
    const auto c = Context::cuda(0, nullptr);
    c.run([](const auto& q) {
        const int there = 42;
        EXPECT_EQ(read_value(q, to_queue(q, &there, 1).data()), 42);
    });
}

// Without the order, the copy would see what comes before or after.
TEST(Context, FollowsAnotherStreamAndIsFollowed)
{
    if (cuda_devices().empty()) GTEST_SKIP() << why_no_cuda();
    const Context one = Context::cuda(0), other = Context::cuda(0);
    constexpr offset_t n = 1 << 20;
    const auto stream_of = [](const auto& q) -> CUstream_st* {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(q)>, CudaQueue>) return q.stream;
        return nullptr;
    };
    one.run([&](const auto& q) {
        Buffer<unsigned char> from(q, n), to(q, n);
        for (unsigned char round = 1; round <= 8; ++round) {
            fill_bytes(q, from.data(), round, n);
            other.start_after(stream_of(q));
            other.run([&](const auto& r) { copy(r, from.data(), to.data(), n); });
            other.finish_before(stream_of(q));
            fill_bytes(q, from.data(), 0, n);
            EXPECT_EQ(read_value(q, to.data() + n - 1), round);
        }
    });
    const Context same = one.on_stream(other.run(stream_of));
    EXPECT_EQ(&same.memory(), &one.memory());
    EXPECT_EQ(same.run(stream_of), other.run(stream_of));
    const Context cpu = Context::cpu(1);
    EXPECT_EQ(cpu.on_stream(nullptr).name(), cpu.name());
    cpu.start_after(nullptr);
    cpu.finish_before(nullptr);
}

class TeamOf : public ::testing::TestWithParam<int> {};

TEST_P(TeamOf, RunsEveryMemberOnce)
{
    const Team team = Team::cpu(GetParam());
    std::vector<std::atomic<int>> runs(static_cast<std::size_t>(GetParam()));
    team.run([&](int member, const Context& ctx) {
        EXPECT_EQ(ctx.backend(), Backend::cpu);
        ++runs[static_cast<std::size_t>(member)];
    });
    for (const auto& r : runs) EXPECT_EQ(r, 1);
}

TEST_P(TeamOf, ThrowsTheFirstFailureAfterAllHaveStopped)
{
    const Team team = Team::cpu(GetParam());
    std::atomic<int> ended = 0;
    const auto work = [&](int member, const Context&) {
        ++ended;
        throw ValueError("member " + std::to_string(member));
    };
    try {
        team.run(work);
        FAIL();
    } catch (const ValueError& e) {
        EXPECT_STREQ(e.what(), "member 0");
    }
    EXPECT_EQ(ended, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Sizes, TeamOf, ::testing::Values(1, 2, 3, 4, 7));

TEST(Team, NeedsMembers)
{
    EXPECT_THROW(Team::cpu(0), ValueError);
    EXPECT_THROW(Team::cpu(1000000), ValueError);
    EXPECT_THROW(Team::cpu(2, -1), ValueError);
    EXPECT_THROW(Team::cpu(2, 1000000), ValueError);
    EXPECT_THROW(Team(std::vector<Context>{}), ValueError);
}

TEST(Team, MembersHaveMemoriesOfTheirOwn)
{
    const Team team = Team::cpu(3, 1);
    team.run([](int member, const Context& ctx) {
        const Buffer<char> b(ctx.host(), 100 * (member + 1));
        EXPECT_EQ(ctx.memory().live(Space::host), static_cast<std::size_t>(100 * (member + 1)));
    });
}

// Streams of one GPU, or several simulated ones.
TEST(Team, WorksOnGpus)
{
    const auto devices = cuda_devices();
    if (devices.empty()) GTEST_SKIP() << why_no_cuda();
    std::vector<int> members;
    for (int i = 0; i < 4; ++i) members.push_back(i % static_cast<int>(devices.size()));
    const Team team = Team::cuda(members);
    std::vector<int> got(4, -1);
    team.run([&](int member, const Context& ctx) {
        ctx.run([&](const auto& q) {
            const auto there = to_queue(q, &member, 1);
            got[static_cast<std::size_t>(member)] = read_value(q, there.data());
        });
    });
    EXPECT_EQ(got, (std::vector<int>{0, 1, 2, 3}));
}

}  // namespace
}  // namespace tulle::inline TULLE_ABI
