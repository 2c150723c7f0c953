// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// C = alpha op(A) B + beta C as a user meets it: every type, both layouts, any shape, any column count; what is
// refused, and how.
#include "spmm/dense_case.hpp"

#include "support/backends.hpp"
#include "support/faults.hpp"
#include "support/older_gpu.hpp"

namespace tulle::inline TULLE_ABI::spmm {
namespace {

using namespace test;

class SpmmOn : public tulle::test::OnBackend {};

constexpr double f16_scale = 0x1p-12;  // keeps rows of the battery's reals inside the range of f16

template <class V, class C>
void check_battery(const Context& c, Values values)
{
    const double scale = values == Values::reals && std::is_same_v<V, Float16> ? f16_scale : 1;
    for (const auto& [name, in_double] : battery<double>(values)) {
        const auto a = in_type<V>(in_double, scale);
        const auto there = to_device(c, a.view());
        int k = 0;
        for (const index_t n : {1, 7, 33})
            for (const Op op : {Op::none, Op::transpose}) {
                ++k;
                const std::string what = name + ", " + name_of<V>() + " to " + name_of<C>() +
                                         ", n = " + std::to_string(n) + (op == Op::none ? "" : ", transposed");
                if (!is_drawn(what, 3)) continue;
                SCOPED_TRACE(what);
                const bool t = op == Op::transpose;
                const Form form_b{k % 3 == 0 ? Layout::col_major : Layout::row_major, k % 2 * 3,
                                  k % 4 == 1 ? 61u : 64u};
                const Form form_c{k % 3 == 1 ? Layout::col_major : Layout::row_major, k % 5, k % 4 == 2 ? 63u : 64u};
                const auto b = dense<V>(t ? a.rows : a.cols, n, values, 3);
                const auto before = dense<C>(t ? a.cols : a.rows, n, values, 4);
                const Scalars s = k % 2 ? Scalars{1, 0} : Scalars{-2, 0.5};
                Lent<V> b_there(c, b, form_b);
                Lent<C> c_there(c, before, form_c);
                multiply(c, there.view(), static_cast<Sum<V>>(s.alpha), b_there.view(), static_cast<Sum<V>>(s.beta),
                         c_there.view(), {.op = op});
                EXPECT_TRUE(is_product(a, t, s, b, before, c_there.take(), values == Values::integers, false));
            }
    }
}

TEST_P(SpmmOn, IsExactForIntegers)
{
    for_each_type([&](auto v, auto c) { check_battery<decltype(v), decltype(c)>(ctx(), Values::integers); });
}

TEST_P(SpmmOn, StaysWithinItsBoundForReals)
{
    for_each_type([&](auto v, auto c) { check_battery<decltype(v), decltype(c)>(ctx(), Values::reals); });
}

TEST_P(SpmmOn, MultipliesByHand)
{
    const auto c = ctx();
    const auto a = csr_of<float>(2, 3, {{0, 0, 1.0f}, {0, 2, 2.0f}, {1, 1, -1.0f}});
    const auto there = to_device(c, a.view());
    const HostDense<float> b{3, 2, {1, 2, 3, 4, 5, 6}};
    Lent<float> b_there(c, b, {}), c_there(c, {2, 2, {9, 9, 9, 9}}, {});
    multiply(c, there.view(), b_there.view(), c_there.view());
    EXPECT_EQ(c_there.take().at, (std::vector<float>{11, 14, -3, -4}));
}

// A nearly dense matrix with few rows: its panels are shared by clusters of blocks, where the GPU has them.
TEST_P(SpmmOn, OlderGpusDoWithoutClusters)
{
    const auto c = ctx();
    if (c.backend() == Backend::cpu) GTEST_SKIP() << "about GPUs";
    const auto a = in_type<Float16>(
        matrix_where<double>(60, 1500, Values::integers, 9, [](index_t i, index_t j) { return (i + j) % 3 != 0; }));
    const auto there = to_device(c, a.view());
    const auto b = dense<Float16>(1500, 32, Values::integers, 1);
    const auto before = dense<float>(60, 32, Values::integers, 2);
    const Policy shared{Kernel::dense, 1, OrderKind::natural, 32, 2};
    for (const int compute : {80, 90}) {
        SCOPED_TRACE(compute);
        const tulle::test::OlderGpu gpu(compute);
        Lent<Float16> b_there(c, b, {});
        Lent<float> c_there(c, before, {});
        const auto chosen = Plan<Float16, float>::make(c, there.view(), {.n = 32});
        if (compute < 90) {
            EXPECT_LE(chosen.policy().parts, 1);
            EXPECT_THROW((Plan<Float16, float>::make(c, there.view(), {.n = 32, .force = shared})), ValueError);
        }
        const Policy forced{Kernel::dense, 1, OrderKind::natural, 32, compute < 90 ? 1 : 2};
        chosen.run(1, b_there.view(), 0, c_there.view());
        EXPECT_TRUE(is_product(a, false, {1, 0}, b, before, c_there.take(), true, false));
        Plan<Float16, float>::make(c, there.view(), {.n = 32, .force = forced})
            .run(1, b_there.view(), 0, c_there.view());
        EXPECT_TRUE(is_product(a, false, {1, 0}, b, before, c_there.take(), true, false));
    }
}

TEST_P(SpmmOn, ReadsCOnlyWhereBetaAsksForIt)
{
    const auto c = ctx();
    const auto a = in_type<float>(random_matrix<double>(70, 50, 0.05, Values::integers, 3));
    const auto there = to_device(c, a.view());
    const auto b = dense<float>(50, 5, Values::integers, 1);
    HostDense<float> nan{70, 5, std::vector<float>(350, std::nanf(""))};
    Lent<float> b_there(c, b, {}), c_there(c, nan, {Layout::col_major, 2});
    multiply(c, there.view(), 2, b_there.view(), 0, c_there.view());
    EXPECT_TRUE(is_product(a, false, {2, 0}, b, nan, c_there.take(), true, false));
}

TEST_P(SpmmOn, NoColumnsAreNoWork)
{
    const auto c = ctx();
    const auto there = to_device(c, random_matrix<float>(20, 30, 0.2, Values::integers, 3).view());
    const auto plan = Plan<float>::make(c, there.view(), {.n = 0});
    plan.run({30, 0, 0, Layout::row_major, nullptr}, {20, 0, 0, Layout::row_major, nullptr});
    plan.run({30, 0, 30, Layout::col_major, nullptr}, {20, 0, 20, Layout::col_major, nullptr});
}

// The column count that a plan expects is no promise, nor is the layout.
TEST_P(SpmmOn, APlanTakesAnyColumnsAndLayout)
{
    const auto c = ctx();
    const auto a = in_type<double>(matrix_where<double>(40, 900, Values::integers, 7, [](index_t i, index_t j) {
        return i == 7 || (i * 31 + j) % 97 == 0;
    }));
    const auto there = to_device(c, a.view());
    for (const Layout expected : {Layout::row_major, Layout::col_major}) {
        const auto plan = Plan<double>::make(c, there.view(), {.n = 5, .b_layout = expected});
        for (const Layout layout : {Layout::row_major, Layout::col_major})
            for (const index_t n : {3, 5, 13}) {
                const auto b = dense<double>(900, n, Values::integers, 1),
                           before = dense<double>(40, n, Values::integers, 2);
                Lent<double> b_there(c, b, {layout, 1}), c_there(c, before, {layout, 2});
                plan.run(1, b_there.view(), 1, c_there.view());
                EXPECT_TRUE(is_product(a, false, {1, 1}, b, before, c_there.take(), true, false)) << n;
            }
    }
}

TEST_P(SpmmOn, RunAllocatesNothingAndRepeatsItsBits)
{
    const auto c = ctx();
    const auto a = in_type<float>(matrix_where<double>(150, 1400, Values::reals, 7, [](index_t i, index_t j) {
        return i == 7 || (i * 31 + j) % 197 == 0;
    }));
    const auto there = to_device(c, a.view());
    const auto plan = Plan<float>::make(c, there.view(), {.n = 9});
    const auto b = dense<float>(1400, 9, Values::reals, 1);
    Lent<float> b_there(c, b, {}), first(c, {150, 9, std::vector<float>(1350)}, {}),
        second(c, {150, 9, std::vector<float>(1350)}, {});
    c.memory().fail_at(0, Memory::Fail::for_ever);
    plan.run(b_there.view(), first.view());
    plan.run(b_there.view(), second.view());
    c.memory().fail_at(-1);
    const auto x = first.take(), y = second.take();
    EXPECT_TRUE(same_bits(x.at, y.at));
}

TEST_P(SpmmOn, FailingAllocationsLeaveNothingBehind)
{
    const auto c = ctx();
    const auto a = in_type<Float16>(matrix_where<double>(9, 600, Values::integers, 7, [](index_t i, index_t j) {
        return i == 7 || i == j;
    }));  // a long row
    const auto b = in_type<Float16>(
        matrix_where<double>(20, 16, Values::integers, 7, [](index_t i, index_t j) { return i == j; }));
    const auto long_row = to_device(c, a.view()), small = to_device(c, b.view());
    tulle::test::expect_clean_failures(c, [&] {
        Plan<Float16>::make(c, long_row.view(), {.b_layout = Layout::col_major});
    });
    tulle::test::expect_clean_failures(c, [&] { Plan<Float16>::make(c, small.view(), {.op = Op::transpose}); });
}

TEST_P(SpmmOn, NewValuesArriveAlsoTransposed)
{
    const auto c = ctx();
    const auto a = random_matrix<double>(60, 45, 0.1, Values::integers, 31);
    auto b = a;
    for (auto& v : b.value) v = 3 * v + 1;
    const auto before = to_device(c, a.view()), after = to_device(c, b.view());
    for (const Op op : {Op::none, Op::transpose}) {
        const bool t = op == Op::transpose;
        auto plan = Plan<double>::make(c, before.view(), {.op = op});
        plan.update_values(after.view());
        const auto x = dense<double>(t ? 60 : 45, 6, Values::integers, 1),
                   y = dense<double>(t ? 45 : 60, 6, Values::integers, 2);
        Lent<double> x_there(c, x, {}), y_there(c, y, {});
        plan.run(x_there.view(), y_there.view());
        EXPECT_TRUE(is_product(b, t, {}, x, y, y_there.take(), true, false));
    }
    const auto other = to_device(c, random_matrix<double>(60, 45, 0.2, Values::integers, 1).view());
    auto plan = Plan<double>::make(c, before.view());
    EXPECT_THROW(plan.update_values(other.view()), PlanMismatch);
}

template <class E, class Work>
std::string message_of(Work&& work)
{
    try {
        work();
    } catch (const E& error) {
        return error.message();
    }
    return "nothing was thrown";
}

TEST_P(SpmmOn, RefusesWhatDoesNotFit)
{
    const auto c = ctx();
    const auto there = to_device(c, random_matrix<float>(20, 30, 0.2, Values::integers, 3).view());
    const auto plan = Plan<float>::make(c, there.view(), {.n = 4});
    auto data = to_device<float>(c, std::span<const float>(std::vector<float>(1000)));
    float *b = data.data(), *y = data.data() + 500;
    const auto run = [&](const DenseView<const float>& from, const DenseView<float>& to) { plan.run(from, to); };
    EXPECT_EQ(message_of<ShapeError>([&] {
                  run({31, 4, 4, Layout::row_major, b}, {20, 4, 4, Layout::row_major, y});
              }),
              "B is 31 x 4, but must be 30 x 4");
    EXPECT_EQ(message_of<ShapeError>([&] {
                  run({30, 4, 4, Layout::row_major, b}, {20, 5, 5, Layout::row_major, y});
              }),
              "C is 20 x 5, but must be 20 x 4");
    EXPECT_EQ(message_of<ShapeError>([&] {
                  run({30, 4, 3, Layout::row_major, b}, {20, 4, 4, Layout::row_major, y});
              }),
              "the leading dimension of B is 3, but its rows have 4 entries");
    EXPECT_EQ(message_of<ShapeError>([&] {
                  run({30, 4, 4, Layout::row_major, b}, {20, 4, 19, Layout::col_major, y});
              }),
              "the leading dimension of C is 19, but its columns have 20 entries");
    EXPECT_EQ(message_of<ValueError>([&] {
                  run({30, 4, 4, Layout::row_major, b}, {20, 4, 4, Layout::row_major, b + 119});
              }),
              "B and C overlap");
    run({30, 4, 4, Layout::row_major, b}, {20, 4, 4, Layout::row_major, b + 120});
    EXPECT_THROW(Plan<float>::make(c, there.view(), {.n = -1}), ValueError);
    EXPECT_THROW(Plan<double>::make(c,
                                    tulle::test::view_of(
                                        to_device(c, random_matrix<double>(20, 30, 0.2, Values::integers, 3).view())),
                                    {.math = Math::tf32}),
                 ValueError);
    EXPECT_THROW(Plan<float>::make(c, there.view(), {.force = Policy{Kernel::rows, 5}}), ValueError);
    EXPECT_NE(plan.describe().find("spmm on " + c.name() + ": 20 x 30"), std::string::npos) << plan.describe();
}

TEST_P(SpmmOn, RefusesUnsoundMatricesOfEveryType)
{
    const auto c = ctx();
    for_each_type([&](auto v, auto) {
        using V = decltype(v);
        const auto good = in_type<V>(random_matrix<double>(30, 40, 0.1, Values::integers, 1));
        const auto refused = [&](auto&& spoil) {
            auto a = good;
            spoil(a);
            const auto there = to_device(c, a.view());
            EXPECT_THROW(Plan<V>::make(c, there.view()), ValueError);
        };
        refused([](auto& a) { a.col[3] = 40; });
        refused([](auto& a) { a.col.back() = -1; });
        refused([](auto& a) { a.row_begin[7] = a.row_begin[9] + 1; });
        refused([](auto& a) { a.row_begin[30] -= 1; });
    });
}

TULLE_ON_BACKENDS(SpmmOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI::spmm
