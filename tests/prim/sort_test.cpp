// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "prim/sort.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include "prim/arrays.hpp"
#ifdef TULLE_SIM
#include "simt/cuda_runtime.hpp"
#endif

#ifdef TULLE_HAVE_RAPIDCHECK
#include <rapidcheck.h>
#endif

namespace tulle::inline TULLE_ABI {
namespace {

template <class Key>
struct Pairs {
    std::vector<Key> key;
    std::vector<offset_t> payload;
    bool operator==(const Pairs&) const = default;
};

template <class Key>
Pairs<Key> numbered(std::vector<Key> key)
{
    std::vector<offset_t> payload(key.size());
    std::iota(payload.begin(), payload.end(), offset_t{1} << 40);  // beyond 32 bits
    return {std::move(key), std::move(payload)};
}

template <class Key>
Pairs<Key> sorted_by(const Context& ctx, const Pairs<Key>& pairs, int bits)
{
    return ctx.run([&](const auto& q) {
        auto key = test::guarded(q, pairs.key);
        auto payload = test::guarded(q, pairs.payload);
        prim::sort_pairs(q, key.data(), payload.data(), std::ssize(pairs.key), bits);
        return Pairs<Key>{key.get(), payload.get()};
    });
}

template <class Key>
Pairs<Key> plainly_sorted(const Pairs<Key>& pairs, int bits)
{
    const Key mask = bits == std::numeric_limits<Key>::digits ? ~Key{0} : static_cast<Key>((Key{1} << bits) - 1);
    std::vector<std::size_t> order(pairs.key.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return (pairs.key[a] & mask) < (pairs.key[b] & mask); });
    Pairs<Key> sorted;
    for (const std::size_t i : order) {
        sorted.key.push_back(pairs.key[i]);
        sorted.payload.push_back(pairs.payload[i]);
    }
    return sorted;
}

class SortOn : public test::OnBackend {
protected:
    template <class Key>
    void expect_sorts(const std::vector<Key>& key, int bits)
    {
        const auto pairs = numbered(key);
        EXPECT_TRUE(sorted_by(ctx(), pairs, bits) == plainly_sorted(pairs, bits))
            << key.size() << " keys by " << bits << " bits";
    }
};

TEST_P(SortOn, AllSizesAndWidths)
{
    constexpr bool watched =
        simt::under_tsan || simt::under_asan;  // by sanitizers, before which two, three and eight passes are enough
    std::mt19937_64 random(4);
    for (const offset_t n : test::sizes) {
        const auto wide = test::random_integers<std::uint64_t>(n, 0, ~std::uint64_t{0}, random);
        const auto narrow = test::random_integers<std::uint32_t>(n, 0, ~std::uint32_t{0}, random);
        for (const int bits : watched ? std::vector{9, 64} : std::vector{1, 7, 8, 9, 31, 32, 33, 63, 64})
            expect_sorts(wide, bits);
        for (const int bits : watched ? std::vector{17} : std::vector{1, 8, 17, 31, 32}) expect_sorts(narrow, bits);
    }
}

TEST_P(SortOn, KeepsTheOrderOfTies)
{
    std::mt19937_64 random(5);
    for (const std::uint64_t distinct : {1u, 2u, 3u, 300u})
        expect_sorts(test::random_integers<std::uint64_t>(20000, 0, distinct - 1, random), 64);
    expect_sorts(std::vector<std::uint32_t>(5000, 77), 32);
}

TEST_P(SortOn, HighBitsBeyondTheAskedOnesAreKept)
{
    std::mt19937_64 random(6);
    const auto pairs = numbered(test::random_integers<std::uint64_t>(3000, 0, ~std::uint64_t{0}, random));
    EXPECT_TRUE(sorted_by(ctx(), pairs, 0) == pairs);
    expect_sorts(pairs.key, 12);
}

TEST_P(SortOn, SortedAndReversed)
{
    std::vector<std::uint64_t> key(30000);
    std::iota(key.begin(), key.end(), std::uint64_t{0});
    expect_sorts(key, prim::bits_for(key.size()));
    std::reverse(key.begin(), key.end());
    expect_sorts(key, prim::bits_for(key.size()));
}

// One pass leaves the pairs elsewhere, two where they were.
TEST_P(SortOn, TellsWhereThePairsStand)
{
    if (ctx().backend() == Backend::cpu) GTEST_SKIP() << "the CPU sorts in place";
    std::mt19937_64 random(7);
    for (const offset_t n : {offset_t{0}, offset_t{1}, offset_t{5000}, offset_t{100000}})
        for (const int bits : {0, 8, 9, 17}) {
            const auto pairs = numbered(test::random_integers<std::uint32_t>(n, 0, (1u << bits) - 1, random));
            ctx().run([&](const auto& q) {
                if constexpr (std::is_same_v<std::remove_cvref_t<decltype(q)>, CudaQueue>) {
                    auto key = test::guarded(q, pairs.key);
                    auto payload = test::guarded(q, pairs.payload);
                    const auto sorted = prim::sort_pairs_anywhere(q, key.data(), payload.data(), n, bits);
                    Pairs<std::uint32_t> got{std::vector<std::uint32_t>(pairs.key.size()),
                                             std::vector<offset_t>(pairs.key.size())};
                    download(q, sorted.key, got.key.data(), n);
                    download(q, sorted.payload, got.payload.data(), n);
                    EXPECT_TRUE(got == plainly_sorted(pairs, bits)) << n << " keys by " << bits << " bits";
                }
                (void)q;
            });
        }
}

#ifdef TULLE_SIM
// CUB leaves the pairs where its last pass wrote to, and does not wait. The simulated GPU leaves that to chance, and
// garbage in the other arrays.
TEST_P(SortOn, LeavesThePairsInEitherPairOfArrays)
{
    if (ctx().backend() == Backend::cpu) GTEST_SKIP() << "the CPU sorts in place";
    std::mt19937_64 random(8);
    const auto pairs = numbered(test::random_integers<std::uint32_t>(300, 0, 99, random));
    std::set<bool> stayed;
    for (int turn = 0; turn < 20; ++turn)
        ctx().run([&](const auto& q) {
            if constexpr (std::is_same_v<std::remove_cvref_t<decltype(q)>, CudaQueue>) {
                auto key = test::guarded(q, pairs.key);
                auto payload = test::guarded(q, pairs.payload);
                const auto sorted = prim::sort_pairs_anywhere(q, key.data(), payload.data(), 300, 7);
                EXPECT_EQ(cudaStreamQuery(q.stream), cudaErrorNotReady) << "nothing is sorted before somebody waits";
                const bool stays = sorted.key == key.data();
                EXPECT_EQ(sorted.payload == payload.data(), stays);
                EXPECT_EQ(key.get() == plainly_sorted(pairs, 7).key, stays);
                EXPECT_NE(payload.get(), pairs.payload) << "what is not the result is no copy either";
                stayed.insert(stays);
            }
            (void)q;
        });
    EXPECT_EQ(stayed.size(), 2u);
}
#endif

TEST_P(SortOn, RefusesWidthsThatKeysDoNotHave)
{
    const auto pairs = numbered(std::vector<std::uint32_t>{2, 1});
    EXPECT_THROW(sorted_by(ctx(), pairs, 33), ValueError);
    EXPECT_THROW(sorted_by(ctx(), pairs, -1), ValueError);
}

TULLE_ON_BACKENDS(SortOn);

TEST(Sort, AnyNumberOfThreads)
{
    std::mt19937_64 random(7);
    const auto pairs = numbered(test::random_integers<std::uint64_t>(100003, 0, 5000, random));
    const auto expected = plainly_sorted(pairs, 13);
    for (const int threads : test::thread_counts)
        EXPECT_TRUE(sorted_by(Context::cpu(threads), pairs, 13) == expected) << threads;
}

TEST(Sort, BitsForKeysBelowALimit)
{
    const std::uint64_t one = 1;
    EXPECT_EQ(prim::bits_for(0), 1);
    EXPECT_EQ(prim::bits_for(1), 1);
    EXPECT_EQ(prim::bits_for(2), 1);
    EXPECT_EQ(prim::bits_for(3), 2);
    EXPECT_EQ(prim::bits_for(256), 8);
    EXPECT_EQ(prim::bits_for(257), 9);
    EXPECT_EQ(prim::bits_for(one << 63), 63);
    EXPECT_EQ(prim::bits_for((one << 63) + 1), 64);
    EXPECT_EQ(prim::bits_for(~std::uint64_t{0}), 64);
}

#ifdef TULLE_HAVE_RAPIDCHECK
TEST_P(SortOn, AnyKeys)
{
    const Context where = ctx();
    EXPECT_TRUE(rc::check("sort_pairs is the stable sort by the lowest bits", [&] {
        const auto pairs = numbered(*rc::gen::arbitrary<std::vector<std::uint64_t>>());
        const int bits = *rc::gen::inRange(1, 65);
        RC_ASSERT(sorted_by(where, pairs, bits) == plainly_sorted(pairs, bits));
    }));
}
#endif

}  // namespace
}  // namespace tulle::inline TULLE_ABI
