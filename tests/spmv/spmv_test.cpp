// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// y = alpha op(A) x + beta y on every backend, in every format, with every policy, against the oracle.
#include "tulle/spmv.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>

#include "support/backends.hpp"
#include "support/battery.hpp"
#include "support/faults.hpp"
#include "support/guarded.hpp"
#include "support/oracle.hpp"
#include "tulle/convert.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::spmv {
namespace {

using namespace tulle::test;

class SpmvOn : public OnBackend {};

// A matrix of the battery in the memory of a context, in all formats.
template <class V>
struct InAllFormats {
    Csr<V> csr;
    Csc<V> csc;
    Coo<V> coo, unsorted;
    BlockedEll<V> bell;

    InAllFormats(const Context& ctx, const HostCsr<V>& a)
        : csr(to_device(ctx, a.view())),
          csc(to_csc(ctx, csr.view())),
          coo(to_coo(ctx, csr.view())),
          unsorted(to_coo(ctx, csr.view())),
          bell(to_blocked_ell(ctx, csr.view(), 3))
    {
        unsorted.order = CooOrder::none;
        unsorted.unique = false;
    }

    std::vector<AnyView<V>> views() const { return {csr.view(), csc.view(), coo.view(), unsorted.view(), bell.view()}; }
};

// Runs a plan on a guarded y and returns the result.
template <class V>
std::vector<V> run(const Context& ctx, const Plan<V>& plan, V alpha, const std::vector<V>& x, V beta,
                   const std::vector<V>& y)
{
    const auto there = to_device<V>(ctx, std::span<const V>(x));
    Guarded<V> guarded(ctx, y);
    plan.run(alpha, there.span(), beta, guarded.span());
    return guarded.take();
}

std::string label(Format format, Op op, const Policy& policy)
{
    return to_text(format) + (op == Op::transpose ? " transposed, " : ", ") + to_text(policy);
}

// Under ThreadSanitizer, where each takes longest, the four calls below draw half as many combinations, but each of
// them others.
template <class V>
void check_everything(const Context& ctx, Values values, V alpha, V beta)
{
    const std::string turn = simt::under_tsan ? std::to_string(alpha) + " " + std::to_string(beta) + " " : "";
    for (const auto& [name, a] : battery<V>(values)) {
        const InAllFormats<V> formats(ctx, a);
        for (const Op op : {Op::none, Op::transpose}) {
            const bool t = op == Op::transpose;
            const auto x = test_vector<V>(t ? a.rows : a.cols, values, 21);
            auto y = test_vector<V>(t ? a.cols : a.rows, values, 22);
            if (beta == V(0)) y.assign(y.size(), std::numeric_limits<V>::quiet_NaN());
            const auto want = oracle_multiply(a, t, alpha, x, beta, y);
            for (const auto& view : formats.views()) {
                const Features features{.format = static_cast<Format>(view.index()),
                                        .transposed = t,
                                        .deterministic = ctx.is_deterministic()};
                for (const Policy& policy : candidates(features, {ctx.backend(), ctx.host().threads})) {
                    if (!is_drawn(turn + name + label(features.format, op, policy), 12)) continue;
                    SCOPED_TRACE(name + ": " + label(features.format, op, policy));
                    const auto plan = Plan<V>::make(ctx, view, {.op = op, .force = policy, .checked = false});
                    const auto got = run(ctx, plan, alpha, x, beta, y);
                    ASSERT_TRUE(within_bound(got, want));
                    for (std::size_t i = 0; values == Values::integers && i < got.size(); ++i)
                        ASSERT_EQ(static_cast<long double>(got[i]), want.value[i]) << "entry " << i;
                }
            }
        }
    }
}

TEST_P(SpmvOn, IsExactOnIntegers)
{
    check_everything<double>(ctx(), Values::integers, 1.0, 0.0);
    check_everything<float>(ctx(), Values::integers, -2.0f, 3.0f);
}

TEST_P(SpmvOn, KeepsTheErrorBound)
{
    check_everything<float>(ctx(), Values::reals, 1.0f, 0.0f);
    check_everything<double>(ctx(), Values::reals, 0.75, -1.5);
}

TEST_P(SpmvOn, ChoosesSomethingThatWorksForEveryFormat)
{
    const auto c = ctx();
    for (const auto& [name, a] : battery<double>(Values::integers)) {
        const InAllFormats<double> formats(c, a);
        for (const Op op : {Op::none, Op::transpose})
            for (const auto& view : formats.views()) {
                SCOPED_TRACE(name);
                const bool t = op == Op::transpose;
                const auto x = test_vector<double>(t ? a.rows : a.cols, Values::integers, 5);
                const std::vector<double> y(static_cast<std::size_t>(t ? a.cols : a.rows), std::nan(""));
                const auto want = oracle_multiply(a, t, 1.0, x, 0.0, y);
                const auto there = to_device<double>(c, std::span<const double>(x));
                Guarded<double> once(c, y), planned(c, y);
                std::visit([&](const auto& m) { multiply(c, m, there.span(), once.span(), {.op = op}); }, view);
                const auto plan = Plan<double>::make(c, view, {.op = op});
                plan.run(there.span(), planned.span());
                EXPECT_TRUE(within_bound(once.take(), want));
                EXPECT_TRUE(within_bound(planned.take(), want));
                EXPECT_EQ(plan.rows(), t ? a.cols : a.rows);
                EXPECT_EQ(plan.cols(), t ? a.rows : a.cols);
            }
    }
}

// A long row that spans many pieces of the split kernel, between rows of other lengths, and empty rows at the cuts.
TEST_P(SpmvOn, SplitsLongRows)
{
    const auto c = ctx();
    const auto a = matrix_where<double>(12, 9000, Values::integers, 4, [](index_t i, index_t j) {
        return i == 5 || (i == 9 && j % 2 == 0) || (i % 3 == 0 && j == i);
    });
    const auto there = to_device(c, a.view());
    const auto x = test_vector<double>(9000, Values::integers, 6);
    const std::vector<double> y(12, 7.0);
    const auto plan = Plan<double>::make(c, there.view(), {.force = Policy{Kernel::split, 32, false}});
    const auto got = run(c, plan, 2.0, x, -1.0, y);
    const auto want = oracle_multiply(a, false, 2.0, x, -1.0, y);
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], static_cast<double>(want.value[i])) << i;
}

