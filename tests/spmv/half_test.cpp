// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Products with values of 16 bits: every kernel for them, which values fit, and what they are rounded to.
#include "spmv/half.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "factor/matrices.hpp"
#include "spmv/cpu/merge_interval.hpp"
#include "support/backends.hpp"
#include "support/faults.hpp"
#include "support/guarded.hpp"
#include "support/oracle.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::spmv {
namespace {

using namespace tulle::test;

class HalfOn : public OnBackend {};
TULLE_ON_BACKENDS(HalfOn);

constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();

// y = alpha A x + beta y by `run`, twice: y is read, then it is not. Before, y is integers times `size`.
template <class Run>
void expect_products(const Context& c, const HostCsr<float>& a, const std::vector<float>& x, const Run& run,
                     float size = 1)
{
    const auto there = to_device<float>(c, std::span<const float>(x));
    for (const float beta : {-1.0f, 0.0f}) {
        auto y = test_vector<float>(a.rows, Values::integers, 5);
        for (float& v : y) v *= size;
        const auto want = oracle_multiply(a, false, 2.0f, x, beta, y);
        if (beta == 0) std::fill(y.begin(), y.end(), nan_value);
        Guarded<float> out(c, y);
        run(2.0f, there.span(), beta, out.span());
        const auto got = out.take();
        for (std::size_t i = 0; i < got.size(); ++i)
            ASSERT_EQ(static_cast<long double>(got[i]), want.value[i]) << "row " << i << ", beta " << beta;
    }
}

// The kernels on a matrix of small integers, which 16 bits hold.
template <class H>
void expect_kernels(const Context& c, const std::string& name, const HostCsr<float>& a)
{
    HostCsr<H> half{a.rows, a.cols, a.row_begin, a.col, {}, a.sorted, a.unique};
    for (const float v : a.value) half.value.emplace_back(v);
    const Csr<H> there = to_device(c, half.view());
    const Csr<float> full = to_device(c, a.view());
    const auto x = test_vector<float>(a.cols, Values::integers, 3);
    Features f{.format = Format::csr, .reused = true};
    f.row = c.run([&](const auto& q) { return survey(q, full.view(), true).row; });
    for (const Policy& p : candidates(f, {.backend = c.backend(), .threads = c.host().threads})) {
        if (p.kernel != Kernel::rows && p.kernel != Kernel::sell) continue;
        if (!is_drawn(name + to_text(p), 4)) continue;
        SCOPED_TRACE(name + ", " + to_text(p));
        Workspace<float, H> work;
        c.run([&](const auto& q) {
            work.point = make_parts(q, full.view());
            if (p.narrow) work.narrow = make_narrow(q, full.view());
            if (p.kernel == Kernel::rows && p.sort) work.window = make_windows(q, full.view());
            if (p.kernel == Kernel::sell) work.sell = make_sell(q, there.view(), p.sort, f.row.padded);
        });
        expect_products(c, a, x, [&](float alpha, std::span<const float> from, float beta, std::span<float> to) {
            const Vectors<float> v{alpha, from.data(), beta, to.data()};
            c.run([&](const auto& q) {
                if (p.kernel == Kernel::sell) multiply_sell(q, there.view(), p.lanes, work.sell, v);
                else multiply_rows(q, there.view(), p.lanes, work, v);
            });
        });
    }
}

TEST_P(HalfOn, EveryKernelIsExactForSmallIntegers)
{
    for (const auto& [name, a] : battery<float>(Values::integers)) {
        expect_kernels<Float16>(ctx(), name + " f16", a);
        expect_kernels<Bfloat16>(ctx(), name + " bf16", a);
    }
}

// The plan chooses rows or slices, and its power of two is exact; with values of any size.
template <class H>
void expect_plan(const Context& c, const HostCsr<float>& integers, float power)
{
    HostCsr<float> a = integers;
    for (float& v : a.value) v *= power;
    const Csr<float> there = to_device(c, a.view());
    const auto x = test_vector<float>(a.cols, Values::integers, 3);
    auto plan = HalfPlan<H>::make(c, there.view());
    ASSERT_TRUE(plan);
    const auto run = [&](float alpha, auto from, float beta, auto to) { plan->run(alpha, from, beta, to); };
    expect_products(c, a, x, run, power);
    for (float& v : a.value) v *= -0x1p-9f;
    const Csr<float> other = to_device(c, a.view());
    ASSERT_TRUE(plan->update_values(other.view()));
    expect_products(c, a, x, run, power * 0x1p-9f);
    EXPECT_GE(plan->bytes(), 2 * a.value.size());
}

TEST_P(HalfOn, PlansAreExactForIntegersTimesAnyPower)
{
    const Context c = ctx();
    const std::vector<HostCsr<float>> all{
        laplacian<float>(20, 9, 3),
        random_matrix<float>(90, 80, 0.1, Values::integers, 4),
        csr_of<float>(0, 0, {}),
        csr_of<float>(5, 3, {}),
        shuffled_with_duplicates(random_matrix<float>(40, 40, 0.2, Values::integers, 6), 7),
        matrix_of_columns<float>(70, 140'000, 8, [](index_t i) {
            return std::vector{i, i + 1, 139'000 + i};
        })};
    unsigned number = 0;
    for (const auto& a : all)
        for (const float power : {1.0f, 0x1p60f, 0x1p-60f}) {
            if (!has_turn(number++)) continue;
            SCOPED_TRACE(number);
            expect_plan<Float16>(c, a, power);
            expect_plan<Bfloat16>(c, a, power);
        }
}

TEST(Half, ACpuTakesSlicesForEvenRowsAndVectorsForOthers)
{
    const Context c = Context::cpu(1);
    const auto even = HalfPlan<Float16>::make(c, laplacian<float>(64, 1, 1).view());
    EXPECT_EQ(even->policy().kernel, Kernel::sell);
    const auto uneven = random_matrix<float>(90, 80, 0.1, Values::integers, 4);
    const auto plan = HalfPlan<Float16>::make(c, uneven.view());
    EXPECT_EQ(to_text(plan->policy()), "rows, 8 lanes, narrow columns");
    EXPECT_EQ(plan->bytes(), (2 + 2) * uneven.value.size() + 4 * (90 + 1));
}

// A value loses 2^-11 or 2^-8 of itself, beside the sum in float.
template <class H>
void expect_rounded(const Context& c, long double roundoff)
{
    HostCsr<float> a = random_matrix<float>(300, 280, 0.05, Values::integers, 9);
    for (std::size_t k = 0; k < a.value.size(); ++k)
        a.value[k] += static_cast<float>(unit(hash_of(10, static_cast<std::int64_t>(k))));
    const Csr<float> there = to_device(c, a.view());
    const auto x = test_vector<float>(a.cols, Values::reals, 3);
    const auto on_device = to_device<float>(c, std::span<const float>(x));
    auto y = to_device<float>(c, std::span<const float>(std::vector<float>(300, nan_value)));
    const auto plan = HalfPlan<H>::make(c, there.view());
    ASSERT_TRUE(plan);
    plan->run(1, on_device.span(), 0, y.span());
    const auto got = host_vector(c, y);
    const auto want = oracle_multiply(a, false, 1.0f, x, 0.0f, std::vector<float>(300));
    long double worst = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
        const long double error = std::abs(static_cast<long double>(got[i]) - want.value[i]);
        ASSERT_LE(error, roundoff * want.magnitude[i] + error_bound::of_sum<float>(want.terms[i], want.magnitude[i]));
        if (want.magnitude[i] > 0) worst = std::max(worst, error / want.magnitude[i]);
    }
    EXPECT_GT(worst, roundoff / 50);  // so little is kept
}

