// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The cuts themselves: fair, in order, complete, and free of overflow.
#include "partition/split_steps.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "support/backends.hpp"
#include "support/battery.hpp"
#include "tulle/partition.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::partition {
namespace {

using namespace tulle::test;

class SplitOn : public OnBackend {};

// Weights of `items` items: many zeros, small ones, and now and then a giant.
std::vector<offset_t> random_prefix(offset_t items, std::uint64_t seed)
{
    std::vector<offset_t> prefix{0};
    for (offset_t i = 0; i < items; ++i) {
        const std::uint64_t h = hash_of(seed, i);
        const auto small = static_cast<offset_t>(below(h, 7));
        prefix.push_back(prefix.back() + (h % 3 == 0 ? 0 : h % 29 == 1 ? 50 * small : small));
    }
    return prefix;
}

std::vector<Cut> split_there(const Context& ctx, const std::vector<offset_t>& prefix, int parts,
                             const SplitOptions& options)
{
    const auto there = to_device<offset_t>(ctx, std::span<const offset_t>(prefix));
    return split(ctx, there.data(), std::ssize(prefix) - 1, parts, options);
}

// What every list of cuts must keep, whatever the rule.
void expect_sound(const std::vector<Cut>& cuts, const std::vector<offset_t>& prefix, int parts)
{
    ASSERT_EQ(std::ssize(cuts), parts + 1);
    EXPECT_EQ(cuts.front(), Cut{});
    EXPECT_EQ(cuts.back(), (Cut{prefix.back(), std::ssize(prefix) - 1, false}));
    for (std::size_t p = 0; p < cuts.size(); ++p) {
        const auto item = static_cast<std::size_t>(cuts[p].item);
        EXPECT_TRUE(p == 0 || (cuts[p - 1].at <= cuts[p].at && cuts[p - 1].item <= cuts[p].item)) << "cut " << p;
        EXPECT_EQ(cuts[p].inside, cuts[p].at < prefix[item]) << "cut " << p;
        EXPECT_TRUE(cuts[p].inside ? cuts[p].at > prefix[item - 1] : cuts[p].at == prefix[item]) << "cut " << p;
    }
}

TEST_P(SplitOn, KeepsItsRule)
{
    const auto c = ctx();
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        if (!is_drawn("split " + std::to_string(seed), 8)) continue;
        const auto prefix = random_prefix(static_cast<offset_t>(below(hash_of(seed, 1), 60)), seed);
        const int parts = 1 + static_cast<int>(below(hash_of(seed, 2), 12));
        const auto fair = fair_positions(prefix.back(), parts);
        const auto exact = split_there(c, prefix, parts, {.rule = Rule::exact}),
                   whole = split_there(c, prefix, parts, {.rule = Rule::whole}),
                   tolerant = split_there(c, prefix, parts, {.rule = Rule::tolerant, .tolerance = 0.2});
        SCOPED_TRACE(seed);
        for (const auto& cuts : {exact, whole, tolerant}) expect_sound(cuts, prefix, parts);
        for (std::size_t p = 0; p < fair.size(); ++p) {
            EXPECT_EQ(exact[p].at, fair[p]);
            EXPECT_FALSE(whole[p].inside);
            offset_t nearest = max_offset;
            for (const offset_t border : prefix) nearest = std::min(nearest, std::abs(border - fair[p]));
            EXPECT_EQ(std::abs(whole[p].at - fair[p]), nearest) << "cut " << p;
            EXPECT_TRUE(!tolerant[p].inside || tolerant[p].at == fair[p]) << "cut " << p;
        }
        for (std::size_t p = 0; p + 1 < fair.size(); ++p) {
            const auto size = static_cast<double>(tolerant[p + 1].at - tolerant[p].at),
                       share = static_cast<double>(fair[p + 1] - fair[p]);
            EXPECT_LE(size, 1.2 * share) << "part " << p;
        }
    }
}

TEST_P(SplitOn, GivesSharesInProportion)
{
    std::vector<offset_t> prefix(101);
    std::iota(prefix.begin(), prefix.end(), offset_t{0});
    const auto cuts = split_there(ctx(), prefix, 4, {.shares = {1, 0, 3, 6}});
    EXPECT_EQ(cuts,
              (std::vector<Cut>{{0, 0, false}, {10, 10, false}, {10, 10, false}, {40, 40, false}, {100, 100, false}}));
}