// The last row is cut between pieces.
TEST_P(SpmvOn, SplitsTheLastRow)
{
    const auto c = ctx();
    const auto a =
        matrix_where<float>(3, 40000, Values::integers, 4, [](index_t i, index_t j) { return i == 2 || j == 7; });
    const auto there = to_device(c, a.view());
    const auto x = test_vector<float>(40000, Values::integers, 6);
    const std::vector<float> y(3, 1.0f);
    const auto got =
        run(c, Plan<float>::make(c, there.view(), {.force = Policy{Kernel::split, 32, false}}), 1.0f, x, 1.0f, y);
    const auto want = oracle_multiply(a, false, 1.0f, x, 1.0f, y);
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], static_cast<float>(want.value[i])) << i;
}

// Rows of several threads' steps each, so that many begin in one warp of the split kernel and end in the next.
TEST_P(SpmvOn, SplitsRowsAcrossWarps)
{
    const auto c = ctx();
    const auto a = matrix_where<double>(70, 45, Values::integers, 4, [](index_t, index_t) { return true; });
    const auto there = to_device(c, a.view());
    const auto x = test_vector<double>(45, Values::integers, 6);
    const std::vector<double> y(70, 5.0);
    const auto got =
        run(c, Plan<double>::make(c, there.view(), {.force = Policy{Kernel::split, 32, false}}), 1.0, x, 2.0, y);
    const auto want = oracle_multiply(a, false, 1.0, x, 2.0, y);
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], static_cast<double>(want.value[i])) << i;
}

