// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Ranks on GPUs, threads as ranks: the bits of one process on one GPU.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "mpi/nccl.hpp"
#include "mpi/steps.hpp"
#include "support/backends.hpp"
#include "support/host_matrix.hpp"
#include "support/reserved.hpp"
#include "tests/mpi/amg_checks.hpp"
#include "tests/mpi/product_checks.hpp"
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
TEST_P(OnGpuRanks, SolveNothing) { on_gpus(check_empty_system); }
TEST_P(OnGpuRanks, AnyOfThemMayHaveWhatIsNotFinite) { on_gpus(check_special_sums); }
TEST_P(OnGpuRanks, RowsMayBeInAnyOrderOnAnyOfThem)
{
    on_gpus([](const mpi::Cluster& cluster) { check_orders<double>(cluster, "uniform:24,24,3"); });
}

// TULLE_TRANSPORT and the judge of device memory, for a while.
class Wish {
public:
    explicit Wish(const char* transport, const char* self_test = "")
    {
        setenv("TULLE_TRANSPORT", transport, 1);
        self_test_of_threads() = self_test;
    }
    Wish(const Wish&) = delete;
    Wish& operator=(const Wish&) = delete;
    ~Wish()
    {
        unsetenv("TULLE_TRANSPORT");
        self_test_of_threads().clear();
    }
};

TEST_P(OnGpuRanks, StageWhereNothingElseIsThere)
{
    on_gpus([](const mpi::Cluster& cluster) {
        const std::string text = cluster.describe();
        if (cluster.state().way == mpi::Way::nccl) return;  // GPUs enough for all
        expect(text.find(cluster.context().name() + ", transport staged (") != text.npos, text);
        const char* const why = cluster.ranks() == 1 ? "(one rank sends nothing)"
                                                     : "gpu-aware: rank 0: the transport takes host memory alone";
        expect(text.find(why) != text.npos, text);
    });
}

// Threads can read the memory of a simulated GPU: the whole way of GPU-aware MPI.
std::string why_not_direct()
{
    if (!cuda_devices()[0].simulated) return "threads cannot read the memory of a GPU";
    return simt::under_asan ? "AddressSanitizer keeps device memory from the host" : "";
}

TEST_P(OnGpuRanks, HaveTheSameBitsWithDeviceMemoryInMessages)
{
    if (const std::string why = why_not_direct(); !why.empty()) GTEST_SKIP() << why;
    const Wish wish("gpu-aware", "true");
    on_gpus([](const mpi::Cluster& cluster) {
        const auto a = mpi::DistCsr<double>::generate(cluster, "stencil5:4");
        const std::string text = mpi::SpmvPlan<double>::make(a).describe();
        const bool sends = cluster.ranks() > 1;
        expect(!sends || text.find("transport gpu-aware (TULLE_TRANSPORT asks for it)") != text.npos, text);
        expect(text.ends_with(sends ? ", gpu-aware" : ", staged"), text);
        check_gpu<double>(cluster);
    });
}

TEST_P(OnGpuRanks, ChooseByTheSizeOfMessages)
{
    if (const std::string why = why_not_direct(); !why.empty()) GTEST_SKIP() << why;
    if (GetParam() == 1) GTEST_SKIP() << "one rank sends nothing";
    const Wish wish("auto", "true");
    on_gpus([](const mpi::Cluster& cluster) {
        const auto way = [&](std::size_t bytes) { return mpi::way_of(cluster, Backend::cuda, bytes); };
        expect(cluster.transport().name == "gpu-aware", cluster.describe());
        expect(way(65535) == mpi::Way::staged && way(65536) == mpi::Way::gpu_aware, "by size");
        expect(mpi::way_of(cluster, Backend::cpu, 1 << 20) == mpi::Way::host, "on a CPU");
    });
}

// What the self-test says when it does not pass is the reason of all ranks.
TEST_P(OnGpuRanks, TellWhyDeviceMemoryCannotBeSent)
{
    if (GetParam() == 1) GTEST_SKIP() << "one rank sends nothing";
    const std::pair<const char*, const char*> all[]{{"", "the transport takes host memory alone"},
                                                    {"false", "the self-test received other data than it had sent"},
                                                    {"there-is-no-such-program", "the self-test cannot be run: "}};
    for (const auto& [program, why] : all) {
        const Wish wish("gpu-aware", program);
        try {
            on_gpus([](const mpi::Cluster&) { expect(false, "it can"); });
        } catch (const ValueError& e) {
            const std::string expected = concat("TULLE_TRANSPORT is 'gpu-aware', which cannot be used: rank 0: ", why);
            EXPECT_TRUE(e.message().starts_with(expected)) << e.message();
        }
    }
}