TEST_P(SplitOn, CarriesCutsOver)
{
    const auto c = ctx();
    const std::vector<offset_t> nonzeros{0, 5, 5, 9, 20}, products{0, 100, 101, 102, 103};
    const auto there = to_device<offset_t>(c, std::span<const offset_t>(nonzeros));
    const auto cuts = split_there(c, products, 2, {});
    EXPECT_EQ(cuts[1].item, 1);
    const auto carried = map_cuts(c, std::span<const Cut>(cuts), there.data());
    EXPECT_EQ(carried, (std::vector<Cut>{{0, 0, false}, {5, 1, false}, {20, 4, false}}));
    const std::vector<Cut> inside{{0, 0, false}, {3, 1, true}, {20, 4, false}};
    EXPECT_THROW(map_cuts(c, std::span<const Cut>(inside), there.data()), ValueError);
}

// More than 2^31 nonzeros: only the pointer need be there to cut them.
TEST_P(SplitOn, CutsMoreThanTwoToTheThirtyOneNonzeros)
{
    const auto c = ctx();
    std::vector<offset_t> row_begin{0};
    for (int i = 0; i < 100; ++i)
        row_begin.push_back(row_begin.back() + (i == 40 ? offset_t{1} << 31 : offset_t{1} << 20));
    const auto there = to_device<offset_t>(c, std::span<const offset_t>(row_begin));
    const auto cuts = split(c, there.data(), 100, 8, {.rule = Rule::exact});
    expect_sound(cuts, row_begin, 8);
    const auto parts = parts_of(cuts);
    c.run([&](const auto& q) {
        offset_t entries = 0;
        for (const Part& part : parts) entries += part.lines() + 1;
        Buffer<offset_t> local(q, entries);
        write_pointers(q, there.data(), parts, local.data());
        const auto here = to_host<offset_t>(c, std::span<const offset_t>(local.span()));
        const offset_t* at = here.data();
        for (const Part& part : parts) {
            for (index_t j = 0; j <= part.lines(); ++j)
                EXPECT_EQ(at[j],
                          std::clamp(row_begin[static_cast<std::size_t>(part.first_line + j)], part.begin, part.end) -
                              part.begin);
            at += part.lines() + 1;
        }
    });
    EXPECT_EQ(parts[4].nonzeros(), row_begin.back() / 8);  // inside the giant
    EXPECT_TRUE(parts[4].head);
}

TULLE_ON_BACKENDS(SplitOn);

// nnz * parts >= 2^31 and far beyond: nothing is multiplied before it is divided.
TEST(Split, DoesNotOverflow)
{
    __extension__ using wide = __int128;
    for (const offset_t total :
         {offset_t{0}, offset_t{1}, (offset_t{1} << 31) + (offset_t{1} << 20), max_offset - 1, max_offset})
        for (const int parts : {1, 2, 7, 8, 1000, max_index})
            for (const offset_t p :
                 {offset_t{0}, offset_t{1}, offset_t{parts} / 2, offset_t{parts} - 1, offset_t{parts}})
                EXPECT_EQ(fair_position(total, p, parts), static_cast<offset_t>(static_cast<wide>(total) * p / parts))
                    << total << " " << p << "/" << parts;
}

TEST(Split, RefusesWhatCannotBe)
{
    const std::vector<offset_t> prefix{0, 3, 4};
    const auto c = Context::cpu(1);
    EXPECT_THROW(split(c, prefix.data(), 2, 0), ValueError);
    EXPECT_THROW(split(c, prefix.data(), 2, -3), ValueError);
    EXPECT_THROW(split(c, prefix.data(), 2, 3, {.shares = {1, 1}}), ShapeError);
    EXPECT_THROW(split(c, prefix.data(), 2, 2, {.shares = {-1, 2}}), ValueError);
    EXPECT_THROW(split(c, prefix.data(), 2, 2, {.shares = {0, 0}}), ValueError);
    EXPECT_THROW(split(c, prefix.data(), 2, 2, {.tolerance = -0.5}), ValueError);
    EXPECT_THROW(split(c, prefix.data(), 2, 2, {.tolerance = 1.5}), ValueError);
}

TEST(Split, TellsTheImbalance)
{
    EXPECT_EQ(imbalance(split_evenly(100, 4)), 1.0);
    EXPECT_EQ(imbalance(split_evenly(0, 4)), 1.0);
    EXPECT_EQ(imbalance(split_evenly(100, 2, {.shares = {3, 1}})), 1.5);
}

}  // namespace
}  // namespace tulle::inline TULLE_ABI::partition
