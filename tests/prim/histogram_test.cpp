// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "prim/histogram.hpp"

#include "prim/arrays.hpp"

namespace tulle::inline TULLE_ABI {
namespace {

std::vector<offset_t> plain_histogram(const std::vector<index_t>& bin, index_t bins)
{
    std::vector<offset_t> count(static_cast<std::size_t>(bins), 0);
    for (const index_t b : bin) ++count[static_cast<std::size_t>(b)];
    return count;
}

std::vector<offset_t> histogram_on(const Context& ctx, const std::vector<index_t>& bin, index_t bins)
{
    return ctx.run([&](const auto& q) {
        auto from = test::guarded(q, bin);
        auto count = test::guarded(q, std::vector<offset_t>(static_cast<std::size_t>(bins), -3));
        prim::histogram(q, from.data(), std::ssize(bin), count.data(), bins);
        return count.get();
    });
}

class HistogramOn : public test::OnBackend {};

TEST_P(HistogramOn, CountsEveryBin)
{
    std::mt19937_64 random(11);
    for (const offset_t n : test::sizes)
        for (const index_t bins : {1, 2, 255, 256, 257, 5000, 70000}) {
            const auto bin = test::random_integers<index_t>(n, 0, bins - 1, random);
            EXPECT_EQ(histogram_on(ctx(), bin, bins), plain_histogram(bin, bins)) << n << " in " << bins;
        }
}

TEST_P(HistogramOn, EverythingInOneBin)
{
    for (const index_t bins : {3, 70000}) {
        const std::vector<index_t> bin(50000, bins - 1);
        EXPECT_EQ(histogram_on(ctx(), bin, bins), plain_histogram(bin, bins));
    }
}

TEST_P(HistogramOn, NoBins) { EXPECT_TRUE(histogram_on(ctx(), {}, 0).empty()); }

TULLE_ON_BACKENDS(HistogramOn);

TEST(Histogram, AnyNumberOfThreads)
{
    std::mt19937_64 random(12);
    for (const index_t bins : {100, 20000}) {
        const auto bin = test::random_integers<index_t>(100001, 0, bins - 1, random);
        for (const int threads : test::thread_counts)
            EXPECT_EQ(histogram_on(Context::cpu(threads), bin, bins), plain_histogram(bin, bins)) << threads;
    }
}

TEST(Histogram, ThreadsMeetInOneBinOfMany)
{
    const std::vector<index_t> bin(3000000, 60000);
    EXPECT_EQ(histogram_on(Context::cpu(8), bin, 70000)[60000], 3000000);
}

}  // namespace
}  // namespace tulle::inline TULLE_ABI
