// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Parts of threads cut by given times, and what a plan makes of them: y has the same bits whatever the cuts.
#include "spmv/part_balance.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <tuple>
#include <vector>

#include "spmv/cpu/merge_interval.hpp"
#include "spmv/steps.hpp"
#include "support/battery.hpp"
#include "tulle/spmv.hpp"

namespace tulle::inline TULLE_ABI::spmv {
namespace {

using namespace tulle::test;
using Step = PartBalance::Step;

// What the last run of a round, in which the parts took so long, is answered with.
Step round_of(PartBalance& balance, const std::vector<double>& seconds)
{
    for (int k = 0; k + 1 < PartBalance::runs_per_round; ++k) {
        EXPECT_TRUE(balance.wants_times());
        EXPECT_EQ(balance.note(seconds), Step::wait);
    }
    EXPECT_TRUE(balance.wants_times());
    return balance.note(seconds);
}

// Runs that are not measured.
std::int64_t rest_of(PartBalance& balance)
{
    std::int64_t runs = 0;
    while (runs < 10 * PartBalance::first_rest && !balance.wants_times()) ++runs;
    return runs;
}

TEST(PartBalance, RestsWherePartsTakeEquallyLong)
{
    PartBalance balance(3);
    EXPECT_EQ(round_of(balance, {1.0, 1.02, 0.99}), Step::rest);
    EXPECT_EQ(rest_of(balance), PartBalance::first_rest - 1);
    EXPECT_EQ(round_of(balance, {1.0, 1.0, 1.0}), Step::rest);
    EXPECT_EQ(rest_of(balance), 4 * PartBalance::first_rest - 1) << "less and less often";
}

TEST(PartBalance, KeepsCutsThatAreFaster)
{
    PartBalance balance(2);
    EXPECT_EQ(round_of(balance, {3.0, 1.0}), Step::cut);
    EXPECT_EQ(balance.least_seconds(), (std::vector{3.0, 1.0}));
    EXPECT_EQ(round_of(balance, {2.2, 1.9}), Step::cut) << "faster, and still uneven";
    EXPECT_EQ(round_of(balance, {2.05, 2.0}), Step::rest);
}

TEST(PartBalance, RestoresCutsThatAreNot)
{
    PartBalance balance(2);
    EXPECT_EQ(round_of(balance, {3.0, 1.0}), Step::cut);
    EXPECT_EQ(round_of(balance, {2.0, 2.99}), Step::restore);
    EXPECT_FALSE(balance.wants_times());
}

TEST(PartBalance, TriesFewCutsInARow)
{
    PartBalance balance(2);
    double longest = 3;
    int cuts = 0;
    while (round_of(balance, {longest, 1.0}) == Step::cut) {
        ++cuts;
        longest *= 0.9;
    }
    EXPECT_EQ(cuts, PartBalance::most_rounds - 1);
}

TEST(PartBalance, TheFirstRunOfARoundAndStallsDoNotCount)
{
    PartBalance balance(2);
    balance.wants_times();
    balance.note(std::vector{0.1, 1.0});  // of the cuts before, perhaps
    for (int k = 1; k + 1 < PartBalance::runs_per_round; ++k) balance.note(std::vector{1.0, k == 2 ? 1.0 : 9.0});
    EXPECT_EQ(balance.note(std::vector{1.0, 9.0}), Step::rest);
    EXPECT_EQ(balance.least_seconds(), (std::vector{1.0, 1.0}));
}

TEST(PartBalance, NothingIsMeasuredWithoutParts)
{
    PartBalance balance;
    EXPECT_EQ(rest_of(balance), 10 * PartBalance::first_rest);
}

// Rows of one nonzero each.
struct Diagonal {
    std::vector<offset_t> row_begin;
    std::vector<prim::MergePoint> cut;