std::string why_no_nccl()
{
    try {
        mpi::nccl_version();
    } catch (const NotBuilt& e) {
        return e.message();
    }
    return cuda_devices()[0].simulated ? "NCCL cannot use the simulated GPU" : "";
}

TEST_P(OnGpuRanks, HaveMultigrid)
{
    on_gpus([](const mpi::Cluster& cluster) {
        const auto a = mpi::DistCsr<double>::generate(cluster, "stencil5:9");
        const amg::Options small{.coarse_rows = 3};  // 15 rows are on every rank
        expect(mpi::AmgPlan<double>::make(a, small).levels()[0].replicated == (cluster.ranks() == 1), "levels");
        check_symmetry(a, small, "multigrid on GPUs");
        check_replicated<double>(cluster, "stencil5:5");
        check_amg_update<double>(cluster, "stencil5:9", small, 4, 1, "new values on GPUs");
        const auto report = solve_ones(a, {.preconditioner = solve::Amg{}});
        expect(report.converged() && report.iterations < 10, report.text());
    });
}

// One rank, or as many as there are GPUs, by NCCL; more of them are told why not.
TEST_P(OnGpuRanks, HaveTheSameBitsWithNccl)
{
    const std::string why = why_no_nccl();
    const bool possible = why.empty() && std::ssize(cuda_devices()) >= GetParam();
    const Wish wish("nccl");
    try {
        on_gpus([](const mpi::Cluster& cluster) {
            expect(cluster.transport().name == "nccl", cluster.describe());
            check_gpu<double>(cluster);
        });
        EXPECT_TRUE(possible);
    } catch (const ValueError& e) {
        const std::string expected = concat("TULLE_TRANSPORT is 'nccl', which cannot be used: rank 0: ",
                                            why.empty() ? "NCCL needs a GPU for each rank, rank " : why);
        EXPECT_TRUE(!possible && e.message().starts_with(expected)) << e.message();
    }
    if (!why.empty()) GTEST_SKIP() << why;
}

// A message of NCCL to the rank itself.
TEST(Nccl, SendsToItself)
{
    if (const std::string none = why_no_cuda(); !none.empty()) GTEST_SKIP() << none;
    if (const std::string why = why_no_nccl(); !why.empty()) GTEST_SKIP() << why;
    const Wish wish("nccl");
    const mpi::Cluster cluster = alone(Context::cuda(0));
    const Context& ctx = cluster.context();
    const std::vector<double> x = numbers<double>(0, 40000, 1);
    const Buffer<double> from = to_device<double>(ctx, x);
    Buffer<double> to = to_device<double>(ctx, std::vector<double>(x.size()));
    mpi::NcclMessages messages(cluster);
    messages.add_send(from.data(), from.bytes(), 0);
    messages.add_receive(to.data(), to.bytes(), 0);
    for (int round = 0; round < 2; ++round) {
        messages.start("a message", ctx.run([](const auto& q) { return q.place().stream; }));
        messages.finish("a message");
    }
    EXPECT_EQ(host_copy(ctx, to), x);
    EXPECT_EQ(cluster.sent(), (mpi::Traffic{2, 2 * from.bytes()}));
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

class PackOn : public test::OnBackend {};

// Entries of several vectors beside each other, beyond 2^31 and 2^32 numbers from the first.
TEST_P(PackOn, EntriesAreFarFromTheFirst)
{
    const test::RoomToReserve room;
    const Context c = ctx();
    constexpr index_t width = 5;
    const std::vector<index_t> entry{0, max_index / width, max_index / width + 1, max_index / 2, max_index - 1};
    const offset_t size = offset_t{max_index} * width;
    if (const std::string why = test::why_not_reserved(c, static_cast<std::size_t>(size) * sizeof(float)); !why.empty())
        GTEST_SKIP() << why;
    test::Reserved<float> from(c, size);
    std::vector<float> want;
    for (const index_t i : entry)
        for (index_t k = 0; k < width; ++k) {
            want.push_back(static_cast<float>(want.size()) + 1);
            from.put(offset_t{i} * width + k, want.back());
        }
    const auto index = to_device<index_t>(c, entry);
    auto to = to_device<float>(c, std::vector<float>(want.size()));
    c.run([&](const auto& q) { mpi::pack(q, from.data(), index.data(), std::ssize(entry), width, to.data()); });
    EXPECT_EQ(test::host_vector(c, to), want);
}

TULLE_ON_BACKENDS(PackOn);

}  // namespace
}  // namespace tulle::testing