TEST_P(SpmvOn, UpdatesValuesWithoutNewAnalysis)
{
    const auto c = ctx();
    const auto a = random_matrix<double>(80, 70, 0.1, Values::integers, 31);
    auto b = a;
    for (auto& v : b.value) v = 3 * v + 1;
    const InAllFormats<double> before(c, a), after(c, b);
    for (const Op op : {Op::none, Op::transpose}) {
        const bool t = op == Op::transpose;
        const auto x = test_vector<double>(t ? a.rows : a.cols, Values::integers, 5);
        const std::vector<double> y(static_cast<std::size_t>(t ? a.cols : a.rows), 0.0);
        const auto want = oracle_multiply(b, t, 1.0, x, 0.0, y);
        for (std::size_t f = 0; f < 4; ++f) {  // blocks have another pattern when zeros differ
            SCOPED_TRACE(f);
            auto plan = Plan<double>::make(c, before.views()[f], {.op = op});
            plan.update_values(after.views()[f]);
            EXPECT_TRUE(within_bound(run(c, plan, 1.0, x, 0.0, y), want));
        }
    }
}

TEST_P(SpmvOn, UpdatesValuesOfBlocks)
{
    const auto c = ctx();
    const auto a = matrix_where<double>(30, 33, Values::reals, 31, [](index_t i, index_t j) { return i / 3 == j / 3; });
    auto b = a;
    for (auto& v : b.value) v *= 2;
    const InAllFormats<double> before(c, a), after(c, b);
    auto deterministic = c;
    deterministic.deterministic();
    for (const auto& where : {c, deterministic})
        for (const Op op : {Op::none, Op::transpose}) {
            const bool t = op == Op::transpose;
            const auto x = test_vector<double>(t ? a.rows : a.cols, Values::reals, 5);
            const std::vector<double> y(static_cast<std::size_t>(t ? a.cols : a.rows), 0.0);
            auto plan = Plan<double>::make(where, before.bell.view(), {.op = op});
            plan.update_values(after.bell.view());
            EXPECT_TRUE(within_bound(run(c, plan, 1.0, x, 0.0, y), oracle_multiply(b, t, 1.0, x, 0.0, y)));
        }
}

// The last blocks hold columns that the matrix and x do not have.
TEST_P(SpmvOn, BlocksMayReachBeyondTheMatrix)
{
    const auto c = ctx();
    const auto a = matrix_where<double>(8, 10, Values::integers, 31, [](index_t, index_t) { return true; });
    const InAllFormats<double> formats(c, a);
    const auto x = test_vector<double>(10, Values::integers, 5);
    const std::vector<double> y(8, 1.0);
    const auto got = run(c, Plan<double>::make(c, formats.bell.view(), {.force = Policy{Kernel::blocks, 32, false}}),
                         1.0, x, 1.0, y);
    const auto want = oracle_multiply(a, false, 1.0, x, 1.0, y);
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], static_cast<double>(want.value[i])) << i;
}

TEST_P(SpmvOn, RefusesAnotherMatrix)
{
    const auto c = ctx();
    const InAllFormats<double> a(c, random_matrix<double>(20, 30, 0.2, Values::integers, 1)),
        b(c, random_matrix<double>(20, 30, 0.3, Values::integers, 2)),
        wide(c, random_matrix<double>(30, 20, 0.2, Values::integers, 1));
    auto plan = Plan<double>::make(c, a.csr.view());
    EXPECT_THROW(plan.update_values(b.csr.view()), PlanMismatch);
    EXPECT_THROW(plan.update_values(wide.csr.view()), PlanMismatch);
    EXPECT_THROW(plan.update_values(a.csc.view()), PlanMismatch);
}

TEST_P(SpmvOn, SaysWhatIsWrongWithVectors)
{
    const auto c = ctx();
    const auto a = to_device(c, random_matrix<double>(20, 30, 0.2, Values::integers, 1).view());
    const auto plan = Plan<double>::make(c, a.view());
    const auto x = to_device<double>(c, std::span<const double>(std::vector<double>(31, 1.0)));
    auto y = to_device<double>(c, std::span<const double>(std::vector<double>(31, 1.0)));
    const auto message = [&](auto&& call) {
        try {
            call();
        } catch (const Error& e) {
            return e.message();
        }
        return std::string("no error");
    };
    EXPECT_EQ(message([&] { plan.run(x.span(), y.span().first(20)); }), "x has 31 entries, but op(A) has 30 columns");
    EXPECT_EQ(message([&] { plan.run(x.span().first(30), y.span().first(19)); }),
              "y has 19 entries, but op(A) has 20 rows");
    EXPECT_EQ(message([&] { plan.run(std::span<const double>(y.span().first(30)), y.span().subspan(10, 20)); }),
              "x and y overlap");
    EXPECT_THROW(Plan<double>::make(c, a.view(), {.force = Policy{Kernel::blocks, 32, false}}), ValueError);
    EXPECT_THROW(Plan<double>::make(c, a.view(), {.force = Policy{Kernel::rows, 5, false}}), ValueError);
}

