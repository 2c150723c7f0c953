// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Running sums over all threads of a grid, on the simulated and on the real GPU.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "device/cuda/look_back.cuh"
#include "simt/device_array.hpp"
#ifdef TULLE_SIM
#include "simt/config.hpp"
#endif

namespace tulle::test {
namespace {

class LookBackSums : public ::testing::Test {
protected:
    void SetUp() override
    {
        if (const std::string why = why_no_cuda(); !why.empty()) GTEST_SKIP() << why;
    }
};

template <int Threads>
__global__ void running_sums(const offset_t* number, offset_t n, SumWord* sums, offset_t* before)
{
    TULLE_SHARED(offset_t, of_warps, words_of_block<Threads>);
    const offset_t block = number_of_block<Threads>(sums, of_warps), k = block * Threads + threadIdx.x;
    const offset_t sum = sum_before_thread<Threads>(sums, of_warps, block, k < n ? number[k] : 0);
    if (k < n) before[k] = sum;
}

// Numbers up to `most`, in blocks of so many threads.
template <int Threads>
void expect_sums(offset_t n, offset_t most, unsigned seed)
{
    std::mt19937_64 random(seed);
    std::uniform_int_distribution<offset_t> draw(0, most);
    std::vector<offset_t> number(static_cast<std::size_t>(n));
    for (offset_t& one : number) one = draw(random);
    const offset_t blocks = (n + Threads - 1) / Threads;
    DeviceArray<offset_t> there(number), before(static_cast<std::size_t>(n));
    DeviceArray<SumWord> sums(std::vector<SumWord>(static_cast<std::size_t>(blocks) + 1, 0));
    run(static_cast<unsigned>(blocks), Threads, 0, running_sums<Threads>, there.data(), n, sums.data(), before.data());
    const auto got = before.to_host();
    offset_t sum = 0;
    for (std::size_t k = 0; k < number.size(); ++k) {
        ASSERT_EQ(got[k], sum) << "number " << k << " of " << n << " in blocks of " << Threads;
        sum += number[k];
    }
}

TEST_F(LookBackSums, OfOneBlockAndOfMany)
{
    for (const int n : {1, 31, 32, 33, 64, 65, 1000, 3000})
        expect_sums<32>(n, 9, static_cast<unsigned>(n));  // 94 blocks: three looks
    for (const int n : {1, 255, 256, 257, 5000}) expect_sums<256>(n, 9, static_cast<unsigned>(n));
    expect_sums<1024>(2049, 9, 1);
}

// So many that most have to look further back than 32.
TEST_F(LookBackSums, OfBlocksThatBeginTogether)
{
#ifdef TULLE_SIM
    const simt::Config usual = simt::config();
    simt::Config many = usual;
    many.resident = 100;
    simt::configure(many);
#endif
    expect_sums<32>(3200, 9, 4);
#ifdef TULLE_SIM
    simt::configure(usual);
#endif
}

TEST_F(LookBackSums, OfNothingAndOfLargeNumbers)
{
    expect_sums<64>(700, 0, 2);  // a sum of nothing is told too
    expect_sums<64>(700, offset_t{1} << 52, 3);
}

}  // namespace
}  // namespace tulle::test
