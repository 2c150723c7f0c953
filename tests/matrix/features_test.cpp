// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "tulle/features.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include "support/backends.hpp"
#include "support/battery.hpp"

namespace tulle::inline TULLE_ABI {
namespace {

template <class V>
Features features_on(const Context& ctx, const test::HostCsr<V>& a)
{
    return features(ctx, test::view_of(to_device(ctx, a.view())));
}

RowStatistics statistics_on(const Context& ctx, const std::vector<offset_t>& row_begin, index_t cols)
{
    const auto there = to_device(ctx, std::span<const offset_t>(row_begin));
    return row_statistics(ctx, static_cast<index_t>(row_begin.size()) - 1, cols, there.data());
}

RowStatistics plain_statistics(const std::vector<offset_t>& row_begin, index_t cols)
{
    RowStatistics row{.rows = static_cast<index_t>(row_begin.size()) - 1, .cols = cols};
    if (row.rows == 0) return row;
    row.nonzeros = row_begin.back() - row_begin.front();
    row.mean = static_cast<double>(row.nonzeros) / row.rows;
    row.shortest = max_offset;
    long double squares = 0;
    for (index_t i = 0; i < row.rows; ++i) {
        const offset_t length = row_begin[static_cast<std::size_t>(i) + 1] - row_begin[static_cast<std::size_t>(i)];
        row.shortest = std::min(row.shortest, length);
        if (i == 0 || length > row.longest) row.longest = length, row.longest_row = i;
        row.empty_rows += length == 0;
        ++row.rows_by_length[static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(length)))];
        squares += (static_cast<long double>(length) - row.mean) * (static_cast<long double>(length) - row.mean);
    }
    row.deviation = static_cast<double>(std::sqrt(squares / row.rows));
    return row;
}

void expect_same(const RowStatistics& found, const RowStatistics& expected)
{
    EXPECT_EQ(found.rows, expected.rows);
    EXPECT_EQ(found.cols, expected.cols);
    EXPECT_EQ(found.nonzeros, expected.nonzeros);
    EXPECT_EQ(found.shortest, expected.shortest);
    EXPECT_EQ(found.longest, expected.longest);
    EXPECT_EQ(found.longest_row, expected.longest_row);
    EXPECT_EQ(found.mean, expected.mean);
    EXPECT_NEAR(found.deviation, expected.deviation, 1e-12 * (1 + expected.deviation));
    EXPECT_EQ(found.empty_rows, expected.empty_rows);
    EXPECT_EQ(found.rows_by_length, expected.rows_by_length);
}

// Everything else, entry by entry. Among entries at the same position the first is compared with the first, and so on.
template <class V>
Features plain_features(const test::HostCsr<V>& a)
{
    Features f{.row = plain_statistics(a.row_begin, a.cols)};
    const auto entries = a.entries();
    if (a.rows > 0 && a.cols > 0) f.density = static_cast<double>(entries.size()) / a.rows / a.cols;
    std::map<std::pair<index_t, index_t>, std::vector<V>> at;
    std::vector<bool> used(static_cast<std::size_t>(a.cols), false);
    for (const auto& [i, j, v] : entries) {
        at[{i, j}].push_back(v);
        used[static_cast<std::size_t>(j)] = true;
        f.lower_bandwidth = std::max(f.lower_bandwidth, i - j);
        f.upper_bandwidth = std::max(f.upper_bandwidth, j - i);
        f.diagonal += i == j;
    }
    f.empty_cols = static_cast<index_t>(std::ranges::count(used, false));
    if (a.rows != a.cols) return f;

    double found = 0, equal = 0, beside = 0;
    for (const auto& [where, values] : at) {
        if (where.first == where.second) continue;
        beside += static_cast<double>(values.size());
        const auto mirror = at.find({where.second, where.first});
        if (mirror == at.end()) continue;
        found += static_cast<double>(values.size());
        for (std::size_t k = 0; k < std::min(values.size(), mirror->second.size()); ++k)
            equal += values[k] == mirror->second[k];
    }
    f.pattern_symmetry = beside > 0 ? found / beside : 1;
    f.value_symmetry = beside > 0 ? equal / beside : 1;
    std::vector<index_t> level(static_cast<std::size_t>(a.rows), 1);
    for (const auto& [i, j, v] : entries) {
        if (j < i)
            level[static_cast<std::size_t>(i)] =
                std::max(level[static_cast<std::size_t>(i)], level[static_cast<std::size_t>(j)] + 1);
        f.products += a.row_begin[static_cast<std::size_t>(j) + 1] - a.row_begin[static_cast<std::size_t>(j)];
    }
    f.lower_levels = a.rows == 0 ? 0 : std::ranges::max(level);
    return f;
}

