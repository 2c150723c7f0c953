// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// alpha = 0 gives beta y whatever A and x hold, as in the BLAS; beta = 0 besides writes zeros whatever y holds.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "support/backends.hpp"
#include "support/host_matrix.hpp"
#include "support/teams.hpp"
#include "tulle/tulle.hpp"

namespace tulle::test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();
constexpr index_t rows = 37;

// A lower triangle whose numbers are NaN and infinities, diagonal included.
template <class V>
HostCsr<V> poisoned()
{
    std::vector<std::tuple<index_t, index_t, V>> entries;
    for (index_t i = 0; i < rows; ++i)
        for (index_t j = i % 3; j <= i; j += 3)
            entries.emplace_back(i, j, static_cast<V>(static_cast<float>(i % 2 == 0 ? nan : inf)));
    for (index_t i = 0; i < rows; ++i) entries.emplace_back(i, i, static_cast<V>(static_cast<float>(inf)));
    HostCsr<V> a = csr_of<V>(rows, rows, entries);
    a.sorted = a.unique = false;
    return a;
}

template <class T>
std::vector<T> numbers(std::size_t n, double scale)
{
    std::vector<T> all(n);
    for (std::size_t i = 0; i < n; ++i)
        all[i] = static_cast<T>(static_cast<float>(scale * static_cast<double>(i % 16)));
    return all;
}

class AlphaZeroOn : public OnBackend {
protected:
    // y = beta y through one way of multiplying: run(alpha, x, beta, y).
    template <class V, class Run>
    void expect_scaled(const Context& c, const Run& run)
    {
        const auto x = to_device<V>(c, std::vector<V>(rows, static_cast<V>(nan)));
        auto y = to_device<V>(c, numbers<V>(rows, 1));
        run(V(0), std::as_const(x).span(), V(-2), y.span());
        EXPECT_EQ(host_vector(c, y), numbers<V>(rows, -2));
        run(V(0), std::as_const(x).span(), V(1), y.span());
        EXPECT_EQ(host_vector(c, y), numbers<V>(rows, -2));
        y = to_device<V>(c, std::vector<V>(rows, static_cast<V>(nan)));
        run(V(0), std::as_const(x).span(), V(0), y.span());
        EXPECT_EQ(host_vector(c, y), std::vector<V>(rows, V(0)));
    }

    template <class V, class M = V>
    void expect_scaled_by_every_kernel(const Context& c)
    {
        const auto csr = to_device(c, poisoned<M>().view());
        const auto csc = to_csc(c, csr.view());
        const auto coo = to_coo(c, csr.view());
        const auto ell = to_blocked_ell(c, csr.view(), 3);
        for (const auto& a : std::vector<spmv::AnyView<M>>{csr.view(), csc.view(), coo.view(), ell.view()})
            for (const auto op : {tulle::Op::none, tulle::Op::transpose}) {
                SCOPED_TRACE(concat("format ", a.index(), ", op ", static_cast<int>(op)));
                const auto first = spmv::Plan<V, M>::make(c, a, {.op = op});
                for (const spmv::Policy& policy :
                     spmv::candidates(first.features(), {.backend = c.backend(), .threads = c.host().threads})) {
                    SCOPED_TRACE(spmv::to_text(policy));
                    const auto plan = spmv::Plan<V, M>::make(c, a, {.op = op, .force = policy});
                    expect_scaled<V>(c, [&](V alpha, auto x, V beta, auto y) { plan.run(alpha, x, beta, y); });
                }
                expect_scaled<V>(c, [&](V alpha, auto x, V beta, auto y) {
                    spmv::Plan<V, M>::once(c, a, alpha, x, beta, y, {.op = op});
                });
            }
    }

    // C = beta C; what lies between its lines stays.
    template <class V, class C>
    void expect_scaled_matrix(const Context& c, Layout layout)
    {
        using S = spmm::Sum<V>;
        constexpr index_t n = 5;
        const auto a = to_device(c, poisoned<V>().view());
        const auto b = to_device<V>(c, std::vector<V>(std::size_t{rows} * n, static_cast<V>(static_cast<float>(nan))));
        const DenseView<const V> bv{rows, n, n, Layout::row_major, b.data()};
        const index_t lines = layout == Layout::row_major ? rows : n, length = layout == Layout::row_major ? n : rows,
                      leading = length + 2;
        const std::size_t all = static_cast<std::size_t>(lines) * static_cast<std::size_t>(leading);
        for (const S beta : {S(-2), S(1), S(0)}) {
            std::vector<C> before = numbers<C>(all, 1), want = before;
            for (index_t l = 0; l < lines; ++l)
                for (index_t k = 0; k < length; ++k) {
                    const auto at = static_cast<std::size_t>(l * leading + k);
                    want[at] = beta == 0 ? static_cast<C>(0) : static_cast<C>(beta * static_cast<S>(before[at]));
                    if (beta == 0) before[at] = static_cast<C>(static_cast<float>(nan));
                }
            auto there = to_device<C>(c, before);
            spmm::multiply(c, a.view(), S(0), bv, beta, DenseView<C>{rows, n, leading, layout, there.data()});
            EXPECT_TRUE(host_vector(c, there) == want) << "beta " << static_cast<double>(beta);
        }
    }
};

TEST_P(AlphaZeroOn, SpmvDouble) { expect_scaled_by_every_kernel<double>(ctx()); }
TEST_P(AlphaZeroOn, SpmvFloat) { expect_scaled_by_every_kernel<float>(ctx()); }
TEST_P(AlphaZeroOn, SpmvFloatInDouble) { expect_scaled_by_every_kernel<double, float>(ctx()); }