TEST_P(SpmvOn, RefusesABrokenMatrix)
{
    const auto c = ctx();
    auto a = random_matrix<double>(20, 30, 0.2, Values::integers, 1);
    a.col[7] = 30;
    const auto there = to_device(c, a.view());
    EXPECT_THROW(Plan<double>::make(c, there.view()), ValueError);
}

TEST_P(SpmvOn, RefusesVectorsElsewhere)
{
    const auto c = ctx();
    if (c.backend() == Backend::cpu) GTEST_SKIP() << "the CPU backend reads any host memory";
    const auto a = to_device(c, random_matrix<double>(20, 30, 0.2, Values::integers, 1).view());
    const auto plan = Plan<double>::make(c, a.view());
    std::vector<double> x(30), y(20);
    EXPECT_THROW(plan.run(std::span<const double>(x), std::span<double>(y)), DeviceError);
}

TEST_P(SpmvOn, PassesNanAndInfinityOnlyWhereTheyBelong)
{
    const auto c = ctx();
    const auto a =
        matrix_where<double>(33, 33, Values::integers, 3, [](index_t i, index_t j) { return i == j || j == i + 1; });
    const InAllFormats<double> formats(c, a);
    std::vector<double> x(33, 1.0);
    x[32] = std::nan("");
    const std::vector<double> y(33, std::nan(""));
    for (std::size_t f = 0; f < 4; ++f) {  // a block has explicit zeros, which take part
        const auto got = run(c, Plan<double>::make(c, formats.views()[f]), 1.0, x, 0.0, y);
        for (std::size_t i = 0; i < 31; ++i) EXPECT_FALSE(std::isnan(got[i])) << f << " " << i;
        EXPECT_TRUE(std::isnan(got[31])) << f;
        EXPECT_TRUE(std::isnan(got[32])) << f;
    }
}

// How often a result is computed again; gpu/run asks for 20 through TULLE_REPEATS.
int repeats()
{
    const char* wanted = std::getenv("TULLE_REPEATS");
    return wanted ? std::max(1, std::atoi(wanted)) : 3;
}

TEST_P(SpmvOn, GivesTheSameBitsEveryTimeWhenAsked)
{
    auto c = ctx();
    c.deterministic();
    for (const auto& [name, a] : battery<float>(Values::reals)) {
        const InAllFormats<float> formats(c, a);
        for (const Op op : {Op::none, Op::transpose})
            for (const auto& view : formats.views()) {
                if (!is_drawn(name + to_text(static_cast<Format>(view.index())), 4)) continue;
                SCOPED_TRACE(name);
                const bool t = op == Op::transpose;
                const auto x = test_vector<float>(t ? a.rows : a.cols, Values::reals, 5);
                const std::vector<float> y(static_cast<std::size_t>(t ? a.cols : a.rows), 0.0f);
                const auto first = run(c, Plan<float>::make(c, view, {.op = op}), 1.0f, x, 0.0f, y);
                for (int again = 0; again < repeats(); ++again)
                    ASSERT_TRUE(same_bits(first, run(c, Plan<float>::make(c, view, {.op = op}), 1.0f, x, 0.0f, y)));
            }
    }
}

TEST_P(SpmvOn, RunAllocatesNothing)
{
    if (simt::under_tsan) GTEST_SKIP() << "what is asked for is no race, and others run the same kernels";
    const auto c = ctx();
    const InAllFormats<double> formats(c, random_matrix<double>(60, 60, 0.05, Values::integers, 3));
    const auto x = to_device<double>(c, std::span<const double>(std::vector<double>(60, 1.0)));
    auto y = to_device<double>(c, std::span<const double>(std::vector<double>(60, 0.0)));
    for (const Op op : {Op::none, Op::transpose})
        for (const auto& view : formats.views())
            for (const Policy& policy :
                 candidates({.format = static_cast<Format>(view.index()), .transposed = op == Op::transpose},
                            {c.backend(), c.host().threads})) {
                const auto plan = Plan<double>::make(c, view, {.op = op, .force = policy});
                const auto before = c.memory().allocations();
                plan.run(x.span(), y.span());
                c.synchronize();
                EXPECT_EQ(c.memory().allocations(), before) << to_text(policy);
            }
}