TEST_P(HalfOn, ValuesAreRoundedToNearest)
{
    expect_rounded<Float16>(ctx(), 0x1p-11L);
    expect_rounded<Bfloat16>(ctx(), 0x1p-8L);
}

TEST_P(HalfOn, RowsOfVeryDifferentSizeAreLeftToFloat)
{
    const Context c = ctx();
    const auto fits = [&](std::vector<float> diagonal) {
        std::vector<std::tuple<index_t, index_t, float>> entries;
        for (std::size_t i = 0; i < diagonal.size(); ++i)
            if (diagonal[i] != 0) entries.emplace_back(static_cast<index_t>(i), static_cast<index_t>(i), diagonal[i]);
        const auto n = static_cast<index_t>(diagonal.size());
        const Csr<float> a = to_device(c, csr_of<float>(n, n, entries).view());
        return std::pair{HalfPlan<Float16>::make(c, a.view()).has_value(),
                         HalfPlan<Bfloat16>::make(c, a.view()).has_value()};
    };
    using Both = std::pair<bool, bool>;
    EXPECT_EQ(fits({1, 0, 0x1p18f}), Both(true, true));  // the empty row does not count
    EXPECT_EQ(fits({1, 0x1p19f}), Both(false, true));
    EXPECT_EQ(fits({0x1p-90f, 0x1p10f}), Both(false, true));
    EXPECT_EQ(fits({0x1p-90f, 0x1p11f}), Both(false, false));
    EXPECT_EQ(fits({0x1p-110f, 0x1p-110f}), Both(false, false));
    EXPECT_EQ(fits({0x1.ffffp127f, 0x1p127f}), Both(true, false));
    const auto a = laplacian<float>(30, 1, 1);
    auto wild = a;
    wild.value[0] = 1e9f;
    const Csr<float> there = to_device(c, a.view()), other = to_device(c, wild.view());
    auto plan = HalfPlan<Float16>::make(c, there.view());
    EXPECT_FALSE(plan->update_values(other.view()));
    EXPECT_TRUE(plan->update_values(there.view()));
    expect_products(c, a, test_vector<float>(30, Values::integers, 3),
                    [&](float alpha, auto x, float beta, auto y) { plan->run(alpha, x, beta, y); });
}

