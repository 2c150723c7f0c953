// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Arrays a little shorter or longer than the batches that kernels read and write, which end where the memory does
// (support/exact.hpp), with numbers at the ends of 31, 32 and 63 bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "prim/histogram.hpp"
#include "prim/merge_path.hpp"
#include "prim/reduce.hpp"
#include "prim/scan.hpp"
#include "prim/search.hpp"
#include "prim/sort.hpp"
#include "support/backends.hpp"
#include "support/battery.hpp"
#include "support/exact.hpp"

namespace tulle::inline TULLE_ABI {
namespace {

using namespace tulle::test;

class PrimEndsOn : public OnBackend {
protected:
    // go(size, edge) for every size there is; a simulated GPU draws some.
    template <class Go>
    void for_each_size(Go&& go)
    {
        const bool gpu = ctx().backend() == Backend::cuda;
        for (const index_t n : sizes_around_batches(4096))
            for (const Edge edge : {Edge::end, Edge::begin})
                if (!(gpu && edge == Edge::begin) &&
                    is_drawn(std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()) +
                                 std::to_string(n),
                             3)) {
                    SCOPED_TRACE(std::to_string(n) + (edge == Edge::end ? "" : ", after the edge"));
                    go(n, edge);
                }
    }
};

template <class T, class Make>
std::vector<T> numbers(index_t n, Make&& make)
{
    std::vector<T> all(static_cast<std::size_t>(n));
    for (index_t i = 0; i < n; ++i) all[static_cast<std::size_t>(i)] = static_cast<T>(make(i));
    return all;
}

TEST_P(PrimEndsOn, Scan)
{
    const auto c = ctx();
    for_each_size([&](index_t n, Edge edge) {
        const auto count = numbers<offset_t>(n, [](index_t i) { return (offset_t{1} << 31) - 1 + i % 3; });
        std::vector<offset_t> want(count.size() + 1, 0);
        std::inclusive_scan(count.begin(), count.end(), want.begin() + 1);
        const Exact<offset_t> from(c, count, edge, 1), to(c, std::vector<offset_t>(want.size(), -1), edge, 1);
        c.run([&](const auto& q) { prim::exclusive_scan(q, from.data(), to.data(), n); });
        EXPECT_EQ(to.take(), want);
    });
}

TEST_P(PrimEndsOn, Reduce)
{
    const auto c = ctx();
    for_each_size([&](index_t n, Edge edge) {
        const auto wide =
            numbers<offset_t>(n, [n](index_t i) { return i == n - 1 ? offset_t{1} << 40 : (offset_t{1} << 31) + i; });
        const auto narrow = numbers<index_t>(n, [n](index_t i) {
            return i == n - 1 ? max_index : i == 0 ? -max_index : i;
        });
        const Exact<offset_t> w(c, wide, edge, 1);
        const Exact<index_t> k(c, narrow, edge, 1);
        c.run([&](const auto& q) {
            EXPECT_EQ(prim::sum(q, static_cast<const offset_t*>(w.data()), n),
                      std::accumulate(wide.begin(), wide.end(), offset_t{0}));
            EXPECT_EQ(prim::maximum(q, static_cast<const index_t*>(k.data()), n, index_t{-5}),
                      *std::max_element(narrow.begin(), narrow.end()));
            EXPECT_EQ(prim::minimum(q, static_cast<const index_t*>(k.data()), n, max_index),
                      *std::min_element(narrow.begin(), narrow.end()));
        });
    });
}

TEST_P(PrimEndsOn, Histogram)
{
    const auto c = ctx();
    for_each_size([&](index_t n, Edge edge) {
        for (const index_t bins : {1, n, 257}) {
            const auto bin = numbers<index_t>(n, [&](index_t i) { return i == 0 ? bins - 1 : (i * 7) % bins; });
            std::vector<offset_t> want(static_cast<std::size_t>(bins), 0);
            for (const index_t b : bin) ++want[static_cast<std::size_t>(b)];
            const Exact<index_t> from(c, bin, edge, 1);
            const Exact<offset_t> to(c, std::vector<offset_t>(want.size(), -1), edge, 1);
            c.run([&](const auto& q) { prim::histogram(q, from.data(), n, to.data(), bins); });
            EXPECT_EQ(to.take(), want);
        }
    });
}

template <class Key>
void check_sort(const Context& c, index_t n, Edge edge)
{
    const auto key = numbers<Key>(n, [](index_t i) {
        return i % 5 == 0 ? ~std::uint64_t{0} - static_cast<std::uint64_t>(i % 3) : hash_of(3, i);
    });
    std::vector<offset_t> order(key.size());
    std::iota(order.begin(), order.end(), offset_t{0});
    const Exact<Key> key_there(c, key, edge, 1);
    const Exact<offset_t> payload(c, order, edge, 1);
    c.run([&](const auto& q) { prim::sort_pairs(q, key_there.data(), payload.data(), n); });
    std::stable_sort(order.begin(), order.end(), [&](offset_t x, offset_t y) {
        return key[static_cast<std::size_t>(x)] < key[static_cast<std::size_t>(y)];
    });
    EXPECT_EQ(payload.take(), order);
}

TEST_P(PrimEndsOn, Sort)
{
    const auto c = ctx();
    for_each_size([&](index_t n, Edge edge) {
        check_sort<std::uint32_t>(c, n, edge);
        check_sort<std::uint64_t>(c, n, edge);
    });
}

TEST_P(PrimEndsOn, Search)
{
    const auto c = ctx();
    for_each_size([&](index_t n, Edge edge) {
        const auto data = numbers<index_t>(n, [n](index_t i) { return max_index - n + i; });
        const std::vector<index_t> wanted{0, max_index - n, max_index - 1, max_index, max_index - n / 2};
        std::vector<offset_t> want;
        for (const index_t w : wanted) want.push_back(std::lower_bound(data.begin(), data.end(), w) - data.begin());
        const Exact<index_t> from(c, data, edge, 1), what(c, wanted, edge, 1);
        const Exact<offset_t> found(c, std::vector<offset_t>(wanted.size(), -1), edge, 1);
        c.run([&](const auto& q) {
            prim::search_sorted(q, static_cast<const index_t*>(from.data()), n,
                                static_cast<const index_t*>(what.data()), std::ssize(wanted), found.data());
        });
        EXPECT_EQ(found.take(), want);
    });
}

// Offsets beyond 32 bits, of rows that nobody stores.
TEST_P(PrimEndsOn, MergePath)
{
    const auto c = ctx();
    for_each_size([&](index_t n, Edge edge) {
        const offset_t length = offset_t{1} << 31;
        auto begin = numbers<offset_t>(n + 1, [&](index_t i) { return i * length; });
        const offset_t parts = 2 * offset_t{n} + 1;
        const Exact<offset_t> rows(c, begin, edge, 1);
        const Exact<prim::MergePoint> point(c, std::vector<prim::MergePoint>(static_cast<std::size_t>(parts) + 1), edge,
                                            1);
        c.run([&](const auto& q) { prim::merge_path(q, rows.data(), n, begin.back(), parts, point.data()); });
        const auto got = point.take();
        EXPECT_EQ(got.front().row, 0);
        EXPECT_EQ(got.front().nonzero, 0);
        EXPECT_EQ(got.back().row, n);
        EXPECT_EQ(got.back().nonzero, begin.back());
        for (const auto& p : got) {
            EXPECT_GE(p.nonzero, begin[static_cast<std::size_t>(p.row)]);
            EXPECT_LE(p.nonzero, p.row < n ? begin[static_cast<std::size_t>(p.row) + 1] : begin.back());
        }
    });
}

TULLE_ON_BACKENDS(PrimEndsOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI
