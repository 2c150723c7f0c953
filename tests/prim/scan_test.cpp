// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "prim/scan.hpp"

#include "prim/arrays.hpp"

#ifdef TULLE_HAVE_RAPIDCHECK
#include <rapidcheck.h>
#endif

namespace tulle::inline TULLE_ABI {
namespace {

std::vector<offset_t> plain_scan(const std::vector<offset_t>& count)
{
    std::vector<offset_t> begin{0};
    for (const offset_t c : count) begin.push_back(begin.back() + c);
    return begin;
}

std::vector<offset_t> scanned(const Context& ctx, const std::vector<offset_t>& count)
{
    return ctx.run([&](const auto& q) {
        auto from = test::guarded(q, count);
        auto to = test::guarded(q, std::vector<offset_t>(count.size() + 1, -7));
        prim::exclusive_scan(q, from.data(), to.data(), std::ssize(count));
        EXPECT_EQ(from.get(), count);
        return to.get();
    });
}

class ScanOn : public test::OnBackend {};

TEST_P(ScanOn, MatchesRunningSum)
{
    std::mt19937_64 random(1);
    for (const offset_t n : test::sizes) {
        SCOPED_TRACE(n);
        const auto count = test::random_integers<offset_t>(n, 0, 1000, random);
        EXPECT_EQ(scanned(ctx(), count), plain_scan(count));
    }
}

TEST_P(ScanOn, InPlaceDoesNotReadTheLastEntry)
{
    std::mt19937_64 random(2);
    for (const offset_t n : test::sizes) {
        SCOPED_TRACE(n);
        const auto count = test::random_integers<offset_t>(n, 0, 9, random);
        auto with_junk = count;
        with_junk.push_back(-123456789);
        ctx().run([&](const auto& q) {
            auto both = test::guarded(q, with_junk);
            prim::exclusive_scan(q, both.data(), both.data(), n);
            EXPECT_EQ(both.get(), plain_scan(count));
        });
    }
}

// One block takes up to few_to_scan numbers: a warp goes round for each 128 of its stretch. Behind that limit CUB
// works.
TEST_P(ScanOn, SecondRoundsOfAWarp)
{
    std::mt19937_64 random(12);
    for (const offset_t n : {4096, 4097, 8192, 8193, 20000, 32767, 32768, 32769}) {
        SCOPED_TRACE(n);
        const auto count = test::random_integers<offset_t>(n, 0, 1000, random);
        EXPECT_EQ(scanned(ctx(), count), plain_scan(count));
        ctx().run([&](const auto& q) {
            auto in_place = count;
            in_place.push_back(-5);
            auto both = test::guarded(q, in_place);
            prim::exclusive_scan(q, both.data(), both.data(), n);
            EXPECT_EQ(both.get(), plain_scan(count));
        });
    }
}

TEST_P(ScanOn, SumsBeyond32Bits)
{
    const std::vector<offset_t> count(40, offset_t{1} << 40);
    EXPECT_EQ(scanned(ctx(), count).back(), offset_t{40} << 40);
}

TULLE_ON_BACKENDS(ScanOn);

TEST(Scan, AnyNumberOfThreads)
{
    std::mt19937_64 random(3);
    for (const offset_t n : {16383, 16384, 16385, 32769, 100001}) {
        const auto count = test::random_integers<offset_t>(n, 0, 99, random);
        for (const int threads : test::thread_counts)
            EXPECT_EQ(scanned(Context::cpu(threads), count), plain_scan(count)) << n << " by " << threads;
    }
}

#ifdef TULLE_HAVE_RAPIDCHECK
TEST_P(ScanOn, AnyCounts)
{
    const Context where = ctx();
    EXPECT_TRUE(rc::check("exclusive_scan is the running sum", [&] {
        std::vector<offset_t> count;
        for (const int c : *rc::gen::arbitrary<std::vector<int>>()) count.push_back(c);
        RC_ASSERT(scanned(where, count) == plain_scan(count));
    }));
}
#endif

}  // namespace
}  // namespace tulle::inline TULLE_ABI
