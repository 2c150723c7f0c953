// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What a team is held together by: its threads, its signals, its links, the nodes it sits on, and the halos of its
// parts.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "partition/halo.hpp"
#include "partition/nodes.hpp"
#include "partition/signal.hpp"
#include "partition/thread_pool.hpp"
#include "partition/transfers.hpp"
#include "support/backends.hpp"
#include "support/battery.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::partition {
namespace {

using namespace tulle::test;

TEST(ThreadPool, RunsEveryMemberOnItsOwnThreadEveryTime)
{
    for (const int members : {1, 2, 5}) {
        ThreadPool crew(members, std::vector<int>(static_cast<std::size_t>(members), 0));
        std::vector<std::thread::id> first(static_cast<std::size_t>(members)), second(first.size());
        crew.run([&](int m) { first[static_cast<std::size_t>(m)] = std::this_thread::get_id(); });
        crew.run([&](int m) { second[static_cast<std::size_t>(m)] = std::this_thread::get_id(); });
        EXPECT_EQ(first, second);
        for (std::size_t m = 1; m < first.size(); ++m) EXPECT_NE(first[m], first[m - 1]);
    }
}

TEST(ThreadPool, ThrowsTheFirstFailureByNumberAndGoesOn)
{
    ThreadPool crew(4);
    std::atomic<int> ended = 0;
    const auto fail = [&](int m) {
        ++ended;
        if (m >= 1) throw ValueError("member " + std::to_string(m));
    };
    for (int again = 0; again < 20; ++again) try {
            crew.run(fail);
            FAIL();
        } catch (const ValueError& e) {
            EXPECT_STREQ(e.what(), "member 1");
        }
    EXPECT_EQ(ended, 80);
    ended = 0;
    crew.run([&](int) { ++ended; });
    EXPECT_EQ(ended, 4);
}

TEST(Nodes, AreReadFromLists)
{
    EXPECT_EQ(parse_list("0-3,8,10-11"), (std::vector<int>{0, 1, 2, 3, 8, 10, 11}));
    EXPECT_EQ(parse_list("0"), std::vector<int>{0});
    for (const char* wrong : {"", "x", "3-1", "1,,2", "-4", "1-"}) EXPECT_TRUE(parse_list(wrong).empty()) << wrong;
    EXPECT_GE(node_count(), 1);
    for (const int node : nodes_of(Team::cpu(3, 1))) EXPECT_LT(node, node_count());
    EXPECT_NO_THROW(stay_on_node(-1));
    EXPECT_NO_THROW(stay_on_node(100'000));
}

class LinkOn : public OnBackend {};

TEST_P(LinkOn, CopiesAndCountsBetweenAllKindsOfMembers)
{
    const auto c = ctx();
    const std::vector<Context> members{c, ctx(), Context::cpu(1)};
    const std::vector<double> data{1, 2, 3, 4, 5};
    for (const Context& from : members)
        for (const Context& to : members) {
            Transfers link;
            const auto make = [](const Context& at) {
                return at.run([](const auto& q) { return Buffer<double>(q, 5); });
            };
            Buffer<double> source = make(from), target = make(to);
            Signal there(from);
            std::vector<double> got(5);
            link.up(from, data.data(), source.data(), 5);
            there.set(from);
            there.wait(to);
            link.across(from, static_cast<const double*>(source.data()), to, target.data(), 5);
            link.across(from, static_cast<const double*>(source.data()), to, target.data(),
                        0);  // nothing is no message
            link.down(to, static_cast<const double*>(target.data()), got.data(), 5);
            EXPECT_EQ(got, data);
            EXPECT_EQ(link.traffic().host_to_device, 40u);
            EXPECT_EQ(link.traffic().device_to_device, 40u);
            EXPECT_EQ(link.traffic().device_to_host, 40u);
            EXPECT_EQ(link.traffic().copies, 3);
            from.synchronize();
            to.synchronize();
        }
}

// A block of a matrix to a room without gaps, on to another member, and home into a block of a third.
TEST_P(LinkOn, CarriesBlocksOfDenseMatrices)
{
    const std::vector<Context> members{ctx(), ctx(), Context::cpu(1)};
    std::vector<float> whole(6 * 10), home(7 * 10, -1);
    for (std::size_t k = 0; k < whole.size(); ++k) whole[k] = static_cast<float>(k);
    for (const Layout layout : {Layout::row_major, Layout::col_major})
        for (const Context& from : members)
            for (const Context& to : members) {
                Transfers link;
                const auto make = [](const Context& at, offset_t n) {
                    return at.run([&](const auto& q) { return Buffer<float>(q, n); });
                };
                Buffer<float> source = make(from, 12), target = make(to, 4 * 8);
                const bool by_rows = layout == Layout::row_major;
                const DenseView<const float> block{3, 4, 10, layout, whole.data() + 12};
                const DenseView<float> there{3, 4, by_rows ? 4 : 3, layout, source.data()},
                    beside{3, 4, 8, layout, target.data()}, back{3, 4, 10, layout, home.data() + 3};
                Signal arrived(from);
                link.up(from, block, there);
                arrived.set(from);
                arrived.wait(to);
                link.across(from, there, to, beside);
                link.down(to, beside, back);
                for (index_t i = 0; i < 3; ++i)
                    for (index_t j = 0; j < 4; ++j) {
                        EXPECT_EQ(back(i, j), block(i, j));
                        back(i, j) = -1;
                    }
                EXPECT_EQ(home, std::vector<float>(home.size(), -1));  // and nothing else
                EXPECT_EQ(link.traffic().host_to_device, 48u);
                EXPECT_EQ(link.traffic().device_to_device, 48u);
                EXPECT_EQ(link.traffic().device_to_host, 48u);
                EXPECT_EQ(link.traffic().copies, 3);
            }
}

TULLE_ON_BACKENDS(LinkOn);

class HaloOn : public OnBackend {};

TEST_P(HaloOn, FindsAndNumbersWhatLiesOutside)
{
    const auto c = ctx();
    const std::vector<index_t> col{7, 3, 4, 0, 9, 3, 5, 7, 4};
    const auto there = to_device<index_t>(c, std::span<const index_t>(col));
    c.run([&](const auto& q) {
        const Outside outside = find_outside(q, there.data(), 9, 10, {3, 6});
        EXPECT_EQ(outside.count, 3);
        EXPECT_EQ(outside.below, 1);
        const auto listed = list_halo(q, outside);
        const auto halo = to_host<index_t>(c, listed.span());
        EXPECT_EQ(std::vector<index_t>(halo.span().begin(), halo.span().end()), (std::vector<index_t>{0, 7, 9}));
        Buffer<index_t> local(q, 9);
        renumber(q, there.data(), 9, outside.own, outside.number.data(), local.data());
        const auto here = to_host<index_t>(c, std::span<const index_t>(local.span()));
        EXPECT_EQ(std::vector<index_t>(here.span().begin(), here.span().end()),
                  (std::vector<index_t>{4, 1, 2, 0, 5, 1, 3, 4, 2}));  // 0 | 3 4 5 | 7 9
        const std::vector<offset_t> row_begin{0, 2, 2, 6, 7, 9};
        const auto pointer = to_device<offset_t>(c, std::span<const offset_t>(row_begin));
        Buffer<unsigned char> reaches(q, 5);
        find_reaching_rows(q, pointer.data(), 5, there.data(), outside.own, reaches.data());
        const auto rows = to_host<unsigned char>(c, std::span<const unsigned char>(reaches.span()));
        EXPECT_EQ(std::vector<int>(rows.span().begin(), rows.span().end()), (std::vector<int>{1, 0, 1, 0, 1}));
    });
}

TULLE_ON_BACKENDS(HaloOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI::partition
