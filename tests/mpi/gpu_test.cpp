// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Ranks on GPUs, threads as ranks: the bits of one process on one GPU.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "support/backends.hpp"
#include "tests/mpi/checks.hpp"
#include "vector/local_dot.hpp"

namespace tulle::testing {
namespace {

class OnGpuRanks : public ::testing::TestWithParam<int> {
protected:
    void SetUp() override
    {
        if (const std::string why = why_no_cuda(); !why.empty()) GTEST_SKIP() << why;
        test::draw_schedule();
    }

    // Ranks share GPUs where there are fewer of them.
    template <class F>
    static void on_gpus(const F& f)
    {
        const int gpus = static_cast<int>(cuda_devices().size());
        on_ranks(GetParam(), f, {.deadline = 60}, [&](int rank) { return Context::cuda(rank % gpus); });
    }
};

TEST_P(OnGpuRanks, HaveTheBitsOfOneGpuInDouble) { on_gpus(check_gpu<double>); }
TEST_P(OnGpuRanks, HaveTheBitsOfOneGpuInFloat) { on_gpus(check_gpu<float>); }
TEST_P(OnGpuRanks, TellOfVectorsInHostMemory) { on_gpus(check_places); }

TEST_P(OnGpuRanks, DescribeHowMessagesTravel)
{
    on_gpus([](const mpi::Cluster& cluster) {
        const std::string text = cluster.describe();
        expect(text.find(cluster.context().name() + ", transport staged (") != text.npos, text);
    });
}

INSTANTIATE_TEST_SUITE_P(Mpi, OnGpuRanks, ::testing::Values(1, 2, 3));

// Reproducible sums on a GPU have the bits of the CPU, whatever is summed.
class LocalDotOn : public test::OnBackend {};

double dot_on(const Context& ctx, const std::vector<double>& x, const std::vector<double>& y)
{
    const Buffer<double> there_x = to_device<double>(ctx, x), there_y = to_device<double>(ctx, y);
    return ctx.run([&](const auto& q) { return vector::local_dot(q, there_x.data(), there_y.data(), std::ssize(x)); })
        .value();
}

void expect_like_cpu(const Context& ctx, const std::vector<double>& x, const std::vector<double>& y)
{
    const double expected = dot_on(Context::cpu(1), x, y), got = dot_on(ctx, x, y);
    EXPECT_EQ(std::memcmp(&expected, &got, sizeof got), 0) << got << ", not " << expected;
}

TEST_P(LocalDotOn, HasTheBitsOfTheCpu)
{
    for (const int scale : {-1060, -560, -500, 0, 400, 980}) {
        std::vector<double> x(1500), y(1500);
        for (std::size_t i = 0; i < x.size(); ++i) {
            x[i] = std::ldexp(io::pattern_value(static_cast<index_t>(i), 1) - 1, scale + static_cast<int>(i * 7 % 31));
            y[i] = io::pattern_value(static_cast<index_t>(i), 2) - 1;
        }
        SCOPED_TRACE(scale);
        expect_like_cpu(ctx(), x, y);
    }
    expect_like_cpu(ctx(), {}, {});
    expect_like_cpu(ctx(), {0, 0}, {1, 0});
    expect_like_cpu(ctx(), {0.5, -3, 1e-30}, {0.25, 1e20, 7});
}

TEST_P(LocalDotOn, KeepsWhatIsNotFinite)
{
    const double infinity = std::numeric_limits<double>::infinity();
    EXPECT_EQ(dot_on(ctx(), {1, infinity, 2}, {1, 1, 1}), infinity);
    EXPECT_EQ(dot_on(ctx(), {1, infinity, 2}, {1, -1, 1}), -infinity);
    EXPECT_TRUE(std::isnan(dot_on(ctx(), {1, std::nan(""), 2}, {1, 1, 1})));
    EXPECT_EQ(dot_on(ctx(), {std::ldexp(1, 1023), std::ldexp(1, 1022)}, {1, 1}), std::ldexp(1.5, 1023));
}

TULLE_ON_BACKENDS(LocalDotOn);

}  // namespace
}  // namespace tulle::testing
