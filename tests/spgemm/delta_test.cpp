// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// DeltaSPARSE's rules: groups, the switch to the dense accumulator, rows that collide, whether grouping pays; and
// products that need each of them.
#include "spgemm/deltasparse/deltasparse.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "spgemm/hash_slots.hpp"
#include "spgemm/oracle.hpp"
#include "spgemm/products.hpp"
#include "support/backends.hpp"
#include "tulle/spgemm.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::spgemm::delta {
namespace {

using namespace tulle::test;

constexpr index_t wide = 30'000'000;
constexpr int share = Rules{}.dense_share;

TEST(DeltaGroups, GrowByTwo)
{
    EXPECT_EQ(counting_group(0, wide, share), 0);
    EXPECT_EQ(filling_group(0, wide, share, false), 0);
    const offset_t bounds[] = {32, 64, 128, 256, 512, 1024, 2048};
    for (int g = 0; g < 7; ++g) {
        EXPECT_EQ(filling_group(bounds[g], wide, share, false), g + 1);
        EXPECT_EQ(filling_group(bounds[g] + 1, wide, share, false), g + 2);
        if (g == 6) continue;
        EXPECT_EQ(counting_group(bounds[g], wide, share), g + 1);
        EXPECT_EQ(counting_group(bounds[g] + 1, wide, share), g + 2);
    }
    EXPECT_EQ(counting_group(offset_t{1} << 40, wide, share), counting_groups);
}

TEST(DeltaGroups, DenseRowsGoToTheDenseAccumulator)
{
    EXPECT_FALSE(is_dense(76, 1000, share)) << "exactly 7.60 %";
    EXPECT_TRUE(is_dense(77, 1000, share));
    EXPECT_EQ(counting_group(77, 1000, share), counting_groups);
    EXPECT_EQ(counting_group(76, 1000, share), 3);
    EXPECT_EQ(filling_group(77, 1000, share, false), filling_groups);
    EXPECT_EQ(filling_group(76, 1000, share, false), 3);
    EXPECT_EQ(filling_group(5, 1000, share, true), filling_groups) << "it has collided";
    EXPECT_EQ(counting_group(offset_t{1} << 40, max_index, share), counting_groups);
    EXPECT_FALSE(is_dense(100'000'000, max_index, share));
}

TEST(DeltaGroups, GroupingPaysWhereRowsDiffer)
{
    EXPECT_FALSE(group_pays({.density = 0.001, .row_mean = 9, .row_longest = 32}, nullptr));
    EXPECT_FALSE(group_pays({.density = 0.001, .row_mean = 90, .row_longest = 110}, nullptr));
    EXPECT_TRUE(group_pays({.density = 0.001, .row_mean = 9, .row_longest = 4000}, nullptr));
    const auto tree = model::Tree::parse("tulle tree 1\nfeatures row_longest density\nclasses plain grouped\nsplit 0 "
                                         "row_longest 100 1 2\nleaf 1 grouped\nleaf 2 plain\n",
                                         "here");
    EXPECT_TRUE(group_pays({.density = 0.001, .row_mean = 90, .row_longest = 100}, &tree));
    EXPECT_FALSE(group_pays({.density = 0.001, .row_mean = 9, .row_longest = 4000}, &tree));
    EXPECT_TRUE(shall_group({.density = 0.001, .row_mean = 90, .row_longest = 90}, Grouping::grouped));
    EXPECT_FALSE(shall_group({.density = 0.001, .row_mean = 9, .row_longest = 4000}, Grouping::plain));
    const auto other = model::Tree::parse("tulle tree 1\nfeatures moon\nclasses plain grouped\nleaf 0 plain\n", "here");
    EXPECT_THROW(group_pays({}, &other), ValueError);
}

TEST(DeltaGroups, OneGroupHoldsTheLongestRow)
{
    const auto only = [](const std::vector<RowGroup>& groups) {
        int found = 0;
        for (std::size_t k = 0; k < groups.size(); ++k)
            if (groups[k].rows > 0) {
                EXPECT_EQ(found, 0);
                found = static_cast<int>(k) + 1;
            }
        return found;
    };
    const Sizes count{Phase::count, nullptr, nullptr, 0, 10, wide, share},
        fill{Phase::fill, nullptr, nullptr, 0, 10, 1000, share};
    EXPECT_EQ(only(one_group(count, {.row_mean = 20, .row_longest = 33})), 2);
    EXPECT_EQ(only(one_group(count, {.row_mean = 2000, .row_longest = 2001})), counting_groups);
    EXPECT_EQ(only(one_group(fill, {.row_mean = 20, .row_longest = 64})), 2);
    EXPECT_EQ(only(one_group(fill, {.row_mean = 80, .row_longest = 90})), filling_groups) << "dense on the average";
    EXPECT_EQ(only(one_group(fill, {})), 0) << "nothing to do";
}

class DeltaOn : public OnBackend {
protected:
    Csr<double> multiply_so(const Context& c, const HostCsr<double>& a, const HostCsr<double>& b,
                            bool sorted = true) const
    {
        const auto left = to_device(c, a.view()), right = to_device(c, b.view());
        return multiply(c, left.view(), right.view(), {.force = Policy{Method::deltasparse, false}, .sorted = sorted});
    }
};

// Columns whose search begins at the same slot of a table of 2^bits.
std::vector<index_t> columns_that_meet(int count, int bits)
{
    std::vector<index_t> found;
    for (index_t col = 0; std::ssize(found) < count; ++col)
        if (first_slot(col, bits) == 5) found.push_back(col);
    return found;
}

// 60 columns go to a table of 128 slots, all of them to the same one.
TEST_P(DeltaOn, RowsThatCollideAreDoneByTheDenseAccumulator)
{
    const auto c = ctx();
    const auto meet = columns_that_meet(60, 7);
    std::vector<std::tuple<index_t, index_t, double>> a, b;
    for (std::size_t k = 0; k < meet.size(); ++k) b.emplace_back(1, meet[k], static_cast<double>(k) + 0.5);
    for (index_t k = 0; k < 200; ++k) b.emplace_back(2, k * 31, 2.0);  // another row, another length: grouping pays
    a = {{0, 1, 3.0}, {0, 3, 1.0}, {1, 2, 1.0}, {3, 1, -1.0}};
    for (index_t i = 4; i < 40; ++i) a.emplace_back(i, 4 + i % 3, 1.0);
    for (index_t j = 4; j < 7; ++j) b.emplace_back(j, j, 7.0);
    const auto left = csr_of<double>(40, 8, a), right = csr_of<double>(8, meet.back() + 1, b);
    EXPECT_TRUE(matches(host_of(c, multiply_so(c, left, right)), oracle_product(left, right)));

    const auto da = to_device(c, left.view()), db = to_device(c, right.view());
    const auto plan = Plan<double>::make(c, da.view(), db.view(), {.force = Policy{Method::deltasparse, false}});
    const std::string text = plan.describe();
    EXPECT_NE(text.find("counted: 2 rows, up to 64 products, hash table of 128"), std::string::npos) << text;
    EXPECT_NE(text.find("filled:  2 rows, array and bitmap, a block each"), std::string::npos)
        << "both have collided:\n"
        << text;
}

// Rows of all alike lengths are not grouped; short ones are sorted by counting, long ones by digits, the longest need
// no sorting.
TEST_P(DeltaOn, RowsAlikeAreOneGroup)
{
    const auto c = ctx();
    for (const index_t width : {20, 200, 300, 700, 1500, 2500}) {
        std::vector<std::tuple<index_t, index_t, double>> a, b;
        for (index_t i = 0; i < 3; ++i) {
            for (index_t k = 0; k < 2; ++k) a.emplace_back(i, (i + k) % 3, 1.0 + k);
            for (index_t k = 0; k < width / 2; ++k)
                b.emplace_back(i, (k * 97 + i * 13) % 40009, static_cast<double>(k - i));
        }
        std::sort(b.begin(), b.end());
        const auto left = csr_of<double>(3, 3, a), right = csr_of<double>(3, 40009, b);
        SCOPED_TRACE(width);
        const auto da = to_device(c, left.view()), db = to_device(c, right.view());
        const auto plan = Plan<double>::make(c, da.view(), db.view(), {.force = Policy{Method::deltasparse, false}});
        EXPECT_TRUE(matches(host_of(c, plan.run()), oracle_product(left, right)));
        EXPECT_NE(plan.describe().find("all of them alike"), std::string::npos);
    }
}

// Forced: grouped or not, more or fewer rows dense, sorted by counting or by digits; the product is the same.
TEST_P(DeltaOn, EveryRuleCanBeForced)
{
    const auto c = ctx();
    const auto pair = long_row<double>("", 30, 40, 9, 101, Values::integers);
    const auto a = to_device(c, pair.a.view()), b = to_device(c, pair.b.view());
    const SparseProduct want = oracle_product(pair.a, pair.b);
    const auto described = [&](const Rules& rules) {
        const Policy policy{Method::deltasparse, false, rules};
        SCOPED_TRACE(to_text(policy));
        const auto plan = Plan<double>::make(c, a.view(), b.view(), {.force = policy});
        EXPECT_TRUE(matches(host_of(c, plan.run()), want));
        return plan.describe();
    };
    EXPECT_NE(described({.grouping = Grouping::plain}).find("all of them alike"), std::string::npos);
    EXPECT_EQ(described({.grouping = Grouping::grouped}).find("all of them alike"), std::string::npos);
    EXPECT_EQ(described({.grouping = Grouping::grouped, .dense_share = 0}).find("hash table"), std::string::npos)
        << "every row is dense";
    EXPECT_NE(described({.grouping = Grouping::grouped, .dense_share = dense_share_of}).find("nonzeros, hash table"),
              std::string::npos);
    for (const int counted : {0, 64, most_count_sorted})
        described({.grouping = Grouping::grouped, .dense_share = dense_share_of, .count_sorted = counted});
    EXPECT_THROW(described({.dense_share = -1}), ValueError);
    EXPECT_THROW(described({.count_sorted = most_count_sorted + 1}), ValueError);
}

// Where rows are not grouped, those without any product come to the dense accumulator as well.
TEST_P(DeltaOn, RowsWithoutProductsAreCountedAmongDenseOnes)
{
    const auto c = ctx();
    std::vector<std::tuple<index_t, index_t, double>> entries{{0, 1, 1.0}, {1, 1, 7.0}};
    for (index_t j = 2; j < 70; j += 3) entries.emplace_back(1, j, 0.5 * j);
    const auto left = csr_of<double>(6, 4, {{1, 0, 2.0}, {1, 1, 1.0}, {3, 3, 5.0}, {4, 1, -1.0}}),
               right = csr_of<double>(4, 70, entries);
    const auto a = to_device(c, left.view()), b = to_device(c, right.view());
    const Policy policy{Method::deltasparse, false, {.grouping = Grouping::plain, .dense_share = 0}};
    const auto plan = Plan<double>::make(c, a.view(), b.view(), {.force = policy});
    EXPECT_NE(plan.describe().find("counted: 6 rows, all of them alike: bitmap"), std::string::npos) << plan.describe();
    EXPECT_TRUE(matches(host_of(c, plan.run()), oracle_product(left, right)));
}

void sort_rows_of(HostCsr<double>& a)
{
    for (std::size_t i = 0; i + 1 < a.row_begin.size(); ++i) {
        const auto begin = static_cast<std::size_t>(a.row_begin[i]), end = static_cast<std::size_t>(a.row_begin[i + 1]);
        std::vector<std::pair<index_t, double>> row;
        for (std::size_t k = begin; k < end; ++k) row.emplace_back(a.col[k], a.value[k]);
        std::sort(row.begin(), row.end());
        for (std::size_t k = begin; k < end; ++k) std::tie(a.col[k], a.value[k]) = row[k - begin];
    }
}

// Without the sort: the same entries, row by row.
TEST_P(DeltaOn, UnsortedRowsHaveTheSameEntries)
{
    const auto c = ctx();
    const auto pair = long_row<double>("", 30, 40, 9, 1001, Values::integers);
    const SparseProduct want = oracle_product(pair.a, pair.b);
    for (const Policy& policy : candidates({c.backend(), c.host().threads})) {
        SCOPED_TRACE(to_text(policy));
        const auto a = to_device(c, pair.a.view()), b = to_device(c, pair.b.view());
        const Csr<double> product = multiply(c, a.view(), b.view(), {.force = policy, .sorted = false});
        EXPECT_EQ(product.sorted, always_sorts(policy, c.backend()));
        EXPECT_TRUE(product.unique);
        HostCsr<double> got = host_of(c, product.view());
        EXPECT_TRUE(!product.sorted || matches(got, want));
        sort_rows_of(got);
        EXPECT_TRUE(matches(got, want));
    }
}

TULLE_ON_BACKENDS(DeltaOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI::spgemm::delta
