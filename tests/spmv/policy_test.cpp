// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// choose() is pure: these tests need no device.
#include "tulle/spmv.hpp"

#include <gtest/gtest.h>

#include <iterator>
#include <numeric>
#include <vector>

#include "spmv/steps.hpp"
#include "tulle/error.hpp"

namespace tulle::inline TULLE_ABI::spmv {
namespace {

const Limits gpu{Backend::cuda, 1};
const Limits cpu8{Backend::cpu, 8};

Features even_rows(double mean)
{
    Features t{};
    t.row = {.rows = 1000,
             .cols = 1000,
             .nonzeros = static_cast<offset_t>(1000 * mean),
             .longest = static_cast<offset_t>(mean) + 1,
             .mean = mean};
    return t;
}

TEST(ChooseSpmv, GivesLongRowsMoreLanes)
{
    EXPECT_EQ(choose(even_rows(200), gpu).policy.lanes, 32);
    int before = 0;
    for (double mean = 1; mean < 100; mean *= 1.5) {
        Features t = even_rows(mean);
        t.row.rows = 100'000;
        t.row.nonzeros *= 100;
        t.row.padded = t.row.nonzeros;
        t.row.widest = 70'000;
        const Policy p = choose(t, gpu).policy;
        if (p.kernel != Kernel::rows) continue;  // stream, of rows in the middle
        EXPECT_GE(p.lanes, before) << mean;
        before = p.lanes;
    }
    EXPECT_GT(before, 1);
}

TEST(ChooseSpmv, StreamsOrSplitsWhereOneRowIsMuchLonger)
{
    Features t = even_rows(5);
    t.row.rows = 1'000'005;
    t.row.nonzeros = 5'000'000;
    t.row.longest = 4700;
    EXPECT_EQ(choose(t, gpu).policy.kernel, Kernel::stream);
    EXPECT_EQ(choose(t, cpu8).policy.kernel, Kernel::rows) << "a thousandth of the work in one row holds nobody up";
    t.reused = false;
    EXPECT_EQ(choose(t, gpu).policy.kernel, Kernel::split) << "used once, it is not worth preparing";
    t.row.longest = 1'000'000;
    EXPECT_EQ(choose(t, gpu).policy.kernel, Kernel::split);
    EXPECT_EQ(choose(t, cpu8).policy.kernel, Kernel::split);
    EXPECT_EQ(choose(t, {Backend::cpu, 1}).policy.kernel, Kernel::rows) << "one thread has nobody to wait for";
    t.row.rows = 384;
    t.row.nonzeros = 16'000;
    t.row.longest = 15'000;
    EXPECT_EQ(choose(t, cpu8).policy.kernel, Kernel::rows) << "one piece of a split kernel has it all";
    t.row.rows = 385;
    EXPECT_EQ(choose(t, cpu8).policy.kernel, Kernel::split);
}

// A long row at the end of a matrix may be all that its thread has to do.
TEST(ChooseSpmv, SplitsRowsOnlyWhereAThreadWouldWait)
{
    Features t = even_rows(3);  // arrow, 139 498 nonzeros, one row of a third of them
    t.row.rows = t.row.cols = 46'500;
    t.row.nonzeros = 139'498;
    t.row.longest = 46'500;
    const Limits two{Backend::cpu, 2};
    EXPECT_EQ(choose(t, two).policy.kernel, Kernel::split) << "nobody knows where it lies";
    t.row.largest_part = 93'500;
    EXPECT_EQ(choose(t, two).policy.kernel, Kernel::rows) << "parts are even";
    t.row.largest_part = 110'000;
    EXPECT_EQ(choose(t, two).policy.kernel, Kernel::split);
    t.row.longest = 100;
    EXPECT_EQ(choose(t, two).policy.kernel, Kernel::split) << "parts are what counts";
}

TEST(ChooseSpmv, KnowsTheLargestPartOfAThread)
{
    const std::vector<offset_t> row_begin{0, 10, 11, 12, 13, 14};
    const std::vector<index_t> col(14);
    const std::vector<double> value(14);
    const CsrView<double> a{
        .rows = 5, .cols = 10, .nonzeros = 14, .row_begin = row_begin.data(), .col = col.data(), .value = value.data()};
    EXPECT_EQ(largest_part(CpuQueue(1), a), 0) << "one thread has it all";
    EXPECT_EQ(largest_part(CpuQueue(2), a), 11) << "the first row, and not also the others";
    EXPECT_EQ(largest_part(CpuQueue(3), a), 11);
}

TEST(ChooseSpmv, GivesSmallMatricesWithALongRowMoreLanesInsteadWhenUsedOnce)
{
    Features t = even_rows(7);
    t.row.longest = 574;
    t.reused = false;
    EXPECT_EQ(choose(t, gpu).policy, (Policy{Kernel::rows, 32, false}));
}

// Measured features and times on an H200.
TEST(ChooseSpmv, TakesTheFastestKernelWithoutPreparationWhenUsedOnce)
{
    Features t = even_rows(10);  // cnr-2000: cut rows 26 us, 16 lanes 60, 32 lanes 66
    t.reused = false;
    t.row = {.rows = 325'557, .cols = 325'557, .nonzeros = 3'216'152, .longest = 2716, .mean = 9.88, .widest = 300'000};
    EXPECT_EQ(choose(t, gpu).policy.kernel, Kernel::split);
    t.row = {.rows = 216'000, .cols = 216'000, .nonzeros = 5'735'339, .longest = 27, .mean = 26.6, .widest = 7400};
    t.row.padded = 5'770'000;  // stencil27:60: one lane 54 us, four 25
    const Policy fast = choose(t, gpu).policy;
    EXPECT_EQ(fast.kernel, Kernel::rows);
    EXPECT_GE(fast.lanes, 4) << "loads of one lane are 27 nonzeros apart";
    EXPECT_FALSE(fast.narrow) << "narrow columns are prepared";
}

TEST(ChooseSpmv, GroupsRowsWithTheSameColumns)
{
    Features t = even_rows(72);  // twin:consph
    t.row = {.rows = 83'334, .cols = 83'334, .nonzeros = 6'010'524, .longest = 81, .mean = 72, .widest = 6434};
    t.row.repeats = 50'988;
    t.row.padded = 6'553'440;
    EXPECT_EQ(choose(t, gpu).policy.kernel, Kernel::groups);
    t.row.longest = 100'000;
    EXPECT_NE(choose(t, gpu).policy.kernel, Kernel::groups) << "nobody waits for a giant";
    t.row.longest = 81;
    t.row.repeats = 100;
    EXPECT_NE(choose(t, gpu).policy.kernel, Kernel::groups);
    t = even_rows(60);
    t.row.repeats = 667;
    EXPECT_NE(choose(t, gpu).policy.kernel, Kernel::groups) << "so small a matrix has lanes enough";
}

TEST(ChooseSpmv, SlicesWhereRowsFollowEachOther)
{
    Features t = even_rows(7);  // stencil7:200
    t.row = {
        .rows = 8'000'000, .cols = 8'000'000, .nonzeros = 55'760'000, .longest = 7, .mean = 6.97, .widest = 80'000};
    t.row.shifts = 7'800'000;
    t.row.padded = 56'000'000;
    EXPECT_EQ(choose(t, gpu).policy.kernel, Kernel::sell);
    t.row.shifts = 0;
    EXPECT_NE(choose(t, gpu).policy.kernel, Kernel::sell) << "columns that nothing foresees";
    t.row.shifts = 7'800'000;
    t.reused = false;
    EXPECT_NE(choose(t, gpu).policy.kernel, Kernel::sell) << "used once";
    t = even_rows(20);
    t.row.shifts = 900;
    t.row.padded = t.row.nonzeros;
    EXPECT_NE(choose(t, gpu).policy.kernel, Kernel::sell) << "small matrices need lanes, not bytes";
}

// Real matrices on which sliced ELL was 2 to 7 times slower than rows: measured features, an H200.
TEST(ChooseSpmv, TakesLanesForSmallMatrices)
{
    Features t = even_rows(32);  // gc_dnn_n1024_l1
    t.row = {.rows = 1024, .cols = 1024, .nonzeros = 32'768, .longest = 32, .mean = 32, .widest = 1023};
    t.row.shifts = 1000;
    t.row.padded = 32'768;
    EXPECT_EQ(choose(t, gpu).policy.kernel, Kernel::rows);
    EXPECT_EQ(choose(t, gpu).policy.lanes, 32);
    t.row = {.rows = 25, .cols = 10'524, .nonzeros = 129'042, .longest = 10'500, .mean = 5161.7, .widest = 10'523};
    t.row.padded = 336'000;  // netlib_fit2d: few rows, very long
    EXPECT_EQ(choose(t, gpu).policy.kernel, Kernel::stream);
}

// A CPU whose vectors cost so much a nonzero, all other kernels what is typical.
Limits cpu_with_vectors(double ns, int threads = 1)
{
    Limits limits{Backend::cpu, threads};
    for (auto* costs : {&limits.costs.steady, &limits.costs.changing})
        for (auto& of_mean : *costs) of_mean.back() = ns;
    limits.costs.measured = true;
    return limits;
}

TEST(ChooseSpmv, TakesGathersOnlyWhereTheyAreMeasuredToBeFast)
{
    for (const double mean : {1.0, 3.0, 6.0, 20.0, 64.0, 500.0})
        for (const index_t steady : {0, 500, 1000}) {
            Features t = even_rows(mean);
            t.row.steady = steady;
            EXPECT_EQ(choose(t, cpu_with_vectors(0.2)).policy, (Policy{Kernel::rows, 8, false}))
                << mean << " " << steady;
            EXPECT_NE(choose(t, cpu_with_vectors(3)).policy.lanes, 8) << "slow gathers, " << mean << " " << steady;
            EXPECT_NE(choose(t, {Backend::cpu, 1}).policy.lanes, 8) << "nothing is measured";
            EXPECT_EQ(choose(t, {Backend::cpu, 1}).policy.kernel, Kernel::rows);
        }
    Features giant = even_rows(20);
    giant.row.longest = 15'000;
    EXPECT_EQ(choose(giant, cpu_with_vectors(0.2, 8)).policy, (Policy{Kernel::split, 8, false}));
    EXPECT_EQ(choose(giant, cpu_with_vectors(3, 8)).policy, (Policy{Kernel::split, 32, false}));
}

TEST(ChooseSpmv, StaysWithTheTypicalLanesWithinTheNoiseOfAClock)
{
    Features t = even_rows(20);
    const int usual = choose(t, cpu8).policy.lanes;
    const double cost = cost_of(RowCosts{}, t.row, usual);
    EXPECT_EQ(choose(t, cpu_with_vectors(0.98 * cost)).policy.lanes, usual);
    EXPECT_EQ(choose(t, cpu_with_vectors(0.9 * cost)).policy.lanes, 8);
}

TEST(ChooseSpmv, TakesMoreSumsWhereRowsAreLongAndTheirEndsForeseen)
{
    Features t = even_rows(3);
    EXPECT_EQ(choose(t, cpu8).policy.lanes, 1) << "uneven and short";
    t = even_rows(200);
    EXPECT_GT(choose(t, cpu8).policy.lanes, 1);
    t.row.steady = t.row.rows;
    EXPECT_EQ(choose(t, cpu8).policy.lanes, 4);
}

TEST(ChooseSpmv, InterpolatesCostsBetweenWhatWasMeasured)
{
    const RowCosts costs = cpu_with_vectors(1).costs;
    Features t = even_rows(4);
    t.row.steady = t.row.rows;
    EXPECT_DOUBLE_EQ(cost_of(costs, t.row, 1), costs.steady[0][0]);
    t.row.mean = 8;  // half-way between 4 and 16
    EXPECT_NEAR(cost_of(costs, t.row, 1), (costs.steady[0][0] + costs.steady[1][0]) / 2, 1e-12);
    t.row.steady = t.row.rows / 2;
    EXPECT_NEAR(cost_of(costs, t.row, 1),
                (costs.steady[0][0] + costs.steady[1][0] + costs.changing[0][0] + costs.changing[1][0]) / 4, 1e-12);
    t.row.mean = 1e6;
    t.row.steady = 0;
    EXPECT_DOUBLE_EQ(cost_of(costs, t.row, 4), costs.changing[2][2]);
    EXPECT_EQ(cost_of(costs, t.row, 3), RowCosts::never);
}

TEST(ChooseSpmv, CpusTakeSlicesWhereTheyAreMeasuredToBeFaster)
{
    Features t = even_rows(20);
    t.row.rows = 20'000;
    t.row.nonzeros = 400'000;
    t.row.shifts = t.row.rows;
    t.row.padded = t.row.nonzeros;
    EXPECT_EQ(choose(t, cpu8).policy.kernel, Kernel::rows) << "nobody knows";
    Limits fast = cpu8;
    fast.costs.sell = 0.5 * fast.costs.sell_rows;
    EXPECT_EQ(choose(t, fast).policy, (Policy{Kernel::sell, 8, false})) << "x is read in pieces";
    fast.costs.sell = 0.9 * fast.costs.sell_rows;
    EXPECT_EQ(choose(t, fast).policy.kernel, Kernel::rows) << "not for so little";
    fast.costs.sell = 0.5 * fast.costs.sell_rows;
    t.row.padded = 2 * t.row.nonzeros;
    EXPECT_EQ(choose(t, fast).policy.kernel, Kernel::rows) << "too much padding";
    Features small = even_rows(20);
    small.row.rows = small.row.shifts = 3120;
    small.row.nonzeros = small.row.padded = 62'415;
    EXPECT_EQ(choose(small, fast).policy.kernel, Kernel::rows) << "slices of little are slow";
    small.row.nonzeros = small.row.padded = 62'416;
    EXPECT_EQ(choose(small, fast).policy.kernel, Kernel::sell);
}

TEST(ChooseSpmv, MeasuresTheMachineOnce)
{
    for (const std::size_t bytes : {sizeof(float), sizeof(double)}) {
        const RowCosts& costs = measured_costs(bytes);
        EXPECT_EQ(&costs, &measured_costs(bytes));
        for (const int lanes : {1, 2, 4}) {
            EXPECT_GT(cost_of(costs, even_rows(10).row, lanes), 0);
            EXPECT_LT(cost_of(costs, even_rows(10).row, lanes), RowCosts::never);
        }
        EXPECT_NE(to_text(costs).find(costs.measured ? "measured" : "typical"), std::string::npos);
    }
    EXPECT_FALSE(typical_costs().measured);
    EXPECT_EQ(typical_costs(), typical_costs());
}

TEST(ChooseSpmv, AClearlyFasterKernelWinsATrial)
{
    const Policy one{Kernel::rows, 1}, four{Kernel::rows, 4};
    const auto after = [](const KernelTrial& tried, const Policy& chosen) {
        return policy_after_trial(tried, chosen, Slices::in_order);
    };
    EXPECT_EQ(after({{1.0, 0.9, 0.8, 0.7}}, one), (Policy{Kernel::rows, 8}));
    EXPECT_EQ(after({{1.0, 0.9, 0.97, RowCosts::never}}, one), (Policy{Kernel::rows, 2}));
    EXPECT_EQ(after({{1.0, 0.96, 0.97, 0.98}}, one), one) << "within the noise of a clock";
    EXPECT_EQ(after({}, four), four) << "nothing was tried";
    EXPECT_EQ(after({{1.0, 0.97, 0.93, 0.95}}, four), one) << "a plain loop unless another gains a tenth";
    EXPECT_EQ(after({{1.0, 0.97, 0.9, 0.95}}, four), four);
}

TEST(ChooseSpmv, RowsAreSortedWhereATrialSaysSo)
{
    const Policy one{Kernel::rows, 1, true}, sorted{Kernel::rows, 1, true, false, true};
    const KernelTrial better{{1.0, 0.9, 0.97, 0.8}, 0.6, 8, 0.7}, equal{{1.0, 0.9, 0.97, 0.8}, 0.75, 8, 0.74};
    EXPECT_EQ(policy_after_trial(better, one, Slices::none), sorted);
    EXPECT_EQ(policy_after_trial(better, {Kernel::rows, 4, true}, Slices::none), sorted);
    EXPECT_EQ(policy_after_trial(better, one, Slices::in_order).kernel, Kernel::sell) << "0.6 is clearly less than 0.7";
    EXPECT_EQ(policy_after_trial(equal, one, Slices::in_order), (Policy{Kernel::rows, 8, true}));
    EXPECT_EQ(policy_after_trial({{1.09, 1.0, 1.1, 1.1}, RowCosts::never, 8, 0.985}, one, Slices::none), one)
        << "faster than one sum, but not than two";
}

TEST(ChooseSpmv, ASplitRowHasVectorsOnlyWhereATrialSaysSo)
{
    const Policy vectors{Kernel::split, 8, true}, sums{Kernel::split, 32, true};
    for (const Policy& chosen : {vectors, sums}) {
        EXPECT_EQ(policy_after_trial({{1.0, 1.0, 1.0, 1.2}}, chosen, Slices::none), sums);
        EXPECT_EQ(policy_after_trial({{1.0, 1.0, 1.0, 0.7}}, chosen, Slices::none), vectors);
        EXPECT_EQ(policy_after_trial({}, chosen, Slices::none), chosen) << "nothing was tried";
    }
}

TEST(ChooseSpmv, SlicesWinATrialOnlyByALargeMargin)
{
    const Policy one{Kernel::rows, 1, true};
    const KernelTrial clear{{1.0, 0.9, 0.97, 0.8}, 0.6}, narrow{{1.0, 0.9, 0.97, 0.8}, 0.75};
    EXPECT_EQ(policy_after_trial(clear, one, Slices::in_order), (Policy{Kernel::sell, 8, true}));
    EXPECT_EQ(policy_after_trial(clear, one, Slices::sorted), (Policy{Kernel::sell, 8, true, false, true}));
    EXPECT_EQ(policy_after_trial(clear, one, Slices::none), (Policy{Kernel::rows, 8, true}));
    EXPECT_EQ(policy_after_trial(narrow, one, Slices::sorted), (Policy{Kernel::rows, 8, true}))
        << "they take a copy of the matrix";
}

TEST(ChooseSpmv, TriesSlicesOfShortRowsAndSortsUnevenOnes)
{
    const auto rows = [](double mean, offset_t padded) {
        return RowFeatures{.rows = 1000, .cols = 1000, .nonzeros = 10000, .mean = mean, .padded = padded};
    };
    EXPECT_EQ(slices_to_try(rows(10, 10400)), Slices::in_order);
    EXPECT_EQ(slices_to_try(rows(10, 10600)), Slices::sorted);
    EXPECT_EQ(slices_to_try(rows(33, 10000)), Slices::none);
    RowFeatures with_long_row = rows(10, 20000);
    with_long_row.longest = 10000 / 4 / 32;
    EXPECT_EQ(slices_to_try(with_long_row), Slices::sorted);
    ++with_long_row.longest;
    EXPECT_EQ(slices_to_try(with_long_row), Slices::none) << "a slice of 32 such rows";
}

// Rows of 1 to 7 nonzeros in the first columns.
struct ShortRows {
    explicit ShortRows(index_t rows)
    {
        for (index_t i = 0; i < rows; ++i) {
            for (index_t k = 0; k <= i % 7; ++k) col.push_back(k);
            row_begin.push_back(std::ssize(col));
        }
        value.assign(col.size(), 1.0);
    }
    CsrView<double> view() const
    {
        return {.rows = static_cast<index_t>(std::ssize(row_begin) - 1),
                .cols = 8,
                .nonzeros = std::ssize(col),
                .row_begin = row_begin.data(),
                .col = col.data(),
                .value = value.data()};
    }
    std::vector<offset_t> row_begin{0};
    std::vector<index_t> col;
    std::vector<double> value;
};

TEST(ChooseSpmv, TriesKernelsOnLargeMatricesOnly)
{
    const CpuQueue q(1);
    for (const index_t rows : {1000, 100'000, 430'000}) {  // the last beyond a core's caches
        const ShortRows a(rows);
        const KernelTrial tried = try_kernels<double>(q, a.view(), Slices::sorted, false);
        for (std::size_t lane = 0; lane < 3; ++lane) EXPECT_EQ(tried.rows[lane]<RowCosts::never, rows> 1000);
        for (const double cost : tried.rows) EXPECT_GT(cost, 0);
        EXPECT_TRUE(tried.rows[3] < RowCosts::never || tried.sell == RowCosts::never)
            << "both need vector instructions";
    }
}

TEST(ChooseSpmv, TriesKernelsOnAllOfASmallMatrixWhereAsked)
{
    const CpuQueue q(1);
    for (const index_t rows : {100, 105}) {  // 495 and 525 rows and nonzeros
        const ShortRows a(rows);
        EXPECT_EQ(try_kernels<double>(q, a.view(), Slices::sorted, false).rows[0], RowCosts::never);
        const KernelTrial tried = try_kernels<double>(q, a.view(), Slices::sorted, true);
        for (std::size_t lane = 0; lane < 3; ++lane) {
            EXPECT_EQ(tried.rows[lane] < RowCosts::never, rows == 105);
            EXPECT_GT(tried.rows[lane], 0);
        }
        EXPECT_EQ(tried.sorted_rows < RowCosts::never, rows == 105);
    }
}

// A second trial would give other times, and perhaps another kernel, which adds in another order.
TEST(ChooseSpmv, RemembersATrial)
{
    ShortRows a(25'600);
    const CpuQueue q(1);
    const KernelTrial first = try_kernels<double>(q, a.view(), Slices::none, false);
    EXPECT_EQ(try_kernels<double>(q, a.view(), Slices::none, false).rows, first.rows);
    EXPECT_NE(try_kernels<double>(q, a.view(), Slices::in_order, false).rows, first.rows) << "another question";
    a.col[static_cast<std::size_t>(a.row_begin[100])] = 7;
    EXPECT_NE(try_kernels<double>(q, a.view(), Slices::none, false).rows, first.rows) << "another pattern";
}

TEST(ChooseSpmv, TriesSortedPartsOfSmallMatrices)
{
    for (const index_t rows : {1, 105, 100'000}) {
        const ShortRows a(rows);
        const double gain = gain_of_sorted_part<double>(CpuQueue(2), a.view());
        if (rows == 105) {
            EXPECT_GT(gain, 0.05);
            EXPECT_LT(gain, 20);
            EXPECT_EQ(gain_of_sorted_part<double>(CpuQueue(2), a.view()), gain) << "remembered";
            EXPECT_NE(gain_of_sorted_part<double>(CpuQueue(3), a.view()), gain) << "other parts";
        }
        EXPECT_EQ(gain == RowCosts::never, rows == 100'000);
    }
}

// Parts inside one row have nothing to multiply: their times would be noise.
TEST(ChooseSpmv, TriesNothingOnAVeryLongRow)
{
    const offset_t nonzeros = 600'000;
    const std::vector<offset_t> row_begin{0, nonzeros};
    std::vector<index_t> col(static_cast<std::size_t>(nonzeros));
    std::iota(col.begin(), col.end(), 0);
    const std::vector<double> value(col.size(), 1.0);
    const CsrView<double> a{.rows = 1,
                            .cols = 600'000,
                            .nonzeros = nonzeros,
                            .row_begin = row_begin.data(),
                            .col = col.data(),
                            .value = value.data()};
    for (const double cost : try_kernels<double>(CpuQueue(1), a, Slices::in_order, false).rows)
        EXPECT_EQ(cost, RowCosts::never);
}

TEST(ChooseSpmv, NarrowsColumnsWhereTheyFit)
{
    Features t = even_rows(36);
    t.row.rows = t.row.cols = 100'000;
    t.row.nonzeros = t.row.padded = 3'600'000;
    t.row.widest = 65'535;
    EXPECT_TRUE(choose(t, gpu).policy.narrow);
    t.row.widest = 65'536;
    EXPECT_FALSE(choose(t, gpu).policy.narrow);
    EXPECT_THROW(check_policy({Kernel::rows, 8, false, true}, t, gpu), ValueError);
    t.row.widest = 10;
    t.row.nonzeros = max_index;
    EXPECT_FALSE(choose(t, gpu).policy.narrow) << "offsets of 32 bits could overflow in a loop";
}

TEST(ChooseSpmv, CopiesByRowsOnlyWhereItPaysOrMust)
{
    Features t = even_rows(10);
    t.transposed = true;
    EXPECT_TRUE(choose(t, gpu).policy.copy);
    t.reused = false;
    EXPECT_EQ(choose(t, gpu).policy, (Policy{Kernel::scatter, 32, false}));
    t.deterministic = true;
    EXPECT_TRUE(choose(t, gpu).policy.copy);
    t.format = Format::csc;
    EXPECT_FALSE(choose(t, gpu).policy.copy) << "CSC transposed is stored by rows of op(A)";
}

TEST(ChooseSpmv, ChoosesAmongItsCandidatesAndThoseOnly)
{
    for (const Format format : {Format::csr, Format::csc, Format::coo, Format::blocked_ell})
        for (const bool transposed : {false, true})
            for (const bool deterministic : {false, true})
                for (const bool reused : {false, true})
                    for (const Limits& limits :
                         {gpu, cpu8, Limits{Backend::cpu, 1}, cpu_with_vectors(0.1), cpu_with_vectors(0.1, 8)}) {
                        Features t = even_rows(12);
                        t.format = format;
                        t.transposed = transposed;
                        t.deterministic = deterministic;
                        t.reused = reused;
                        const Choice choice = choose(t, limits);
                        EXPECT_NO_THROW(check_policy(choice.policy, t, limits))
                            << to_text(format) << " " << to_text(choice.policy);
                        EXPECT_EQ(choice.policy, choose(t, limits).policy);
                        EXPECT_FALSE(choice.why.empty());
                        EXPECT_EQ(wants_copy(t, limits), choice.policy.copy);
                    }
}

TEST(ChooseSpmv, RefusesWhatCannotWork)
{
    Features t = even_rows(10);
    EXPECT_THROW(check_policy({Kernel::entries, 32, false}, t, gpu), ValueError);
    EXPECT_THROW(check_policy({Kernel::rows, 32, true}, t, gpu), ValueError);
    EXPECT_THROW(check_policy({Kernel::rows, 7, false}, t, gpu), ValueError);
    t.transposed = true;
    t.deterministic = true;
    EXPECT_THROW(check_policy({Kernel::scatter, 32, false}, t, gpu), ValueError);
}

TEST(ChooseSpmv, NamesKernels)
{
    for (const Kernel k : {Kernel::rows, Kernel::groups, Kernel::stream, Kernel::sell, Kernel::split, Kernel::scatter,
                           Kernel::entries, Kernel::blocks})
        EXPECT_EQ(parse_kernel(to_text(k)), k);
    EXPECT_THROW(parse_kernel("merge"), ValueError);
    EXPECT_EQ(to_text(Policy{Kernel::rows, 1, false}), "rows, 1 lane");
    EXPECT_EQ(to_text(Policy{Kernel::rows, 8, true, true}), "rows, 8 lanes, narrow columns, on a copy by rows");
    EXPECT_EQ(to_text(Policy{Kernel::sell, 32, false, false, true}), "sell, sorted");
}

}  // namespace
}  // namespace tulle::inline TULLE_ABI::spmv