void expect_same(const Features& found, const Features& expected)
{
    expect_same(found.row, expected.row);
    EXPECT_DOUBLE_EQ(found.density, expected.density);
    EXPECT_EQ(found.empty_cols, expected.empty_cols);
    EXPECT_EQ(found.lower_bandwidth, expected.lower_bandwidth);
    EXPECT_EQ(found.upper_bandwidth, expected.upper_bandwidth);
    EXPECT_EQ(found.diagonal, expected.diagonal);
    EXPECT_EQ(found.pattern_symmetry, expected.pattern_symmetry);
    EXPECT_EQ(found.value_symmetry, expected.value_symmetry);
    EXPECT_EQ(found.lower_levels, expected.lower_levels);
    EXPECT_EQ(found.products, expected.products);
}

class FeaturesOn : public test::OnBackend {};

TEST_P(FeaturesOn, TheBattery)
{
    const Context where = ctx();
    for (const auto& [name, a] : test::battery<float>(test::Values::integers)) {
        SCOPED_TRACE(name);
        expect_same(features_on(where, a), plain_features(a));
    }
    for (const auto& [name, a] : test::battery<double>(test::Values::reals)) {
        SCOPED_TRACE(name);
        expect_same(features_on(where, a), plain_features(a));
    }
}

TEST_P(FeaturesOn, ASmallMatrixByHand)
{
    //  1 2 . .
    //  2 . 5 .
    //  . 6 . .
    //  7 . . 3
    const auto a =
        test::csr_of<double>(4, 4, {{0, 0, 1}, {0, 1, 2}, {1, 0, 2}, {1, 2, 5}, {2, 1, 6}, {3, 0, 7}, {3, 3, 3}});
    const Features f = features_on(ctx(), a);
    EXPECT_EQ(f.row.shortest, 1);
    EXPECT_EQ(f.row.longest, 2);
    EXPECT_EQ(f.row.longest_row, 0);
    EXPECT_EQ(f.row.mean, 1.75);
    EXPECT_DOUBLE_EQ(f.row.deviation, std::sqrt(0.1875));
    EXPECT_EQ(f.row.rows_by_length[1], 1);
    EXPECT_EQ(f.row.rows_by_length[2], 3);
    EXPECT_DOUBLE_EQ(f.density, 7.0 / 16);
    EXPECT_EQ(f.empty_cols, 0);
    EXPECT_EQ(f.lower_bandwidth, 3);
    EXPECT_EQ(f.upper_bandwidth, 1);
    EXPECT_EQ(f.diagonal, 2);
    EXPECT_DOUBLE_EQ(f.pattern_symmetry, 0.8);
    EXPECT_DOUBLE_EQ(f.value_symmetry, 0.4);
    EXPECT_EQ(f.lower_levels, 3);
    EXPECT_EQ(f.products, 4 + 3 + 2 + 4);
}

