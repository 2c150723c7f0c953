// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Kernels that begin before the one ahead of them has ended, on the simulated and on the real GPU.
#include <gtest/gtest.h>

#include <vector>

#include "simt/device_array.hpp"
#ifdef TULLE_SIM
#include "simt/sanitizers.hpp"
#endif

namespace tulle::test {
namespace {

class EarlyLaunch : public ::testing::Test {
protected:
    void SetUp() override
    {
        if (const std::string why = why_no_cuda(); !why.empty()) GTEST_SKIP() << why;
        if (cuda::device_limits(0).compute < 90) GTEST_SKIP() << "needs compute capability 9.0";
    }
};

constexpr int blocks = 8, threads = 64, count = blocks * threads;

// Each kernel of a chain adds its step to what the one before wrote; another thread's number, so that no order of
// blocks is right by chance.
__global__ void add_step(const int* from, const int* own, int* to)
{
    const int i = static_cast<int>(global_thread()), step = own[i];
    wait_for_earlier_kernels();
    to[i] = from[count - 1 - i] + step;
}

TEST_F(EarlyLaunch, AChainComesInOrder)
{
    const CudaQueue& q = queue_of(0);
    std::vector<int> steps(count);
    for (int i = 0; i < count; ++i) steps[static_cast<std::size_t>(i)] = i;
    DeviceArray<int> a(std::vector<int>(count, 0)), b(std::vector<int>(count, -1)), own(steps);
    constexpr int rounds = 20;
    for (int k = 0; k < rounds; ++k) {
        launch(q, {blocks, threads, 0, 1, true}, add_step, a.data(), own.data(), b.data());
        launch(q, {blocks, threads, 0, 1, true}, add_step, b.data(), own.data(), a.data());
    }
    synchronize(q);
    EXPECT_EQ(a.to_host(), std::vector<int>(count, rounds * (count - 1)));
}

#ifdef TULLE_SIM
// What the simulator is for: a kernel that does not wait reads what was there before, in some schedule.
__global__ void add_step_at_once(const int* from, const int* own, int* to)
{
    const int i = static_cast<int>(global_thread());
    to[i] = from[count - 1 - i] + own[i];
}

TEST_F(EarlyLaunch, OneThatDoesNotWaitIsFound)
{
    const CudaQueue& q = queue_of(0);
    const std::vector<int> zeros(count, 0), ones(count, 1);
    int wrong = 0;
    for (int k = 0; k < 40 && wrong == 0; ++k) {
        DeviceArray<int> a(zeros), b(zeros), c(zeros), own(ones);
        launch(q, {blocks, threads}, add_step, a.data(), own.data(), b.data());
        launch(q, {blocks, threads, 0, 1, true}, add_step_at_once, b.data(), own.data(), c.data());
        synchronize(q);
        wrong += c.to_host() != std::vector<int>(count, 2);
    }
    if (simt::under_tsan) GTEST_SKIP() << "kernels come one after the other under ThreadSanitizer";
    EXPECT_GT(wrong, 0);
}

TEST_F(EarlyLaunch, AFaultAheadIsReported)
{
    const CudaQueue& q = queue_of(0);
    DeviceArray<int> a(std::vector<int>(count, 0)), b(std::vector<int>(count, 0));
    const int here = 0;
    launch(q, {blocks, threads}, add_step, &here, a.data(), b.data());  // host memory
    launch(q, {blocks, threads, 0, 1, true}, add_step, b.data(), a.data(), a.data());
    EXPECT_THROW(synchronize(q), DeviceError);
}
#endif

}  // namespace
}  // namespace tulle::test
