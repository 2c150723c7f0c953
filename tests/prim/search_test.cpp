// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "prim/search.hpp"

#include <algorithm>

#include "prim/arrays.hpp"

namespace tulle::inline TULLE_ABI {
namespace {

template <class T>
std::vector<offset_t> found_on(const Context& ctx, const std::vector<T>& data, const std::vector<T>& wanted)
{
    return ctx.run([&](const auto& q) {
        auto from = test::guarded(q, data);
        auto what = test::guarded(q, wanted);
        auto found = test::guarded(q, std::vector<offset_t>(wanted.size(), -9));
        prim::search_sorted(q, from.data(), std::ssize(data), what.data(), std::ssize(wanted), found.data());
        return found.get();
    });
}

class SearchOn : public test::OnBackend {
protected:
    template <class T>
    void expect_finds(T high)
    {
        std::mt19937_64 random(13);
        for (const offset_t n : test::sizes)
            for (const offset_t count : {offset_t{0}, offset_t{1}, offset_t{33},
                                         offset_t{simt::under_asan || simt::under_tsan ? 700 : 3000}}) {
                auto data = test::random_integers<T>(n, 0, high, random);
                std::ranges::sort(data);
                const auto wanted = test::random_integers<T>(count, -2, high + 2, random);
                std::vector<offset_t> expected;
                for (const T w : wanted) expected.push_back(std::ranges::lower_bound(data, w) - data.begin());
                EXPECT_EQ(found_on(ctx(), data, wanted), expected) << count << " among " << n;
            }
    }
};

TEST_P(SearchOn, LowerBoundWithManyTies) { expect_finds<index_t>(100); }
TEST_P(SearchOn, LowerBoundBeyond32Bits) { expect_finds<offset_t>(offset_t{1} << 50); }

TULLE_ON_BACKENDS(SearchOn);

TEST(Search, UpperBoundIsBehindTheLastEqual)
{
    const std::vector<index_t> data{1, 1, 3, 3, 3, 8};
    for (index_t wanted = 0; wanted < 10; ++wanted) {
        EXPECT_EQ(prim::upper_bound(data.data(), 6, wanted), std::ranges::upper_bound(data, wanted) - data.begin());
        EXPECT_EQ(prim::lower_bound(data.data(), 6, wanted), std::ranges::lower_bound(data, wanted) - data.begin());
    }
}

}  // namespace
}  // namespace tulle::inline TULLE_ABI
