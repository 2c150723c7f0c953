// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "tulle/factor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "factor/matrices.hpp"
#include "factor/reproduces.hpp"
#include "support/backends.hpp"
#include "support/faults.hpp"
#include "tulle/sptrsv.hpp"

namespace tulle {
namespace {

using factor::Breakdown;
using factor::Kind;
using factor::MissingDiagonal;
using factor::Options;
using factor::Plan;
using test::csr_of;
using test::dominant;
using test::expect_reproduces;
using test::host_of;
using test::host_vector;
using test::HostCsr;
using test::laplacian;

template <class V>
HostCsr<V> factors_of(const Context& c, const HostCsr<V>& a, const Options& o)
{
    const auto there = to_device(c, a.view());
    const auto plan = Plan<V>::make(c, there.view(), o);
    return host_of(c, plan.factors());
}

template <class V>
Buffer<V> ctx_buffer(const Context& c, index_t n)
{
    return c.run([&](const auto& q) { return Buffer<V>(q, n); });
}

void fill_vector(const Context& c, Buffer<double>& b)
{
    c.run([&](const auto& q) { fill_zero(q, b.data(), b.size()); });
}

template <class V>
std::vector<V> applied(const Context& c, const Plan<V>& plan, const std::vector<V>& r)
{
    const auto there = to_device<V>(c, r);
    auto z = ctx_buffer<V>(c, plan.rows());
    plan.apply(there.span(), z.span());
    return host_vector(c, z);
}

template <class V>
void expect_near(const std::vector<V>& a, const std::vector<V>& b, double factor)
{
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i)
        ASSERT_NEAR(a[i], b[i], factor * std::numeric_limits<V>::epsilon() * (1 + std::abs(double(b[i]))))
            << "at " << i;
}

const std::vector<Options> all_kinds{{.kind = Kind::ilu0},
                                     {.kind = Kind::ic0},
                                     {.kind = Kind::iluk, .level = 1},
                                     {.kind = Kind::iluk, .level = 3},
                                     {.kind = Kind::ilut, .drop = 1e-2, .fill = 2}};

class FactorOn : public test::OnBackend {};
TULLE_ON_BACKENDS(FactorOn);

TEST_P(FactorOn, ReproducesTheMatrixOnThePattern)
{
    const Context c = ctx();
    unsigned number = 0;
    for (const auto& o : all_kinds) {
        SCOPED_TRACE(to_text(o.kind));
        const bool cholesky = o.kind == Kind::ic0;
        for (const index_t n : {1, 2, 33, 70}) {
            if (n > 2 && !test::has_turn(number++)) continue;
            const auto a = dominant<double>(n, 0.12, cholesky, 7);
            expect_reproduces(a, factors_of(c, a, o), cholesky);
            const auto f = dominant<float>(n, 0.12, cholesky, 8);
            expect_reproduces(f, factors_of(c, f, o), cholesky);
        }
        const auto grid = laplacian<double>(5, 4, 4);
        expect_reproduces(grid, factors_of(c, grid, o), cholesky);
    }
}

// Rows with more entries before the diagonal than a warp has lanes.
TEST_P(FactorOn, ReproducesLongRows)
{
    for (const Kind kind : {Kind::ic0, Kind::ilu0}) {
        const auto a = dominant<double>(40, 1, true, 9);
        expect_reproduces(a, factors_of(ctx(), a, {.kind = kind}), kind == Kind::ic0);
    }
}

TEST_P(FactorOn, GivesTheSameFactorsAsOneThread)
{
    const Context c = ctx();
    for (const auto& o : all_kinds) {
        SCOPED_TRACE(to_text(o.kind));
        const auto a = dominant<double>(120, 0.06, o.kind == Kind::ic0, 17);
        const auto here = factors_of(Context::cpu(1), a, o), there = factors_of(c, a, o);
        ASSERT_EQ(here.col, there.col);
        if (c.backend() == Backend::cpu) ASSERT_TRUE(test::same_bits(here.value, there.value));
        else expect_near(there.value, here.value, 64);
    }
}

// Relaxed factors give the matrix beside the diagonal, and there the part `relax` of what falls outside of the pattern
// less: all of it keeps the sums of rows.
TEST(Factor, RelaxedFactorsMoveFillInToTheDiagonal)
{
    for (const auto& o : {Options{.relax = 0.4}, Options{.relax = 1}, Options{.kind = Kind::iluk, .relax = 0.9}}) {
        const auto a = dominant<double>(60, 0.08, o.relax < 1, 19);
        const auto f = factors_of(Context::cpu(1), a, o);
        const auto p = test::product_of(f, false), d = test::dense_rows(a), pattern = test::dense_rows(f);
        for (std::size_t i = 0; i < p.size(); ++i) {
            double outside = 0;
            for (std::size_t j = 0; j < p.size(); ++j) {
                if (pattern[i][j] == 0) outside += p[i][j];
                if (pattern[i][j] != 0 && i != j) {
                    ASSERT_NEAR(p[i][j], d[i][j], 1e-12) << i << ", " << j;
                }
            }
            ASSERT_NEAR(p[i][i], d[i][i] - o.relax * outside, 1e-12) << i;
        }
    }
}

TEST(Factor, RelaxedFactorsAreTheSameForAllThreadsAndValues)
{
    auto a = dominant<double>(120, 0.06, false, 17);
    const Options o{.relax = 0.9, .expected_calls = 10};
    const auto alone = factors_of(Context::cpu(1), a, o);
    const Context three = Context::cpu(3);
    ASSERT_TRUE(test::same_bits(alone.value, factors_of(three, a, o).value));
    auto plan = Plan<double>::make(three, a.view(), o);
    for (double& v : a.value) v *= 3;
    plan.update_values(a.view());
    ASSERT_TRUE(test::same_bits(host_of(three, plan.factors()).value, factors_of(three, a, o).value));
    EXPECT_NE(plan.describe().find("relaxed by 0.9"), std::string::npos);
}

TEST_P(FactorOn, RefusesToRelaxWhatCannotBe)
{
    const auto a = to_device(ctx(), laplacian<double>(3, 3, 1).view());
    const auto make = [&](const Options& o) { Plan<double>::make(ctx(), a.view(), o); };
    EXPECT_THROW(make({.relax = -0.1}), ValueError);
    EXPECT_THROW(make({.relax = 1.1}), ValueError);
    EXPECT_THROW(make({.relax = std::numeric_limits<double>::quiet_NaN()}), ValueError);
    EXPECT_THROW(make({.kind = Kind::ic0, .relax = 0.5}), ValueError);
    if (ctx().backend() == Backend::cuda) {
        EXPECT_THROW(make({.relax = 0.5}), ValueError);
    } else {
        EXPECT_NO_THROW(make({.relax = 0.5}));
    }
}

// z by both triangles of the factors as SpTRSV solves them.
template <class V>
std::vector<V> by_triangles(const Context& c, const Plan<V>& plan, std::vector<V> z)
{
    const bool cholesky = plan.policy().kind == Kind::ic0;
    sptrsv::Options o{.unit_diagonal = !cholesky, .other_side = sptrsv::OtherSide::ignore};
    sptrsv::Plan<V>::make(c, plan.factors(), o).solve(z, z);
    o.unit_diagonal = false;
    if (cholesky) o.op = Op::transpose;
    else o.uplo = sptrsv::Uplo::upper;
    sptrsv::Plan<V>::make(c, plan.factors(), o).solve(z, z);
    return z;
}

// One thread does not go through SpTRSV: rows of all lengths, chains of rows, columns of 16 and of 32 bits.
TEST(Factor, OneThreadGivesTheBitsOfTriangularSolves)
{
    const Context c = Context::cpu(1);
    for (const auto& a : {dominant<double>(150, 0.06, true, 3), dominant<double>(150, 0.02, true, 4),
                          laplacian<double>(40, 30, 1), laplacian<double>(260, 260, 1), laplacian<double>(1, 1, 1)})
        for (const Kind kind : {Kind::ic0, Kind::ilu0}) {
            SCOPED_TRACE(testing::Message() << a.rows << " rows, " << to_text(kind));
            const auto plan = Plan<double>::make(c, a.view(), {.kind = kind});
            const auto r = test::test_vector<double>(a.rows, test::Values::reals, 5);
            std::vector<double> z(r.size());
            plan.apply(r, z);
            EXPECT_TRUE(test::same_bits(z, by_triangles(c, plan, r)));
            EXPECT_TRUE(test::same_bits(z, by_triangles(Context::cpu(2), plan, r)));
        }
}

TEST_P(FactorOn, CholeskyIsTheScaledFactorOfLu)
{
    const Context c = ctx();
    const auto a = laplacian<double>(6, 5, 3);
    const auto lu = test::dense_rows(factors_of(c, a, {.kind = Kind::ilu0}));
    for (const auto& [i, j, v] : factors_of(c, a, {.kind = Kind::ic0}).entries()) {
        const auto r = static_cast<std::size_t>(i), k = static_cast<std::size_t>(j);
        ASSERT_NEAR(v, (i == j ? 1 : lu[r][k]) * std::sqrt(lu[k][k]), 1e-13);
    }
}

TEST_P(FactorOn, FullFillInIsTheExactFactorisation)
{
    const Context c = ctx();
    const auto a = laplacian<double>(6, 6, 1);
    const auto there = to_device(c, a.view());
    const auto x = test::test_vector<double>(a.rows, test::Values::integers, 5);
    std::vector<double> b(x.size(), 0);
    for (const auto& [i, j, v] : a.entries()) b[static_cast<std::size_t>(i)] += v * x[static_cast<std::size_t>(j)];
    for (const Options& o :
         {Options{.kind = Kind::iluk, .level = 36}, Options{.kind = Kind::ilut, .drop = 0, .fill = 100}})
        expect_near(applied(c, Plan<double>::make(c, there.view(), o), b), x, 1e4);
}

// A ring: eliminating row k connects row k + 1 with the last row, at a level one above that of k. Up to levels that
// need more than 8 and 16 bits.
TEST(Factor, LevelsOfFillInAreCounted)
{
    const auto expect_levels = [](index_t n, const std::vector<int>& levels) {
        std::vector<std::tuple<index_t, index_t, double>> entries;
        for (index_t i = 0; i < n; ++i)
            for (const index_t j : {(i + n - 1) % n, i, (i + 1) % n}) entries.emplace_back(i, j, i == j ? 4.0 : -1.0);
        const auto a = csr_of<double>(n, n, entries);
        for (const int level : levels) {
            const auto f = factors_of(Context::cpu(1), a, {.kind = Kind::iluk, .level = level});
            EXPECT_EQ(f.col.size(), static_cast<std::size_t>(3 * n + 2 * std::min(level, n - 3))) << level;
        }
    };
    expect_levels(8, {0, 1, 2, 3, 4, 5, 6});
    expect_levels(300, {126, 127, 128, 129, 254, 255, 256, 257});
    expect_levels(66000, {32767, 32768, 65535, 65536});
}

TEST_P(FactorOn, AppliesBothTriangles)
{
    const Context c = ctx();
    for (const auto& o : all_kinds) {
        SCOPED_TRACE(to_text(o.kind));
        const bool cholesky = o.kind == Kind::ic0;
        const auto a = dominant<double>(65, 0.1, cholesky, 27);
        const auto there = to_device(c, a.view());
        const auto plan = Plan<double>::make(c, there.view(), o);
        const auto z = test::test_vector<double>(a.rows, test::Values::integers, 6);
        const auto p = test::product_of(host_of(c, plan.factors()), cholesky);
        std::vector<double> r(z.size(), 0);
        for (std::size_t i = 0; i < z.size(); ++i)
            for (std::size_t j = 0; j < z.size(); ++j) r[i] += p[i][j] * z[j];
        expect_near(applied(c, plan, r), z, 1e4);
        EXPECT_GT(plan.bytes(), 0u);
        EXPECT_NE(plan.describe().find(to_text(o.kind)), std::string::npos);
    }
}

TEST_P(FactorOn, UpdatesValuesAsANewPlanWould)
{
    const Context c = ctx();
    for (const auto& o : all_kinds) {
        SCOPED_TRACE(to_text(o.kind));
        auto a = dominant<double>(70, 0.1, o.kind == Kind::ic0, 37);
        auto first = to_device(c, a.view());
        auto plan = Plan<double>::make(c, first.view(), o);
        for (double& v : a.value) v *= 3;  // the same pattern by magnitude, too
        const auto second = to_device(c, a.view());
        plan.update_values(second.view());
        first = {};
        const auto fresh = Plan<double>::make(c, second.view(), o);
        ASSERT_TRUE(test::same_bits(host_of(c, plan.factors()).value, host_of(c, fresh.factors()).value));
        const auto r = test::test_vector<double>(a.rows, test::Values::integers, 6);
        ASSERT_TRUE(test::same_bits(applied(c, plan, r), applied(c, fresh, r)));
    }
}

TEST_P(FactorOn, TakesUnsortedRowsAndNarrowOffsets)
{
    const Context c = ctx();
    const auto a = dominant<double>(50, 0.1, false, 47);
    auto reversed = a;
    for (std::size_t i = 0; i < 50; ++i) {
        std::reverse(reversed.col.begin() + a.row_begin[i], reversed.col.begin() + a.row_begin[i + 1]);
        std::reverse(reversed.value.begin() + a.row_begin[i], reversed.value.begin() + a.row_begin[i + 1]);
    }
    reversed.sorted = false;
    for (const auto& o : all_kinds) {
        const auto f = factors_of(c, a, o), g = factors_of(c, reversed, o);
        EXPECT_EQ(f.col, g.col);
        EXPECT_TRUE(test::same_bits(f.value, g.value));
    }
    const auto there = to_device(c, a.view());
    const std::vector<std::int32_t> offsets(a.row_begin.begin(), a.row_begin.end());
    const auto narrow = to_device<std::int32_t>(c, offsets);
    const Csr32View<double> view{50, 50, there.nonzeros(), narrow.data(), there.col.data(), there.value.data()};
    const auto plan = Plan<double>::make(c, view);
    EXPECT_TRUE(test::same_bits(host_of(c, plan.factors()).value, factors_of(c, a, {}).value));
}

TEST_P(FactorOn, TakesEmptyAndDiagonalMatrices)
{
    const Context c = ctx();
    for (const auto& o : all_kinds) {
        const auto none = to_device(c, csr_of<double>(0, 0, {}).view());
        EXPECT_TRUE(applied(c, Plan<double>::make(c, none.view(), o), {}).empty());
        const auto one = to_device(c, csr_of<double>(1, 1, {{0, 0, 4.0}}).view());
        EXPECT_EQ(applied(c, Plan<double>::make(c, one.view(), o), {2.0}), std::vector<double>{0.5});
        const auto many = to_device(c, csr_of<double>(3, 3, {{0, 0, 4.0}, {1, 1, 16.0}, {2, 2, 64.0}}).view());
        EXPECT_EQ(applied(c, Plan<double>::make(c, many.view(), o), {4, 32, 128}), (std::vector<double>{1, 2, 2}));
    }
}

template <class E, class F>
std::string message_of(F&& f)
{
    try {
        f();
    } catch (const E& e) {
        return e.what();
    }
    return "nothing was thrown";
}

TEST_P(FactorOn, NamesTheRowThatCannotBeFactorised)
{
    const Context c = ctx();
    const auto make = [&](const HostCsr<double>& a, const Options& o) {
        const auto there = to_device(c, a.view());
        return message_of<ValueError>([&] { Plan<double>::make(c, there.view(), o); });
    };
    using Entries = std::vector<std::tuple<index_t, index_t, double>>;
    const auto indefinite = csr_of<double>(3, 3, Entries{{0, 0, 1}, {1, 1, 1}, {1, 2, 2}, {2, 1, 2}, {2, 2, 1}});
    EXPECT_NE(make(indefinite, {.kind = Kind::ic0, .shift_attempts = 0}).find("row 2: the pivot is not positive"),
              std::string::npos);
    const auto singular = csr_of<double>(3, 3, Entries{{0, 0, 1}, {1, 1, 1}, {1, 2, 1}, {2, 1, 1}, {2, 2, 1}});
    EXPECT_NE(make(singular, {.shift_attempts = 0}).find("row 2: the pivot is zero"), std::string::npos);
    const auto missing = csr_of<double>(2, 2, Entries{{0, 0, 1}, {1, 0, 1}});
    EXPECT_NE(make(missing, {}).find("row 1 (counted from 0) has no diagonal entry"), std::string::npos);
    const double inf = std::numeric_limits<double>::infinity();
    for (const double bad : {inf, -inf, std::numeric_limits<double>::quiet_NaN()}) {
        const auto a = csr_of<double>(3, 3, Entries{{0, 0, 1}, {1, 0, bad}, {1, 1, 1}, {2, 2, 1}});
        for (const auto& o : all_kinds)
            EXPECT_NE(make(a, o).find("row 1, column 0 of the matrix is not finite"), std::string::npos);
    }
    const auto twice = csr_of<double>(2, 2, Entries{{0, 0, 1}, {1, 1, 1}, {1, 1, 1}});
    EXPECT_NE(make(twice, {}).find("row 1 (counted from 0) stores a column twice"), std::string::npos);
    EXPECT_NE(make(singular, {.kind = Kind::iluk, .level = -1}).find("level"), std::string::npos);
    EXPECT_NE(make(singular, {.kind = Kind::ilut, .drop = -1}).find("drop"), std::string::npos);
}

TEST_P(FactorOn, RetriesWithAShiftAndReportsIt)
{
    const Context c = ctx();
    using Entries = std::vector<std::tuple<index_t, index_t, double>>;
    const auto a = csr_of<double>(3, 3, Entries{{0, 0, 1}, {1, 1, 1}, {1, 2, 1.5}, {2, 1, 1.5}, {2, 2, 1}});
    const auto there = to_device(c, a.view());
    const auto plan = Plan<double>::make(c, there.view(), {.kind = Kind::ic0});
    EXPECT_EQ(plan.report().first_breakdown, Breakdown::negative);
    EXPECT_EQ(plan.report().first_row, 2);
    EXPECT_GT(plan.report().attempts, 2);
    auto moved = a;
    for (std::size_t k = 0; k < moved.col.size(); ++k)
        if (k == 0 || k == 1 || k == 4) moved.value[k] += plan.report().shift;
    expect_reproduces(moved, host_of(c, plan.factors()), true);
    EXPECT_NE(plan.describe().find("row 2 (counted from 0): the pivot is not positive"), std::string::npos);

    // A first shift of the caller's: later ones are larger, here by 4 each.
    const auto from = Plan<double>::make(c, there.view(), {.kind = Kind::ic0, .shift = 0.01});
    EXPECT_EQ(from.report().attempts, 4);
    EXPECT_NEAR(from.report().shift, 0.64, 1e-12);

    const auto zero = csr_of<double>(2, 2, Entries{{0, 0, 0}, {0, 1, 2}, {1, 0, 2}, {1, 1, -3}});
    const auto zero_there = to_device(c, zero.view());
    const auto shifted = Plan<double>::make(c, zero_there.view());
    EXPECT_EQ(shifted.report().first_row, 0);
    EXPECT_EQ(host_of(c, shifted.factors()).value[0], 2 * shifted.report().shift);
}

TEST_P(FactorOn, AddsMissingDiagonals)
{
    const Context c = ctx();
    const auto a = csr_of<double>(3, 3, {{0, 0, 2.0}, {0, 1, 1.0}, {1, 0, 4.0}, {2, 2, 1.0}});
    expect_reproduces(a, factors_of(c, a, {.missing_diagonal = MissingDiagonal::add}), false);
}

TEST_P(FactorOn, RefusesWhatDoesNotFit)
{
    const Context c = ctx();
    const auto wide = to_device(c, csr_of<double>(2, 3, {{0, 0, 1.0}, {1, 1, 1.0}}).view());
    EXPECT_THROW(Plan<double>::make(c, wide.view()), ShapeError);
    auto a = dominant<double>(20, 0.1, false, 5);
    const auto there = to_device(c, a.view());
    auto plan = Plan<double>::make(c, there.view(), {.shift_attempts = 0});
    auto short_vector = ctx_buffer<double>(c, 19), good = ctx_buffer<double>(c, 20);
    EXPECT_THROW(plan.apply(short_vector.span(), good.span()), ShapeError);
    EXPECT_THROW(plan.apply(good.span(), short_vector.span()), ShapeError);
    const auto other = to_device(c, dominant<double>(21, 0.1, false, 5).view());
    EXPECT_THROW(plan.update_values(other.view()), PlanMismatch);
    std::fill(a.value.begin(), a.value.end(), 0.0);
    const auto zeros = to_device(c, a.view());
    EXPECT_THROW(plan.update_values(zeros.view()), ValueError);
    EXPECT_THROW(plan.apply(good.span(), good.span()), ValueError);
    plan.update_values(there.view());
    fill_vector(c, good);
    plan.apply(good.span(), good.span());
    auto broken = dominant<double>(20, 0.1, false, 5);
    broken.col[3] = 20;
    const auto malformed = to_device(c, broken.view());
    EXPECT_THROW(Plan<double>::make(c, malformed.view()), ValueError);
}

TEST_P(FactorOn, FailedAllocationsLeaveNothingBehind)
{
    const Context c = ctx();
    const auto a = to_device(c, dominant<double>(40, 0.1, true, 5).view());
    for (const auto& o : all_kinds)
        if (test::is_drawn(to_text(o.kind), 4))
            test::expect_clean_failures(c, [&] { Plan<double>::make(c, a.view(), o); });
    auto plan = Plan<double>::make(c, a.view());
    const auto before = host_of(c, plan.factors()).value;
    c.memory().fail_at(0);
    EXPECT_THROW(plan.update_values(a.view()), OutOfMemory);
    c.memory().fail_at(-1);
    plan.update_values(a.view());
    EXPECT_TRUE(test::same_bits(before, host_of(c, plan.factors()).value));
}

}  // namespace
}  // namespace tulle