TEST_P(FeaturesOn, ChainsAndStars)
{
    const Context where = ctx();
    const index_t n = 300;
    const auto chain = test::matrix_where<double>(n, n, test::Values::integers, 1,
                                                  [](index_t i, index_t j) { return j == i || j + 1 == i; });
    const auto star = test::matrix_where<double>(n, n, test::Values::integers, 1,
                                                 [](index_t i, index_t j) { return j == i || j == 0; });
    const auto upper = test::matrix_where<double>(n, n, test::Values::integers, 1,
                                                  [](index_t i, index_t j) { return j >= i && j < i + 3; });
    const auto full =
        test::matrix_where<double>(70, 70, test::Values::integers, 1, [](index_t, index_t) { return true; });
    EXPECT_EQ(features_on(where, chain).lower_levels, n);
    EXPECT_EQ(features_on(where, star).lower_levels, 2);
    EXPECT_EQ(features_on(where, upper).lower_levels, 1);
    EXPECT_EQ(features_on(where, full).lower_levels, 70);
    EXPECT_EQ(features_on(where, full).products, 70 * 70 * 70);
    EXPECT_EQ(features_on(where, full).pattern_symmetry, 1);
}

TEST_P(FeaturesOn, UnsortedSymmetricMatrix)
{
    const auto sorted = test::matrix_where<double>(80, 80, test::Values::integers, 2, [](index_t i, index_t j) {
        return below(hash_of(5, std::min(i, j), std::max(i, j)), 7) == 0;
    });
    auto entries = sorted.entries();
    for (auto& [i, j, v] : entries) v = i * j + 1;
    std::reverse(entries.begin(), entries.end());
    const auto a = test::csr_of<double>(80, 80, entries);
    ASSERT_FALSE(a.sorted);
    const Features f = features_on(ctx(), a);
    EXPECT_EQ(f.pattern_symmetry, 1);
    EXPECT_EQ(f.value_symmetry, 1);
}

TEST_P(FeaturesOn, RefusesWhatIsNotSound)
{
    auto a = test::csr_of<double>(2, 2, {{0, 1, 1.0}, {1, 0, 1.0}});
    a.col[1] = 7;
    EXPECT_THROW(features_on(ctx(), a), ValueError);
}

TEST_P(FeaturesOn, RowLengthsAlone)
{
    const Context where = ctx();
    for (const index_t rows : {0, 1, 2, 31, 32, 33, 1023, 1024, 1025, 4096, 4097, 100000}) {
        SCOPED_TRACE(rows);
        std::vector<offset_t> begin{0};
        for (index_t i = 0; i < rows; ++i) {
            const std::uint64_t h = hash_of(3, i);
            begin.push_back(begin.back() + static_cast<offset_t>(
                                               below(h, 3) == 0 ? 0 : h >> (32 + below(h >> 8, 31))));  // none to 2^32
        }
        expect_same(statistics_on(where, begin, 9), plain_statistics(begin, 9));
    }
}

TEST_P(FeaturesOn, RowLengthsOfAPartAndOfEqualRows)
{
    const Context where = ctx();
    expect_same(statistics_on(where, {100, 103, 103, 110}, 50), plain_statistics({100, 103, 103, 110}, 50));
    std::vector<offset_t> even;
    for (offset_t i = 0; i <= 5000; ++i) even.push_back(1000003 * i);
    EXPECT_EQ(statistics_on(where, even, 9).deviation, 0);
    EXPECT_EQ(statistics_on(where, even, 9).longest_row, 0);
    EXPECT_THROW(row_statistics(where, -1, 0, nullptr), ValueError);
    EXPECT_THROW(row_statistics(where, 3, 0, nullptr), ValueError);
}

TULLE_ON_BACKENDS(FeaturesOn);

TEST(Features, SameBitsForAnyNumberOfThreads)
{
    std::vector<offset_t> begin{0};
    for (index_t i = 0; i < 120000; ++i)
        begin.push_back(begin.back() + static_cast<offset_t>(below(hash_of(9, i), 1000)));
    const RowStatistics one = statistics_on(Context::cpu(1), begin, 10);
    for (const int threads : {2, 3, 8})
        EXPECT_EQ(statistics_on(Context::cpu(threads), begin, 10).deviation, one.deviation) << threads;
}

}  // namespace
}  // namespace tulle::inline TULLE_ABI