TEST_P(SpmvOn, CountsItsBytes)
{
    if (simt::under_tsan) GTEST_SKIP() << "bytes are no race, and others run the same kernels";
    const auto c = ctx();
    const InAllFormats<double> formats(c, random_matrix<double>(60, 60, 0.05, Values::integers, 3));
    const Space space = c.backend() == Backend::cpu ? Space::host : Space::device;
    for (const auto& view : formats.views())
        for (const Policy& policy :
             candidates({.format = static_cast<Format>(view.index())}, {c.backend(), c.host().threads})) {
            const std::size_t before = c.memory().live(space);
            const auto plan = Plan<double>::make(c, view, {.force = policy});
            EXPECT_EQ(c.memory().live(space) - before, plan.bytes()) << to_text(policy);
        }
}

// Every allocation fails once, and from some point on: nothing leaks, y is untouched, and the next call works.
TEST_P(SpmvOn, SurvivesEveryFailingAllocation)
{
    const auto c = ctx();
    const auto a = random_matrix<double>(60, 50, 0.2, Values::integers, 3);
    const InAllFormats<double> formats(c, a);
    const auto x = to_device<double>(c, std::span<const double>(std::vector<double>(60, 1.0)));
    const std::vector<double> before(50, 7.0);
    const auto want = oracle_multiply(a, true, 1.0, std::vector<double>(60, 1.0), 0.0, before);
    for (const auto& view : formats.views()) {
        if (std::holds_alternative<CscView<double>>(view))
            continue;  // transposed, it is used as it is: nothing to allocate
        SCOPED_TRACE(to_text(static_cast<Format>(view.index())));
        expect_clean_failures(c, [&] { (void)Plan<double>::make(c, view, {.op = Op::transpose}); });
        Guarded<double> y(c, before);
        expect_clean_failures(c, [&] {
            try {
                Plan<double>::once(c, view, 1.0, x.span(), 0.0, y.span(), {.op = Op::transpose});
            } catch (const OutOfMemory&) {
                c.memory().fail_at(-1);
                EXPECT_TRUE(same_bits(y.take(), before)) << "a failed product wrote to y";
                throw;
            }
            EXPECT_TRUE(within_bound(y.take(), want));
            y = Guarded<double>(c, before);
        });
    }
}

// Blocks are copied again when their values change; the old plan works until the new values are in.
TEST_P(SpmvOn, SurvivesFailingUpdatesOfValues)
{
    auto c = ctx();
    c.deterministic();
    const auto bell =
        to_blocked_ell(c, view_of(to_device(c, random_matrix<double>(60, 50, 0.2, Values::integers, 3).view())), 3);
    auto plan = Plan<double>::make(c, bell.view(), {.op = Op::transpose});
    if (!plan.policy().copy) GTEST_SKIP() << "one thread adds in a fixed order without a copy";
    const auto x = to_device<double>(c, std::span<const double>(std::vector<double>(60, 1.0)));
    auto y = to_device<double>(c, std::span<const double>(std::vector<double>(50, 0.0)));
    plan.run(x.span(), y.span());
    const auto want = to_host<double>(c, std::span<const double>(y.span()));
    expect_clean_failures(c, [&] { plan.update_values(bell.view()); });
    plan.run(x.span(), y.span());
    const auto got = to_host<double>(c, std::span<const double>(y.span()));
    EXPECT_TRUE(std::equal(want.span().begin(), want.span().end(), got.span().begin()));
}

TEST_P(SpmvOn, DescribesWhatItDoes)
{
    const auto c = ctx();
    const auto a = to_device(c, random_matrix<double>(60, 60, 0.05, Values::integers, 3).view());
    const std::string text = Plan<double>::make(c, a.view(), {.op = Op::transpose}).describe();
    for (const char* part : {"60 x 60", "CSR transposed", "chosen:", "a copy by rows", "the same bits every time",
                             "beside the matrix", "also possible: scatter"})
        EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
}