// Infinity and NaN come through, zero times A does not read it.
TEST_P(HalfOn, NumbersThatAreNotFiniteStaySo)
{
    const Context c = ctx();
    constexpr float infinite = std::numeric_limits<float>::infinity();
    auto a = laplacian<float>(40, 1, 1);
    a.value[1] = infinite;
    a.value.back() = nan_value;
    const Csr<float> there = to_device(c, a.view());
    const auto x = to_device<float>(c, std::span<const float>(std::vector<float>(40, 1)));
    const auto expect = [&](const auto& plan) {
        auto y = to_device<float>(c, std::span<const float>(std::vector<float>(40, 2)));
        plan->run(0, x.span(), 3, y.span());
        EXPECT_EQ(host_vector(c, y), std::vector<float>(40, 6));
        plan->run(1, x.span(), 0, y.span());
        const auto got = host_vector(c, y);
        EXPECT_EQ(got[0], infinite);
        EXPECT_EQ(got[1], 0);
        EXPECT_TRUE(std::isnan(got[39]));
    };
    expect(HalfPlan<Float16>::make(c, there.view()));
    expect(HalfPlan<Bfloat16>::make(c, there.view()));
}

TEST_P(HalfOn, FailedAllocationsLeaveNothingBehind)
{
    const Context c = ctx();
    const Csr<float> even = to_device(c, laplacian<float>(40, 1, 1).view());
    const Csr<float> uneven = to_device(c, random_matrix<float>(30, 30, 0.3, Values::integers, 4).view());
    for (const auto* a : {&even, &uneven})
        expect_clean_failures(c, [&] { HalfPlan<Float16>::make(c, a->view())->update_values(a->view()); });
}

}  // namespace
}  // namespace tulle::inline TULLE_ABI::spmv