// The dot products are those of the new y, and read x as any dot product does.
TEST_P(AlphaZeroOn, SpmvWithDots)
{
    const Context c = ctx();
    const auto a = to_device(c, poisoned<double>().view());
    const auto plan = spmv::Plan<double>::make(c, a.view(), {.dots = true});
    const auto ones = to_device<double>(c, std::vector<double>(rows, 1.0));
    auto y = to_device<double>(c, numbers<double>(rows, 1)), dots = to_device<double>(c, std::vector<double>(2, nan));
    plan.run(0, ones.span(), 2, y.span(), dots.span());
    double with_x = 0, with_y = 0;
    for (const double v : numbers<double>(rows, 2)) with_x += v, with_y += v * v;
    EXPECT_EQ(host_vector(c, y), numbers<double>(rows, 2));
    EXPECT_EQ(host_vector(c, dots), (std::vector<double>{with_x, with_y})) << "small integers: exact in any order";
    plan.run(0, ones.span(), 0, y.span(), dots.span());
    EXPECT_EQ(host_vector(c, dots), (std::vector<double>{0, 0}));
}

TEST_P(AlphaZeroOn, Spmm)
{
    const Context c = ctx();
    for (const Layout layout : {Layout::row_major, Layout::col_major}) {
        expect_scaled_matrix<double, double>(c, layout);
        expect_scaled_matrix<float, float>(c, layout);
        expect_scaled_matrix<Float16, Float16>(c, layout);
        expect_scaled_matrix<Float16, float>(c, layout);
        expect_scaled_matrix<Bfloat16, Bfloat16>(c, layout);
    }
}

TEST_P(AlphaZeroOn, Sptrsv)
{
    const Context c = ctx();
    std::vector<std::tuple<index_t, index_t, double>> entries;
    for (index_t i = 0; i < rows; ++i) {
        if (i > 0) entries.emplace_back(i, i - 1, nan);
        entries.emplace_back(i, i, inf);
    }
    const auto a = to_device(c, csr_of<double>(rows, rows, entries).view());
    const auto plan = sptrsv::Plan<double>::make(c, a.view());
    const auto b = to_device<double>(c, std::vector<double>(rows, nan));
    auto x = to_device<double>(c, std::vector<double>(rows, nan));
    plan.solve(0, b.span(), x.span());
    plan.wait();
    EXPECT_EQ(host_vector(c, x), std::vector<double>(rows, 0.0));
    sptrsv::solve(c, a.view(), 0, b.span(), x.span());

    const auto many = to_device<double>(c, std::vector<double>(rows * 3, nan));
    for (const Layout layout : {Layout::row_major, Layout::col_major}) {
        const index_t leading = (layout == Layout::row_major ? 3 : rows) + 1,
                      lines = layout == Layout::row_major ? rows : 3;
        auto wide = to_device<double>(
            c, std::vector<double>(static_cast<std::size_t>(leading) * static_cast<std::size_t>(lines), 7.0));
        plan.solve(0, DenseView<const double>{rows, 3, 3, Layout::row_major, many.data()},
                   DenseView<double>{rows, 3, leading, layout, wide.data()});
        const auto got = host_vector(c, wide);
        for (std::size_t k = 0; k < got.size(); ++k)
            EXPECT_EQ(got[k], k % static_cast<std::size_t>(leading) < static_cast<std::size_t>(leading) - 1 ? 0.0 : 7.0)
                << k;
    }
}

TULLE_ON_BACKENDS(AlphaZeroOn);

class AlphaZeroOnTeam : public OnTeam {};

TEST_P(AlphaZeroOnTeam, Spmv)
{
    const auto csr = poisoned<double>();
    for (const bool deterministic : {false, true})
        for (const bool paper : {false, true}) {
            if (paper && deterministic) continue;
            SCOPED_TRACE(concat("deterministic ", deterministic, ", paper ", paper));
            auto plan = spmv::TeamPlan<double>::make(team(3, deterministic), csr.view(), {.paper = paper});
            const std::vector<double> x(rows, nan);
            std::vector<double> y = numbers<double>(rows, 1);
            plan.run(0, x, -2, y);
            EXPECT_EQ(y, numbers<double>(rows, -2));
            y.assign(rows, nan);
            plan.run(0, x, 0, y);
            EXPECT_EQ(y, std::vector<double>(rows, 0.0));
            plan.run(0, 0);
            for (int m = 0; m < plan.members(); ++m) plan.run_on(m, 0, 0);
            plan.synchronize();
        }
}

TEST_P(AlphaZeroOnTeam, Spmm)
{
    const auto csr = poisoned<double>();
    const std::vector<double> b(rows * 4, nan);
    for (const auto split : {spmm::SplitBy::rows, spmm::SplitBy::columns}) {
        auto plan = spmm::TeamPlan<double>::make(team(3), csr.view(), {.product = {.n = 4}, .split = split});
        std::vector<double> c = numbers<double>(rows * 4, 1);
        plan.run(0, {rows, 4, 4, Layout::row_major, b.data()}, -2, {rows, 4, 4, Layout::row_major, c.data()});
        EXPECT_EQ(c, numbers<double>(rows * 4, -2));
    }
}

TULLE_ON_TEAMS(AlphaZeroOnTeam);

}  // namespace
}  // namespace tulle::test