TULLE_ON_BACKENDS(SpmvOn);

// A deterministic context and a small matrix do not depend on a clock.
TEST(SpmvOnCpu, SaysWhatItKnowsOfTheMachine)
{
    const auto large = random_matrix<double>(300, 2000, 0.1, Values::integers, 3),
               small = random_matrix<double>(30, 30, 0.1, Values::integers, 3);
    const auto costs_in = [](const Context& c, const HostCsr<double>& a) {
        const std::string text = Plan<double>::make(c, a.view()).describe();
        const std::size_t at = text.find("costs:");
        return at == std::string::npos ? std::string("none") : text.substr(at + 8, 8);
    };
    EXPECT_EQ(costs_in(Context::cpu(2), large), measured_costs(8).measured ? "measured" : "typical,");
    EXPECT_EQ(costs_in(Context::cpu(2), small), "typical,");
    EXPECT_EQ(costs_in(Context::cpu(2).deterministic(), large), "typical,");
}

TEST(SpmvOnCpu, GivesSmallWorkOneThread)
{
    const auto small = random_matrix<double>(30, 30, 0.1, Values::integers, 3),
               large = random_matrix<double>(300, 2000, 0.1, Values::integers, 3);
    const WorkPerThread usual("8192");
    const auto where = [](const HostCsr<double>& a) {
        return Plan<double>::make(Context::cpu(2), a.view()).describe().substr(0, 13);
    };
    EXPECT_EQ(where(small), "spmv on cpu:1");
    EXPECT_EQ(where(large), "spmv on cpu:2");
    const auto rows_of_20 = [](index_t rows) {
        return matrix_where<double>(rows, 20, Values::integers, 3, [](index_t, index_t) { return true; });
    };
    EXPECT_EQ(where(rows_of_20(130)), "spmv on cpu:1");
    EXPECT_EQ(where(rows_of_20(131)), "spmv on cpu:2") << "a sixth of the usual work, because a plan runs many times";
}

// The call without a plan looks at less, and refuses the same.
TEST(SpmvOnCpu, RefusesABrokenMatrixInASingleCall)
{
    const auto good = random_matrix<double>(700, 90, 0.2, Values::integers, 3);
    const std::vector<double> x(90, 1.0);
    std::vector<double> y(700, 7.0);
    const auto refused = [&](const HostCsr<double>& a) {
        EXPECT_THROW(multiply(Context::cpu(2), a.view(), 1.0, x, 1.0, y), ValueError);
        EXPECT_EQ(y, std::vector<double>(700, 7.0)) << "a refused product wrote to a y that is added to";
        std::vector<double> overwritten = y;
        try {
            multiply(Context::cpu(2), a.view(), x, overwritten);
            ADD_FAILURE() << "not refused";
        } catch (const ValueError& fault) {
            const bool says = std::string(fault.what()).find("y is filled with NaN") != std::string::npos;
            const bool has_no_number = std::ranges::all_of(overwritten, [](double v) { return std::isnan(v); });
            EXPECT_TRUE(says ? has_no_number : overwritten == y) << fault.what();
        }
    };
    for (const index_t row : {0, 255, 256, 699}) {
        SCOPED_TRACE(row);
        const auto begin = static_cast<std::size_t>(good.row_begin[static_cast<std::size_t>(row)]),
                   end = static_cast<std::size_t>(good.row_begin[static_cast<std::size_t>(row) + 1]);
        ASSERT_GT(end, begin + 2);
        auto bad = good;
        bad.col[end - 1] = 90;
        refused(bad);
        bad = good;
        bad.col[begin] = -1;
        refused(bad);
        bad = good;
        bad.col[begin + 1] = bad.col[begin];
        refused(bad);
        bad = good;
        std::swap(bad.col[begin], bad.col[begin + 1]);
        refused(bad);
        bad = good;
        bad.row_begin[static_cast<std::size_t>(row)] = bad.row_begin[static_cast<std::size_t>(row) + 1] + 1;
        refused(bad);
    }
    EXPECT_NO_THROW(multiply(Context::cpu(2), good.view(), x, y));
    EXPECT_TRUE(within_bound(y, oracle_multiply(good, false, 1.0, x, 0.0, std::vector<double>(700, 0.0))));
}