    Diagonal(offset_t rows, const std::vector<offset_t>& cuts) : row_begin(static_cast<std::size_t>(rows) + 1)
    {
        std::iota(row_begin.begin(), row_begin.end(), 0);
        for (const offset_t row : cuts) cut.push_back({row, row});
    }
    std::vector<offset_t> rows_cut_by(const std::vector<double>& seconds) const
    {
        const auto rows = static_cast<offset_t>(row_begin.size()) - 1;
        std::vector<offset_t> at;
        for (const auto& [row, nonzero] : cut_by_times(row_begin.data(), rows, rows, cut, seconds)) {
            EXPECT_EQ(nonzero, row_begin[static_cast<std::size_t>(row)]);
            at.push_back(row);
        }
        return at;
    }
};

TEST(CutByTimes, GivesSlowPartsLess)
{
    const Diagonal half(100, {0, 50, 100});
    EXPECT_EQ(half.rows_cut_by({1.0, 1.0}), (std::vector<offset_t>{0, 50, 100}));
    EXPECT_EQ(half.rows_cut_by({3.0, 1.0}), (std::vector<offset_t>{0, 33, 100})) << "two of three seconds";
    EXPECT_EQ(half.rows_cut_by({1.0, 3.0}), (std::vector<offset_t>{0, 66, 100}));
    const Diagonal thirds(90, {0, 30, 60, 90});
    EXPECT_EQ(thirds.rows_cut_by({8.0, 0.5, 0.5}), (std::vector<offset_t>{0, 11, 22, 90})) << "both inside the first";
}

TEST(CutByTimes, EmptyPartsAndPartsOfNoTime)
{
    const Diagonal some(10, {0, 0, 10, 10});
    EXPECT_EQ(some.rows_cut_by({0.0, 1.0, 0.0}), (std::vector<offset_t>{0, 3, 6, 10}));
    EXPECT_EQ(some.rows_cut_by({0.0, 0.0, 0.0}), (std::vector<offset_t>{0, 0, 0, 10}));
    const Diagonal none(0, {0, 0, 0});
    EXPECT_EQ(none.rows_cut_by({1.0, 2.0}), (std::vector<offset_t>{0, 0, 0}));
}

// All nonzeros of the first rows are read from far apart, so that the first thread takes longest; many runs.
TEST(PartBalance, RunsOfAPlanHaveTheSameBitsWhateverTheCuts)
{
    const auto a = matrix_where<double>(3000, 3000, Values::reals, 5, [](index_t i, index_t j) {
        return j == i || (i < 400 ? (j * 7 + i) % 40 == 0 : j == i - 1);
    });
    const auto x = test_vector<double>(a.cols, Values::reals, 3);
    std::vector<double> y(static_cast<std::size_t>(a.rows)), first;
    const Context ctx = Context::cpu(3);
    const auto plan = Plan<double>::make(ctx, a.view(), {.force = Policy{Kernel::rows, 1}});
    for (int run = 0; run < 400; ++run) {
        plan.run(x, y);
        if (run == 0) first = y;
        ASSERT_EQ(y, first) << "run " << run;
    }
}

// Offsets of 32 bits are those of the matrix, and results are the same with them.
TEST(ShortOffsets, OfManyShortRows)
{
    constexpr index_t rows = 70'000;
    std::vector<std::tuple<index_t, index_t, double>> entries;
    for (index_t i = 0; i < rows; ++i)
        for (index_t k = 0; k < i % 5; ++k) entries.emplace_back(i, (i + 3 * k) % rows, 1.0 + k);
    const auto a = csr_of<double>(rows, rows, entries);
    const Narrow offsets = make_short_offsets(CpuQueue(2), a.view());
    EXPECT_TRUE(offsets.col.empty());
    ASSERT_EQ(offsets.row_begin.size(), rows + 1);
    for (index_t i = 0; i <= rows; ++i)
        ASSERT_EQ(offsets.row_begin.data()[i], a.row_begin[static_cast<std::size_t>(i)]);
    const auto x = test_vector<double>(rows, Values::reals, 4);
    for (const int lanes : {1, 2, 4, 8}) {
        std::vector<double> y(rows, 1.0), want(rows, 1.0);
        const auto plan = Plan<double>::make(Context::cpu(2), a.view(), {.force = Policy{Kernel::rows, lanes}});
        EXPECT_GE(plan.bytes(), (rows + 1) * sizeof(std::int32_t)) << "kept beside the matrix";
        plan.run(2.0, x, 3.0, y);
        multiply_interval(a.view(), {}, {0, 0}, {rows, a.view().nonzeros}, lanes,
                          Vectors<double>{2.0, x.data(), 3.0, want.data()});
        EXPECT_EQ(y, want) << lanes;
    }
}

// Where sorting gains nothing for parts of threads, these are in their own order; one thread has the rows sorted still.
TEST(SortedRows, HaveTheSameBitsWherePartsAreInOrder)
{
    constexpr index_t rows = 1000;
    std::vector<std::tuple<index_t, index_t, double>> entries;
    for (index_t i = 0; i < rows; ++i)
        for (index_t k = 0; k < i * 7 % 12; ++k) entries.emplace_back(i, (i + 3 * k) % rows, 0.1 + k);
    const auto a = csr_of<double>(rows, rows, entries);
    const auto x = test_vector<double>(rows, Values::reals, 4);
    const auto product = [&](int threads, bool sorted, bool parts_in_order) {
        const CpuQueue q(threads);
        Workspace<double> work;
        if (sorted) work.window = make_windows(q, a.view());
        work.parts_in_order = parts_in_order;
        work.point = make_parts(q, a.view());
        std::vector<double> y(rows, 1.0);
        multiply_rows(q, a.view(), 1, work, Vectors<double>{2.0, x.data(), 3.0, y.data()});
        return y;
    };
    const auto want = product(1, false, false);
    for (const int threads : {1, 2, 3}) {
        EXPECT_EQ(product(threads, true, false), want) << threads;
        EXPECT_EQ(product(threads, true, true), want) << threads;
    }
}

}  // namespace
}  // namespace tulle::inline TULLE_ABI::spmv
