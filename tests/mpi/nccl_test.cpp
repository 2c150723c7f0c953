// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Ranks that exchange their halos by NCCL, on simulated GPUs: the bits of one GPU, whatever streams do first; rows
// without ghosts beside the messages; a rank that sends nothing.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <mutex>
#include <string>

#include "simt/runtime.hpp"
#include "support/backends.hpp"
#include "tests/mpi/product_checks.hpp"
#include "tests/mpi/simulated_nccl.hpp"

namespace tulle::testing {
namespace {

class Nccl : public ::testing::Test {
protected:
    void SetUp() override
    {
        setenv("TULLE_NCCL", "", 1);  // in this program
        setenv("TULLE_TRANSPORT", "nccl", 1);
        test::draw_schedule();
    }
    void TearDown() override
    {
        unsetenv("TULLE_NCCL");
        unsetenv("TULLE_TRANSPORT");
        when_received() = nullptr;
        keep_messages_of(-1);
    }
    template <class F>
    static void on_gpus(int ranks, double deadline, const F& f)
    {
        on_ranks(ranks, f, {.deadline = deadline}, [](int rank) { return Context::cuda(rank); });
    }
};

class OnNcclRanks : public Nccl, public ::testing::WithParamInterface<int> {};

TEST_P(OnNcclRanks, HaveTheBitsOfOneGpu)
{
    on_gpus(GetParam(), 60, [](const mpi::Cluster& cluster) {
        expect(cluster.transport().name == "nccl", cluster.describe());
        check_gpu<double>(cluster);
    });
}

CUstream_st* stream_of(const Context& ctx)
{
    return ctx.run([](const auto& q) { return q.place().stream; });
}

std::uint64_t launches_on(CUstream_st* stream)
{
    const std::lock_guard lock(simt::Runtime::get().mutex);
    return stream->launches;
}

// When a message comes, the stream of the products has gone on with more than the kernel that packs: in one of many
// runs at least, since chance decides between the streams.
TEST_P(OnNcclRanks, ComputeRowsWithoutGhostsWhileMessagesTravel)
{
    struct Rank {
        std::atomic<CUstream_st*> stream = nullptr;
        std::atomic<std::uint64_t> before = 0;
        std::atomic<int> messages = 0, overlapped = 0;
    };
    static std::array<Rank, 4> all;
    for (Rank& r : all) r.messages = r.overlapped = 0;
    when_received() = [](int rank) {
        Rank& r = all[static_cast<std::size_t>(rank)];
        if (r.stream == nullptr) return;
        ++r.messages;
        r.overlapped += r.stream.load()->launches > r.before + 1;
    };
    on_gpus(GetParam(), 60, [](const mpi::Cluster& cluster) {
        const auto a = mpi::DistCsr<double>::generate(cluster, "stencil5:8");
        auto plan = mpi::SpmvPlan<double>::make(a);
        mpi::DistVector<double> y(cluster, a.row_cuts());
        expect(plan.overlapped_rows() > 0, "no rows without ghosts");
        Rank& r = all[here(cluster)];
        for (int i = 0; i < 20; ++i) {
            r.before = launches_on(stream_of(cluster.context()));
            r.stream = stream_of(cluster.context());
            plan.run(plan.x(), y.local());
            cluster.context().synchronize();
            r.stream = nullptr;
        }
    });
    for (int rank = 0; rank < GetParam(); ++rank) {
        const Rank& r = all[static_cast<std::size_t>(rank)];
        EXPECT_GE(r.messages, 20) << rank;
        EXPECT_GT(r.overlapped, 0) << rank;
    }
}

INSTANTIATE_TEST_SUITE_P(Mpi, OnNcclRanks, ::testing::Values(2, 3));

TEST_F(Nccl, NamesTheRanksWhoseMessagesDoNotCome)
{
    int code = 0;
    std::atomic<int> first = 0;  // ranks whose first product was right
    ::testing::internal::CaptureStderr();
    try {
        on_gpus(2, 4, [&](const mpi::Cluster& cluster) {
            const auto a = mpi::DistCsr<double>::generate(cluster, "stencil5:4");
            auto plan = mpi::SpmvPlan<double>::make(a);
            mpi::DistVector<double> y(cluster, a.row_cuts());
            plan.run(plan.x(), y.local());
            ++first;
            cluster.sum(0);
            keep_messages_of(1);
            plan.run(plan.x(), y.local());
        });
    } catch (const JobEnded& ended) {
        code = ended.code;
    }
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(first, 2);
    EXPECT_EQ(code, mpi::lost_rank_exit_code);
    EXPECT_NE(said.find(
                  "tulle: rank 0 of 2, phase 'halo exchange': messages of NCCL with rank 1 take 4.0 s; the job ends"),
              said.npos)
        << said;
}

}  // namespace
}  // namespace tulle::testing