// Columns are checked while they are multiplied: every fault is found, on every thread, and none where rows meet.
// The same matrix with offsets of 32 bits, which `narrow` holds.
Csr32View<double> with_narrow_offsets(const HostCsr<double>& a, std::vector<std::int32_t>& narrow)
{
    narrow.resize(a.row_begin.size());
    std::ranges::transform(a.row_begin, narrow.begin(), [](offset_t k) { return static_cast<std::int32_t>(k); });
    const CsrView<double> v = a.view();
    return {v.rows, v.cols, v.nonzeros, narrow.data(), v.col, v.value, v.sorted, v.unique};
}

TEST(SpmvOnCpu, ASingleCallTakesNoMemory)
{
    const auto a = random_matrix<double>(3000, 40, 0.3, Values::integers, 5);
    std::vector<std::int32_t> narrow;
    const std::vector<double> x(40, 1.0);
    for (const int threads : {1, 3}) {
        const Context c = Context::cpu(threads);
        std::vector<double> y(3000), from_narrow(3000);
        multiply(c, a.view(), x, y);
        multiply(c, with_narrow_offsets(a, narrow), x, from_narrow);
        EXPECT_TRUE(same_bits(y, from_narrow)) << threads;
        EXPECT_EQ(c.memory().allocations(), 0) << threads;
    }
}

TEST(SpmvOnCpu, APlanOfFewNonzerosTakesNoMemoryForItsColumns)
{
    auto a = random_matrix<float>(3000, 40, 0.3, Values::integers, 5);
    for (index_t& j : a.col) j *= 50'000'000;
    a.cols = max_index;
    for (const int threads : {1, 2}) {
        const Context c = Context::cpu(threads);
        const auto plan = Plan<float>::make(c, a.view());
        EXPECT_LT(c.memory().peak(Space::host), 4 * sizeof(float) * a.value.size()) << threads;
    }
}

TEST(SpmvOnCpu, ChecksColumnsWhileItMultiplies)
{
    const auto good = random_matrix<double>(3000, 40, 0.3, Values::integers, 5);
    const std::vector<double> x(40, 1.0);
    std::vector<double> y(3000);
    std::vector<std::int32_t> narrow;
    for (const int threads : {1, 3}) {
        const Context c = Context::cpu(threads);
        for (const bool sorted : {true, false}) {
            auto bad = good;
            bad.sorted = bad.unique = sorted;
            multiply(c, bad.view(), x, y);
            EXPECT_TRUE(within_bound(y, oracle_multiply(good, false, 1.0, x, 0.0, std::vector<double>(3000, 0.0))));
            for (std::size_t at = 0; at < good.col.size(); at += 997)
                for (const index_t wrong :
                     {-1, 40, std::numeric_limits<index_t>::max(), std::numeric_limits<index_t>::min()}) {
                    bad.col[at] = wrong;
                    EXPECT_THROW(multiply(c, bad.view(), x, y), ValueError) << at << " " << wrong;
                    EXPECT_THROW(multiply(c, with_narrow_offsets(bad, narrow), x, y), ValueError) << at << " " << wrong;
                    bad.col[at] = good.col[at];
                }
        }
        auto twice = good;
        twice.unique = false;
        twice.col[1] = twice.col[0];
        EXPECT_NO_THROW(multiply(c, twice.view(), x, y)) << "a column may repeat where the view says so";
    }
}

// Offsets that descend would give threads the same rows.
// Columns are looked at in blocks: a fault between two of them is one too.
TEST(SpmvOnCpu, ChecksColumnsWhereverTheyStandInALongRow)
{
    constexpr index_t n = 5000;
    HostCsr<double> row{.rows = 1, .cols = n, .row_begin = {0, n}, .col = {}, .value = std::vector<double>(n, 1.0)};
    row.col.resize(n);
    std::iota(row.col.begin(), row.col.end(), 0);
    const std::vector<double> x(n, 1.0);
    std::vector<double> y(1);
    const Context c = Context::cpu(1);
    const std::size_t step = takes_all() ? 1 : 29;  // a build with a simulated GPU is slow here, and about GPUs
    for (std::size_t at = 1; at < row.col.size(); at += step) {
        auto bad = row;
        bad.col[at] = bad.col[at - 1];
        EXPECT_THROW(multiply(c, bad.view(), x, y), ValueError) << at;
        bad.unique = false;
        multiply(c, bad.view(), x, y);
        EXPECT_EQ(y[0], n) << at;
        bad.col[at] = row.col[at];
        std::swap(bad.col[at - 1], bad.col[at]);
        EXPECT_THROW(multiply(c, bad.view(), x, y), ValueError) << at;
    }
}

