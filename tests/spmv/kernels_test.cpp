// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Matrices made for one kernel each: giants, runs of equal rows, rows that follow each other, wide and narrow ones;
// dots and mixed types.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "spmv/group_size.hpp"
#include "spmv/steps.hpp"
#include "support/backends.hpp"
#include "support/battery.hpp"
#include "support/guarded.hpp"
#include "support/oracle.hpp"
#include "tulle/memory.hpp"
#include "tulle/spmv.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::spmv {
namespace {

using namespace tulle::test;

class SpmvKernelsOn : public OnBackend {
protected:
    bool on_gpu() const { return ctx().backend() == Backend::cuda; }
    std::vector<int> lanes_of_slices() const { return on_gpu() ? std::vector{32} : std::vector{1, 4, 8}; }
};

// y = 2 A x - y under a policy must be exact, twice: counters of the first run are ready for the second.
template <class V>
void expect_exact(const Context& ctx, const HostCsr<V>& a, const Policy& policy)
{
    SCOPED_TRACE(to_text(policy));
    const auto there = to_device(ctx, a.view());
    const auto x = test_vector<V>(a.cols, Values::integers, 6), y = test_vector<V>(a.rows, Values::integers, 7);
    const auto plan = Plan<V>::make(ctx, there.view(), {.force = policy});
    const auto x_there = to_device<V>(ctx, std::span<const V>(x));
    const auto want = oracle_multiply(a, false, V(2), x, V(-1), y);
    for (int run = 0; run < 2; ++run) {
        Guarded<V> out(ctx, y);
        plan.run(V(2), x_there.span(), V(-1), out.span());
        const auto got = out.take();
        for (std::size_t i = 0; i < got.size(); ++i)
            ASSERT_EQ(static_cast<long double>(got[i]), want.value[i]) << "row " << i << ", run " << run;
    }
}

// Rows of 2048 nonzeros fill a block of the stream kernel, longer ones are cut; short, empty and middling ones stand
// between them.
TEST_P(SpmvKernelsOn, StreamTakesGiantsAndWhatIsBetween)
{
    if (!on_gpu()) GTEST_SKIP() << "the stream kernel is the GPU's";
    const std::vector<index_t> lengths{3, 0, 2048, 1, 2049, 0, 0, 5000, 700, 130, 66, 64, 4096, 1, 1};
    const auto a = matrix_where<double>(static_cast<index_t>(lengths.size()), 5003, Values::integers, 4,
                                        [&](index_t i, index_t j) { return j < lengths[static_cast<std::size_t>(i)]; });
    expect_exact(ctx(), a, {Kernel::stream, 32, false});
}

// So many short rows in a block that each has a lane; the few long ones are then taken by a warp.
TEST_P(SpmvKernelsOn, StreamTakesLongRowsAmongManyShortOnes)
{
    if (!on_gpu()) GTEST_SKIP() << "the stream kernel is the GPU's";
    const auto a = matrix_where<double>(600, 301, Values::integers, 4, [&](index_t i, index_t j) {
        return j == i % 301 || i == 100 || (i == 131 && j < 66) || (i == 400 && j < 64);
    });
    expect_exact(ctx(), a, {Kernel::stream, 32, false});
}

TEST_P(SpmvKernelsOn, StreamTakesMoreRowsThanABlockHolds)
{
    if (!on_gpu()) GTEST_SKIP() << "the stream kernel is the GPU's";
    const auto a = matrix_where<float>(2300, 40, Values::integers, 4,
                                       [&](index_t i, index_t j) { return i > 1100 && (i + j) % 37 == 0; });
    expect_exact(ctx(), a, {Kernel::stream, 32, false});
}

// Runs of 1 to 9 equal rows, some of them empty, of lengths that leave lanes without work and give them several
// columns.
TEST_P(SpmvKernelsOn, GroupsTakeRunsOfAnyLength)
{
    std::vector<index_t> pattern_of;
    for (index_t run = 1; run <= 9; ++run) pattern_of.insert(pattern_of.end(), static_cast<std::size_t>(run), run);
    pattern_of.insert(pattern_of.end(), {10, 11, 12});  // rows of one entry each, in different columns
    const auto a = matrix_where<double>(static_cast<index_t>(pattern_of.size()), 300, Values::integers, 9,
                                        [&](index_t i, index_t j) {
                                            const index_t p = pattern_of[static_cast<std::size_t>(i)];
                                            return p >= 10 ? j == p : p != 4 && j % (p + 1) == 0 && (p != 7 || j < 20);
                                        });
    for (const int lanes : on_gpu() ? std::vector{8, 16, 32} : std::vector{1})
        expect_exact(ctx(), a, {Kernel::groups, lanes, false});
}

// More rows than a kernel looks at in one turn: runs of 1 to 7 rows with one entry each, here and there an empty one.
HostCsr<double> many_short_runs(index_t rows)
{
    HostCsr<double> a{.rows = rows, .cols = 1000, .row_begin = {0}, .col = {}, .value = {}};
    for (index_t i = 0, run = 0, left = 0; i < rows; ++i) {
        if (left == 0) left = ++run % 11 == 0 ? 1 : 1 + run % 7;
        --left;
        if (run % 11 != 0) a.col.push_back(run % 1000);
        a.row_begin.push_back(std::ssize(a.col));
    }
    a.value.assign(a.col.size(), 1);
    return a;
}

// Every length from 0 to 11, and now and then one of 40.
HostCsr<double> uneven_rows(index_t rows)
{
    HostCsr<double> a{.rows = rows, .cols = 100, .row_begin = {0}, .col = {}, .value = {}};
    for (index_t i = 0; i < rows; ++i) {
        const auto drawn = static_cast<index_t>(hash_of(11, i) % 97), length = drawn == 96 ? 40 : drawn % 12;
        for (index_t k = 0; k < length; ++k) a.col.push_back(i % 20 + 2 * k);
        a.row_begin.push_back(std::ssize(a.col));
    }
    for (std::size_t k = 0; k < a.col.size(); ++k) a.value.push_back(unit(hash_of(12, k)) - 0.5);
    return a;
}

TEST_P(SpmvKernelsOn, GroupsCoverEveryRowOnceAndAreAsFewAsCanBe)
{
    const auto c = ctx();
    for (const index_t rows : {1, 255, 257, 66000}) {
        const auto a = many_short_runs(rows);
        const auto there = to_device(c, a.view());
        const index_t chunk = on_gpu() ? 256 : rows;  // a GPU cuts runs there
        const auto same = [&](index_t i) {
            const auto begin = a.row_begin[static_cast<std::size_t>(i)],
                       length = a.row_begin[static_cast<std::size_t>(i) + 1] - begin,
                       before = a.row_begin[static_cast<std::size_t>(i) - 1];
            return i % chunk != 0 && begin - before == length &&
                   (length == 0 || a.col[static_cast<std::size_t>(begin)] == a.col[static_cast<std::size_t>(before)]);
        };
        c.run([&](const auto& q) {
            const Groups made = make_groups(q, there.view());
            std::vector<RowGroup> group(static_cast<std::size_t>(made.group.size()));
            download(q, made.group.data(), group.data(), made.group.size());
            index_t row = 0;
            for (const RowGroup& g : group) {
                ASSERT_EQ(g.row, row);
                ASSERT_EQ(g.begin, a.row_begin[static_cast<std::size_t>(row)]);
                ASSERT_EQ(g.length(), a.row_begin[static_cast<std::size_t>(row) + 1] - g.begin);
                ASSERT_LE(g.rows(), made.most);
                for (index_t i = row + 1; i < row + g.rows(); ++i) ASSERT_TRUE(same(i)) << "row " << i;
                row += g.rows();
                ASSERT_TRUE(g.rows() == made.most || row == rows || !same(row))
                    << "row " << row << " could have joined";
            }
            EXPECT_EQ(row, rows);
        });
    }
}

TEST_P(SpmvKernelsOn, KnowsRowsOfALargeMatrix)
{
    if (simt::under_tsan) GTEST_SKIP() << "the same kernel as for small ones, for long";
    const auto c = ctx();
    const auto a = many_short_runs(135000);
    const auto there = to_device(c, a.view());
    const RowFeatures row = c.run([&](const auto& q) { return survey(q, there.view(), false).row; });
    index_t repeats = 0, shifts = 0;
    offset_t padded = 0;
    for (std::size_t i = 0; i < 135000; ++i) {
        const auto begin = static_cast<std::size_t>(a.row_begin[i]);
        const bool here = a.row_begin[i + 1] > a.row_begin[i], before = i > 0 && a.row_begin[i] > a.row_begin[i - 1];
        if (here && before) repeats += a.col[begin] == a.col[begin - 1], shifts += a.col[begin] == a.col[begin - 1] + 1;
        if (i % 32 == 0 && a.row_begin[std::min<std::size_t>(i + 32, 135000)] > a.row_begin[i]) padded += 32;
    }
    EXPECT_EQ(row.repeats, repeats);
    EXPECT_EQ(row.shifts, shifts);
    EXPECT_EQ(row.padded, padded);
    EXPECT_EQ(row.longest, 1);
}

// Unknowns of one node have the same columns: nodes of 2, 3, 4 and 6 unknowns lead to groups of 2, 3, 4 and 3 rows.
TEST_P(SpmvKernelsOn, GroupsAreFoundInMeshes)
{
    const auto c = ctx();
    for (const index_t unknowns : {2, 3, 4, 6}) {
        const auto a =
            matrix_where<float>(24 * unknowns, 24 * unknowns, Values::integers, 3, [&](index_t i, index_t j) {
                return std::abs(i / unknowns - j / unknowns) <= 2 || i / unknowns == 23 - j / unknowns;
            });
        expect_exact(c, a, {Kernel::groups, on_gpu() ? 16 : 1, false});
        const auto there = to_device(c, a.view());
        const auto plan = Plan<float>::make(c, there.view());
        EXPECT_EQ(plan.features().row.repeats, 24 * (unknowns - 1));
    }
}

// Bands follow each other (no distances kept), then distances of one, two and four bytes, and a slice with rows of all
// lengths.
TEST_P(SpmvKernelsOn, SlicesKeepColumnsInEveryForm)
{
    const index_t n = 70000;
    std::vector<std::tuple<index_t, index_t, double>> entries;
    for (index_t i = 0; i < 200; ++i) {
        const auto put = [&](index_t j) { entries.emplace_back(i, j, test_value<double>(Values::integers, 5, i, j)); };
        if (i < 64) put(i), put(i + 40);
        else if (i < 96) put(100 + (i * 7) % 200);
        else if (i < 128) put(1000 + (i * 977) % 60000);
        else if (i < 160) put(i % 2 == 0 ? i : n - i);
        else if (i != 170)
            for (index_t k = 0; k < i - 159; ++k) put(3 * k + i % 5);
    }
    const auto a = csr_of<double>(200, n, entries);
    for (const int lanes : lanes_of_slices())
        for (const bool sort : {false, true}) expect_exact(ctx(), a, {Kernel::sell, lanes, false, false, sort});
}

// Five diagonals as of a grid of 40 points a line: the neighbours of its ends are missing, and a few entries elsewhere.
template <class V>
HostCsr<V> grid_with_holes(index_t n)
{
    const auto is_neighbour = [](index_t i, index_t j) {
        const index_t distance = std::abs(i - j);
        return distance == 0 || distance == 40 || (distance == 1 && std::max(i, j) % 40 != 0);
    };
    return matrix_where<V>(n, n, Values::integers, 8,
                           [&](index_t i, index_t j) { return is_neighbour(i, j) && (i * 31 + j) % 23 != 0; });
}

// On a CPU their slices are kept by diagonals. Rows in no order are not.
TEST_P(SpmvKernelsOn, SlicesByDiagonals)
{
    const auto a = grid_with_holes<double>(1000);
    const auto f = grid_with_holes<float>(1000);
    for (const int lanes : lanes_of_slices()) {
        expect_exact(ctx(), a, {Kernel::sell, lanes, false});
        expect_exact(ctx(), f, {Kernel::sell, lanes, false});
    }
    auto turned = a;
    for (std::size_t i = 0; i + 1 < turned.row_begin.size(); ++i) {
        std::reverse(turned.col.begin() + turned.row_begin[i], turned.col.begin() + turned.row_begin[i + 1]);
        std::reverse(turned.value.begin() + turned.row_begin[i], turned.value.begin() + turned.row_begin[i + 1]);
    }
    turned.sorted = false;
    for (const int lanes : lanes_of_slices()) expect_exact(ctx(), turned, {Kernel::sell, lanes, false});
    const auto diagonals = [](const HostCsr<double>& m) {
        return make_sell(CpuQueue(1), m.view(), false, 0).lanes.size();
    };
    EXPECT_GT(diagonals(a), 0);
    EXPECT_EQ(diagonals(turned), 0);
}

TEST_P(SpmvKernelsOn, SlicesByDiagonalsReadNothingInTheirHoles)
{
    const auto c = ctx();
    const auto a = grid_with_holes<double>(1000);
    const auto there = to_device(c, a.view());
    std::vector<double> x(1000, 1.0);
    for (std::size_t j = 3; j < x.size(); j += 17) x[j] = std::nan("");
    const auto x_there = to_device<double>(c, std::span<const double>(x));
    for (const int lanes : lanes_of_slices()) {
        Guarded<double> y(c, std::vector<double>(1000));
        Plan<double>::make(c, there.view(), {.force = Policy{Kernel::sell, lanes, false}})
            .run(x_there.span(), y.span());
        const auto got = y.take();
        for (std::size_t i = 0; i < got.size(); ++i) {
            const bool meets = std::any_of(a.col.begin() + a.row_begin[i], a.col.begin() + a.row_begin[i + 1],
                                           [](index_t j) { return j % 17 == 3; });
            ASSERT_EQ(std::isnan(got[i]), meets) << "row " << i << ", " << lanes << " lanes";
        }
    }
}

// Doubles that are floats are kept in half the memory on a GPU; the sums have the same bits. New values are doubles
// again.
TEST_P(SpmvKernelsOn, SlicesOfFloatsTakeHalfTheMemory)
{
    const Context c = ctx();
    const auto policy = Policy{Kernel::sell, lanes_of_slices().front(), false};
    auto a = random_matrix<double>(500, 400, 0.05, Values::integers, 7);
    auto other = a;
    for (double& value : a.value) value /= 8;
    other.value = a.value;
    other.value.back() += 0x1p-40;  // no float; only the last row differs
    std::vector<double> ones(400), expected(500);
    for (std::size_t j = 0; j < ones.size(); ++j) ones[j] = 1.0 / static_cast<double>(j + 3);
    const auto x = to_device<double>(c, std::span<const double>(ones));
    auto y = to_device<double>(c, std::span<const double>(expected));
    const Csr<double> floats = to_device(c, a.view()), doubles = to_device(c, other.view());
    auto narrow = Plan<double>::make(c, floats.view(), {.force = policy});
    const auto wide = Plan<double>::make(c, doubles.view(), {.force = policy});
    const auto product = [&](const Plan<double>& plan) {
        plan.run(x.span(), y.span());
        return host_vector(c, y);
    };
    const std::vector<double> of_wide = product(wide), of_narrow = product(narrow);
    EXPECT_TRUE(std::equal(of_wide.begin(), of_wide.end() - 1, of_narrow.begin()));
    EXPECT_EQ(narrow.describe().find("values in float") != std::string::npos, on_gpu());
    EXPECT_EQ(wide.describe().find("values in float"), std::string::npos);
    if (on_gpu()) {
        EXPECT_LT(narrow.bytes(), wide.bytes());
    }
    narrow.update_values(doubles.view());
    EXPECT_EQ(product(narrow), of_wide);
    EXPECT_EQ(narrow.bytes(), wide.bytes());
    narrow.update_values(floats.view());
    EXPECT_EQ(product(narrow), of_narrow);
}

TEST_P(SpmvKernelsOn, SlicesAreSortedInsideWindows)
{
    const auto a = matrix_where<float>(4200, 60, Values::integers, 5,
                                       [](index_t i, index_t j) { return j % 20 == i % 20 && j < (i * 13) % 70; });
    for (const int lanes : lanes_of_slices()) expect_exact(ctx(), a, {Kernel::sell, lanes, false, false, true});
}

// Rows of 0 to 11 nonzeros and some long ones, in windows that begin and end anywhere in the part of a thread: the bits
// of one sum, also where y is added to, and in windows that are not full.
template <class V, class M>
void expect_bits_of_one_sum(const Context& c, const HostCsr<M>& a)
{
    auto other = a;
    for (M& v : other.value) v = M(0.75) - v;
    const auto x = test_vector<V>(a.cols, Values::reals, 6), y = test_vector<V>(a.rows, Values::reals, 7);
    const auto products = [&](const Policy& policy) {
        std::vector<std::vector<V>> results;
        auto plan = Plan<V, M>::make(c, a.view(), {.force = policy});
        for (int values = 0; values < 2; ++values) {
            for (const auto& [alpha, beta] : {std::pair{V(1), V(0)}, {V(1.5), V(0)}, {V(-0.5), V(3)}}) {
                results.push_back(y);
                plan.run(alpha, x, beta, results.back());
            }
            plan.update_values(other.view());
        }
        return results;
    };
    EXPECT_EQ(products({Kernel::rows, 1, false, false, true}), products({Kernel::rows, 1, false})) << a.rows << " rows";
}

TEST_P(SpmvKernelsOn, SortedRowsHaveTheBitsOfOneSum)
{
    if (on_gpu()) GTEST_SKIP() << "windows of rows are a CPU's";
    for (const index_t rows : {0, 1, 63, 64, 65, 900, 70'000}) {  // the last with offsets of 32 bits
        const auto a = uneven_rows(rows);
        const HostCsr<float> in_float{a.rows, a.cols, a.row_begin, a.col, {a.value.begin(), a.value.end()}};
        expect_bits_of_one_sum<double>(ctx(), a);
        expect_bits_of_one_sum<float>(ctx(), in_float);
        expect_bits_of_one_sum<double>(ctx(), in_float);
    }
}

// 65535 columns apart is the most that narrow columns can hold; the base is the row's first column.
TEST_P(SpmvKernelsOn, NarrowColumnsReachAsFarAsTheySay)
{
    const auto c = ctx();
    const auto far = csr_of<double>(3, 200000, {{0, 70000, 2.0}, {0, 135535, 3.0}, {2, 5, 1.0}, {2, 65540, 4.0}});
    const auto near = csr_of<double>(3, 65536, {{0, 0, 2.0}, {0, 65535, 3.0}, {2, 65535, 4.0}});
    const auto beyond = csr_of<double>(1, 200000, {{0, 5, 1.0}, {0, 65541, 4.0}});
    for (const int lanes : {1, 4}) {
        expect_exact(c, far, {Kernel::rows, lanes, false, true});
        expect_exact(c, near, {Kernel::rows, lanes, false, true});
    }
    const auto there = to_device(c, beyond.view());
    EXPECT_THROW(Plan<double>::make(c, there.view(), {.force = Policy{Kernel::rows, 4, false, true}}), ValueError);
}

// What is not an entry takes no part, whatever x holds there.
TEST_P(SpmvKernelsOn, PaddingDoesNotSpreadNan)
{
    const auto c = ctx();
    const auto a = matrix_where<double>(100, 100, Values::reals, 3, [](index_t i, index_t j) {
        return j >= i && j < i + 1 + i % 5 && (j > 9 || i > 9);
    });
    const auto there = to_device(c, a.view());
    std::vector<double> x(100, 1.0);
    for (std::size_t j = 0; j < 10; ++j) x[j] = j % 2 == 0 ? std::numeric_limits<double>::infinity() : std::nan("");
    const auto x_there = to_device<double>(c, std::span<const double>(x));
    const Features features = Plan<double>::make(c, there.view()).features();
    for (const Policy& policy : candidates(features, {c.backend(), c.host().threads})) {
        Guarded<double> y(c, std::vector<double>(100, std::nan("")));
        Plan<double>::make(c, there.view(), {.force = policy}).run(x_there.span(), y.span());
        for (const double value : y.take()) ASSERT_TRUE(std::isfinite(value)) << to_text(policy);
    }
}

void expect_new_values(const Context& c, const HostCsr<double>& a, const std::vector<Policy>& policies)
{
    auto b = a;
    for (auto& v : b.value) v = 3 * v + 1;
    const auto before = to_device(c, a.view()), after = to_device(c, b.view());
    const auto x = test_vector<double>(a.cols, Values::integers, 5);
    const auto x_there = to_device<double>(c, std::span<const double>(x));
    const std::vector<double> zeros(static_cast<std::size_t>(a.rows), 0.0);
    const auto want = oracle_multiply(b, false, 1.0, x, 0.0, zeros);
    for (const Policy& policy : policies) {
        auto plan = Plan<double>::make(c, before.view(), {.force = policy});
        plan.update_values(after.view());
        Guarded<double> y(c, zeros);
        plan.run(x_there.span(), y.span());
        const auto got = y.take();
        for (std::size_t i = 0; i < got.size(); ++i)
            ASSERT_EQ(static_cast<long double>(got[i]), want.value[i]) << to_text(policy) << ", row " << i;
    }
}

TEST_P(SpmvKernelsOn, NewValuesReachEveryKernel)
{
    const auto c = ctx();
    const auto a = random_matrix<double>(90, 90, 0.1, Values::integers, 31);
    const auto there = to_device(c, a.view());
    expect_new_values(c, a,
                      candidates(Plan<double>::make(c, there.view()).features(), {c.backend(), c.host().threads}));
}

TEST_P(SpmvKernelsOn, NewValuesOfSlicesByDiagonals)
{
    for (const int lanes : lanes_of_slices())
        expect_new_values(ctx(), grid_with_holes<double>(1000), {{Kernel::sell, lanes, false}});
}

// dot(y, x) and dot(y, y) of whole numbers are exact, in every kernel, also the second time, and for a matrix without
// rows.
TEST_P(SpmvKernelsOn, MakesDotsOnTheWay)
{
    const auto c = ctx();
    const auto a = matrix_where<double>(700, 700, Values::integers, 8, [](index_t i, index_t j) {
        return (i + 2 * j) % 50 == 0 || (i == 300 && j > 100) || i == j;
    });
    const auto there = to_device(c, a.view());
    const auto x = test_vector<double>(700, Values::integers, 5), y = test_vector<double>(700, Values::integers, 6);
    const auto x_there = to_device<double>(c, std::span<const double>(x));
    const auto want = oracle_multiply(a, false, 2.0, x, 1.0, y);
    long double xy = 0, yy = 0;
    for (std::size_t i = 0; i < 700; ++i)
        xy += want.value[i] * static_cast<long double>(x[i]), yy += want.value[i] * want.value[i];
    for (const Policy& policy :
         candidates(Plan<double>::make(c, there.view()).features(), {c.backend(), c.host().threads})) {
        if (!is_drawn(to_text(policy), 1)) continue;
        const auto plan = Plan<double>::make(c, there.view(), {.force = policy, .dots = true});
        for (int run = 0; run < 2; ++run) {
            Guarded<double> out(c, y), dots(c, std::vector<double>(2, std::nan("")));
            plan.run(2.0, x_there.span(), 1.0, out.span(), dots.span());
            const auto got = dots.take();
            EXPECT_EQ(static_cast<long double>(got[0]), xy) << to_text(policy);
            EXPECT_EQ(static_cast<long double>(got[1]), yy) << to_text(policy);
            EXPECT_TRUE(within_bound(out.take(), want));
        }
    }
    const auto none = to_device(c, csr_of<double>(0, 0, {}).view());
    Guarded<double> dots(c, std::vector<double>(2, std::nan("")));
    Plan<double>::make(c, none.view(), {.dots = true}).run(1.0, {}, 0.0, {}, dots.span());
    EXPECT_EQ(dots.take(), (std::vector<double>{0.0, 0.0}));
}

TEST_P(SpmvKernelsOn, RefusesDotsWithoutRoomOrSquareMatrix)
{
    const auto c = ctx();
    const auto wide = to_device(c, random_matrix<double>(20, 30, 0.2, Values::integers, 1).view()),
               square = to_device(c, random_matrix<double>(20, 20, 0.2, Values::integers, 1).view());
    EXPECT_THROW(Plan<double>::make(c, wide.view(), {.dots = true}), ShapeError);
    const auto x = to_device<double>(c, std::span<const double>(std::vector<double>(20, 1.0)));
    auto y = to_device<double>(c, std::span<const double>(std::vector<double>(20, 1.0))),
         dots = to_device<double>(c, std::span<const double>(std::vector<double>(3, 1.0)));
    EXPECT_THROW(Plan<double>::make(c, square.view()).run(1.0, x.span(), 0.0, y.span(), dots.span().first(2)),
                 ValueError);
    EXPECT_THROW(Plan<double>::make(c, square.view(), {.dots = true}).run(1.0, x.span(), 0.0, y.span(), dots.span()),
                 ShapeError);
}

// A matrix of floats, everything else in double: as exact as the same matrix in double.
TEST_P(SpmvKernelsOn, MultipliesFloatsInDouble)
{
    const auto c = ctx();
    const auto a = random_matrix<float>(150, 130, 0.1, Values::reals, 12);
    const auto wide = csr_of<double>(150, 130, [&] {
        std::vector<std::tuple<index_t, index_t, double>> entries;
        for (const auto& [i, j, v] : a.entries()) entries.emplace_back(i, j, static_cast<double>(v));
        return entries;
    }());
    const auto there = to_device(c, a.view());
    for (const Op op : {Op::none, Op::transpose}) {
        const bool t = op == Op::transpose;
        std::vector<double> x(t ? 150 : 130), y(t ? 130 : 150, 1.0);
        for (std::size_t j = 0; j < x.size(); ++j)
            x[j] = test_value<double>(Values::reals, 3, 0, static_cast<index_t>(j));
        const auto x_there = to_device<double>(c, std::span<const double>(x));
        const auto want = oracle_multiply(wide, t, 0.5, x, 2.0, y);
        const Features features = Plan<double, float>::make(c, there.view(), {.op = op}).features();
        for (const Policy& policy : candidates(features, {c.backend(), c.host().threads})) {
            if (!is_drawn(to_text(policy) + (t ? "t" : ""), 4)) continue;
            Guarded<double> out(c, y);
            Plan<double, float>::make(c, there.view(), {.op = op, .force = policy})
                .run(0.5, x_there.span(), 2.0, out.span());
            EXPECT_TRUE(within_bound(out.take(), want)) << to_text(policy);
        }
    }
}

// A survey must find what a full check finds: wherever it is and however small.
TEST_P(SpmvKernelsOn, FindsWhatIsWrongWithAMatrix)
{
    const auto c = ctx();
    const auto good = random_matrix<double>(300, 400, 0.1, Values::integers, 1);
    const auto refused = [&](auto&& spoil) {
        auto a = good;
        spoil(a);
        const auto there = to_device(c, a.view());
        EXPECT_THROW(Plan<double>::make(c, there.view()), ValueError);
    };
    const auto last = good.col.size() - 1;
    refused([&](auto& a) { a.col[last] = 400; });
    refused([&](auto& a) { a.col[0] = -1; });
    refused([&](auto& a) {
        std::swap(a.col[static_cast<std::size_t>(a.row_begin[150])],
                  a.col[static_cast<std::size_t>(a.row_begin[150]) + 1]);
    });
    refused([&](auto& a) {
        a.col[static_cast<std::size_t>(a.row_begin[150]) + 1] = a.col[static_cast<std::size_t>(a.row_begin[150])];
    });
    refused([&](auto& a) { a.row_begin[7] = a.row_begin[9]; });
    refused([&](auto& a) { a.row_begin[300] -= 1; });
    refused([&](auto& a) { a.row_begin[0] = 1; });
    refused([&](auto& a) { a.row_begin[40] = -5; });
    refused([&](auto& a) { a.row_begin[40] = offset_t{1} << 40; });
}

TULLE_ON_BACKENDS(SpmvKernelsOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI::spmv
