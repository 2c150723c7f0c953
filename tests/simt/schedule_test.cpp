// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Which blocks run when, how a seed replays a run, and what a fault says.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "simt/run.hpp"
#include "support/schedule.hpp"
#include "tulle/text.hpp"

namespace tulle::test {
namespace {

using simt::Order;

simt::Config with_order(Order order, unsigned resident, std::uint64_t seed = 1)
{
    simt::Config config = with_seed(seed);
    config.order = order;
    config.resident = resident;
    return config;
}

__global__ void note_start(int* next, int* started)
{
    if (threadIdx.x == 0) started[atomicAdd(next, 1)] = static_cast<int>(blockIdx.x);
}

std::vector<int> order_of_blocks(const simt::Config& config, int threads = 1)
{
    const WithConfig with(config);
    DeviceArray<int> next(std::vector<int>{0}), started(20);
    run(20, threads, 0, note_start, next.data(), started.data());
    return started.to_host();
}

TEST(Schedule, OneResidentBlockAfterTheOther)
{
    std::vector<int> ascending(20);
    std::iota(ascending.begin(), ascending.end(), 0);
    EXPECT_EQ(order_of_blocks(with_order(Order::ascending, 1)), ascending);
    EXPECT_EQ(order_of_blocks(with_order(Order::descending, 1)),
              std::vector<int>(ascending.rbegin(), ascending.rend()));

    std::vector<int> random = order_of_blocks(with_order(Order::random, 1));
    EXPECT_NE(random, ascending);
    std::sort(random.begin(), random.end());
    EXPECT_EQ(random, ascending);
}

TEST(Schedule, ASeedReplaysARun)
{
    std::vector<std::vector<int>> different;
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        const auto once = order_of_blocks(with_order(Order::random, 4, seed), 33);
        EXPECT_EQ(once, order_of_blocks(with_order(Order::random, 4, seed), 33)) << seed;
        different.push_back(once);
    }
    std::sort(different.begin(), different.end());
    EXPECT_EQ(std::unique(different.begin(), different.end()), different.end());
}

// The case's name and the seed give a schedule, the same each time; over many seeds, or cases, all of them.
TEST(Schedule, IsDrawnForEachCase)
{
    if (std::getenv("TULLE_SIM_ORDER") || std::getenv("TULLE_SIM_RESIDENT"))
        GTEST_SKIP() << "the environment says which";
    const WithConfig with(simt::config());
    std::set<std::pair<Order, unsigned>> seen;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        simt::configure(with_seed(seed));
        draw_schedule();
        const simt::Config once = simt::config();
        draw_schedule();
        EXPECT_EQ(std::pair(once.order, once.resident), std::pair(simt::config().order, simt::config().resident));
        EXPECT_EQ(simt::config().seed, seed);
        seen.emplace(once.order, once.resident);
    }
    EXPECT_EQ(seen.size(), 9u);
}

// The most blocks that were inside at the same time.
__global__ void count_inside(int* inside, int* most, int* flag)
{
    atomicMax(most, atomicAdd(inside, 1) + 1);
    for (int i = 0; i < 20; ++i) (void)load_relaxed(flag);  // others may come in
    atomicAdd(inside, -1);
}

TEST(Schedule, NoMoreBlocksThanResident)
{
    for (const unsigned resident : {1u, 2u, 5u}) {
        const WithConfig with(with_order(Order::random, resident));
        DeviceArray<int> inside(std::vector<int>{0}), most(std::vector<int>{0}), flag(std::vector<int>{0});
        run(40, 1, 0, count_inside, inside.data(), most.data(), flag.data());
        EXPECT_EQ(most.to_host()[0], static_cast<int>(resident));
    }
}

__global__ void show_coordinates(unsigned* out)
{
    unsigned* mine = out + (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    mine[0] = threadIdx.x;
    __syncthreads();
    mine[1] = blockIdx.x;
    mine[2] = blockDim.x * 100 + blockDim.y;
    __syncthreads();
    mine[3] = gridDim.x * 100 + threadIdx.y;
}

TEST(Schedule, ThreadsKnowWhereTheyAre)
{
    DeviceArray<unsigned> out(3 * 40 * 4);
    run(3, 40, 0, show_coordinates, out.data());
    const auto got = out.to_host();
    for (unsigned block = 0; block < 3; ++block)
        for (unsigned thread = 0; thread < 40; ++thread) {
            const std::size_t at = (block * 40 + thread) * 4;
            EXPECT_EQ((std::vector<unsigned>{got[at], got[at + 1], got[at + 2], got[at + 3]}),
                      (std::vector<unsigned>{thread, block, 4001, 300}));
        }
}

// ---- faults ----

template <int Number>
__global__ void breaks_a_rule(int* out)
{
    if (blockIdx.x == 1 && threadIdx.x == 3) out[0] = __shfl_sync(1u << 3, Number, 9);  // the line a fault names
}
constexpr int line_of_the_fault = __LINE__ - 2;

std::string fault_of(const simt::Config& config)
{
    const WithConfig with(config);
    DeviceArray<int> out(1);
    try {
        run(4, 32, 0, breaks_a_rule<17>, out.data());
    } catch (const DeviceError& e) {
        return e.what();
    }
    return "no fault";
}

TEST(Faults, NameKernelBlockThreadPlaceAndSeed)
{
    const std::string text = fault_of(with_seed(77));
    for (const std::string& part : {std::string("breaks_a_rule<17>"), std::string("block 1,"), std::string("thread 3,"),
                                    concat("tests/simt/schedule_test.cpp:", line_of_the_fault),
                                    simt::replay(with_seed(77)), std::string("lane 3 shuffles from lane 9")})
        EXPECT_NE(text.find(part), std::string::npos) << text;
    EXPECT_EQ(text, fault_of(with_seed(77)));
}

TEST(Faults, AreReportedOnceAndTheDeviceGoesOn)
{
    for (int i = 0; i < 3; ++i) {
        EXPECT_NE(fault_of(with_seed(5)), "no fault");
        DeviceArray<int> next(std::vector<int>{0}), started(20);
        run(20, 32, 0, note_start, next.data(), started.data());
        EXPECT_EQ(next.to_host()[0], 20);
    }
}

__global__ void throws(int* out)
{
    if (threadIdx.x == 5) require<ValueError>(out == nullptr, "not in a kernel");
    __syncthreads();
}

TEST(Faults, AnExceptionInAKernelIsOne)
{
    DeviceArray<int> out(1);
    try {
        run(1, 32, 0, throws, out.data());
        FAIL();
    } catch (const DeviceError& e) {
        EXPECT_NE(std::string(e.what()).find("not in a kernel"), std::string::npos) << e.what();
    }
}

TEST(Faults, LaunchesThatAGpuRefuses)
{
    DeviceArray<int> out(1);
    EXPECT_THROW(run(1, 1025, 0, throws, out.data()), DeviceError);
    EXPECT_THROW(run(1, 0, 0, throws, out.data()), DeviceError);
    EXPECT_THROW(run(1, 32, 300 * 1024, throws, out.data()), DeviceError);
    const CudaQueue other = cuda::open_queue(1);
    EXPECT_EQ(simt::enqueue(other.stream, {1, 32}, throws, out.data()), cudaErrorInvalidResourceHandle);
}

}  // namespace
}  // namespace tulle::test