TEST(SpmvOnCpu, ChecksOffsetsWhileItMultiplies)
{
    const auto good = random_matrix<double>(400, 40, 0.3, Values::integers, 5);
    const std::vector<double> x(40, 1.0);
    std::vector<double> y(400);
    std::vector<std::int32_t> narrow;
    for (const int threads : {1, 2, 7})
        for (std::size_t row = 1; row < 400; row += 13)
            for (const offset_t wrong : {offset_t{-5}, offset_t{0}, std::ssize(good.col), std::ssize(good.col) + 9,
                                         std::numeric_limits<offset_t>::max()}) {
                auto bad = good;
                bad.row_begin[row] = wrong;
                if (bad.row_begin[row - 1] <= wrong && wrong <= bad.row_begin[row + 1]) continue;
                const Context c = Context::cpu(threads);
                EXPECT_THROW(multiply(c, bad.view(), x, y), ValueError) << row << " " << wrong;
                EXPECT_THROW(multiply(c, with_narrow_offsets(bad, narrow), x, y), ValueError) << row << " " << wrong;
            }
}

// The split kernel's pieces and the row kernel's sums do not depend on the number of threads.
TEST(SpmvOnCpu, GivesTheSameBitsForAnyNumberOfThreads)
{
    const auto a = random_matrix<float>(400, 3000, 0.05, Values::reals, 3);
    const auto x = test_vector<float>(3000, Values::reals, 5);
    for (const Policy& policy : {Policy{Kernel::rows, 4, false}, Policy{Kernel::split, 32, false}}) {
        std::vector<std::vector<float>> results;
        for (const int threads : {1, 2, 3, 8}) {
            std::vector<float> y(400, 0.0f);
            Plan<float>::make(Context::cpu(threads), a.view(), {.force = policy}).run(x, y);
            results.push_back(y);
        }
        for (const auto& y : results) EXPECT_TRUE(same_bits(results.front(), y)) << to_text(policy);
    }
}

// … also while a plan compares one thread with all of them, with dots or without, and when it has chosen.
TEST(SpmvOnCpu, GivesTheSameBitsWhileThreadsAreCompared)
{
    const auto a = random_matrix<double>(400, 400, 0.05, Values::reals, 3);
    const auto x = test_vector<double>(400, Values::reals, 5);
    for (const Policy& policy : {Policy{Kernel::rows, 1}, Policy{Kernel::rows, 8}, Policy{Kernel::sell, 8}}) {
        std::vector<double> expected(400), y(400), dots(2);
        Plan<double>::make(Context::cpu(1), a.view(), {.force = policy}).run(x, expected);
        const auto plan = Plan<double>::make(Context::cpu(3), a.view(), {.force = policy, .dots = true});
        for (int run = 0; run < 30; ++run) {
            std::fill(y.begin(), y.end(), std::numeric_limits<double>::quiet_NaN());
            if (run % 3 == 0) plan.run(1.0, x, 0.0, y, dots);
            else plan.run(x, y);
            ASSERT_TRUE(same_bits(expected, y)) << to_text(policy) << " " << run;
            plan.run(2.0, expected, 0.0, y);  // other vectors
            plan.run(0.0, x, 0.0, y);
            EXPECT_EQ(y, std::vector<double>(400));
        }
        EXPECT_NE(plan.describe().find("\n  threads: "), std::string::npos);
    }
    const auto one = Plan<double>::make(Context::cpu(1), a.view());
    EXPECT_EQ(one.describe().find("\n  threads: "), std::string::npos);
}

}  // namespace
}  // namespace tulle::inline TULLE_ABI::spmv
