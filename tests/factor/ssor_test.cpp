// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Sweeps over the triangles of a matrix against dense solves, and the steps of conjugate gradients that need no
// product.
#include "factor/ssor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "factor/matrices.hpp"
#include "factor/reproduces.hpp"
#include "support/battery.hpp"
#include "tulle/error.hpp"

namespace tulle::inline TULLE_ABI::factor {
namespace {

using namespace tulle::test;

using Dense = DenseRows<double>;

// (D' + L)^-1 r, or (D' + U)^-1 r from the end, in double.
std::vector<double> solve_triangle(const Dense& a, double weight, bool upper, std::vector<double> r)
{
    const std::size_t n = r.size();
    for (std::size_t place = 0; place < n; ++place) {
        const std::size_t i = upper ? n - 1 - place : place;
        for (std::size_t j = upper ? i + 1 : 0; j < (upper ? n : i); ++j) r[i] -= a[i][j] * r[j];
        r[i] *= weight / a[i][i];
    }
    return r;
}

std::vector<double> apply_dense(const Dense& a, double weight, const std::vector<double>& r)
{
    std::vector<double> y = solve_triangle(a, weight, false, r);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] *= a[i][i] / weight;
    return solve_triangle(a, weight, true, y);
}

std::vector<double> multiply(const Dense& a, const std::vector<double>& x)
{
    std::vector<double> y(x.size());
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = std::inner_product(x.begin(), x.end(), a[i].begin(), 0.0);
    return y;
}

// Entries of each row from the last on.
template <class V>
HostCsr<V> with_rows_turned(HostCsr<V> a)
{
    for (index_t i = 0; i < a.rows; ++i) {
        const auto begin = static_cast<std::ptrdiff_t>(a.row_begin[static_cast<std::size_t>(i)]);
        const auto end = static_cast<std::ptrdiff_t>(a.row_begin[static_cast<std::size_t>(i) + 1]);
        std::reverse(a.col.begin() + begin, a.col.begin() + end);
        std::reverse(a.value.begin() + begin, a.value.begin() + end);
    }
    return a;
}

template <class V>
CsrView<V> unsorted_view(const HostCsr<V>& a)
{
    CsrView<V> view = a.view();
    view.sorted = false;
    return view;
}

template <class V>
void expect_applied(const HostCsr<V>& a, Ssor<V>& ssor, double weight)
{
    const auto r = test_vector<V>(a.rows, Values::reals, 5);
    std::vector<V> z(r.size());
    ssor.apply(r, z);
    const auto want = apply_dense(dense_rows(a), weight, {r.begin(), r.end()});
    for (std::size_t i = 0; i < z.size(); ++i)
        ASSERT_NEAR(static_cast<double>(z[i]), want[i],
                    400 * std::numeric_limits<V>::epsilon() * (1 + std::abs(want[i])))
            << i;
}

// Chained rows, padded ones, long ones, none beside the diagonal.
template <class V>
std::vector<HostCsr<V>> some_matrices()
{
    return {laplacian<V>(40, 30, 1), dominant<V>(150, 0.02, true, 4), dominant<V>(90, 0.2, true, 3),
            dominant<V>(60, 0.08, false, 9), laplacian<V>(1, 1, 1)};
}

TEST(Ssor, AppliesBothTriangles)
{
    const auto check = [](auto one) {
        using V = decltype(one);
        for (const auto& a : some_matrices<V>())
            for (const double weight : {0.6, 1.0, 1.5}) {
                SCOPED_TRACE(testing::Message() << a.rows << " rows, weight " << weight);
                Ssor<V> ssor(Context::cpu(1), a.view(), weight, Order::natural);
                expect_applied(a, ssor, weight);
                EXPECT_FALSE(ssor.is_ordered());
                const HostCsr<V> turned = with_rows_turned(a);
                Ssor<V> other(Context::cpu(3), unsorted_view(turned), weight, Order::natural);
                expect_applied(a, other, weight);
            }
    };
    check(1.0);
    check(1.0F);
}

TEST(Ssor, TakesNewValuesAtAnotherAddress)
{
    for (const Order order : {Order::natural, Order::rcm}) {
        const auto a = dominant<double>(120, 0.05, true, 7);
        HostCsr<double> b = a;
        for (double& v : b.value) v *= v > 0 ? 3 : 2;
        Ssor<double> ssor(Context::cpu(1), a.view(), 1.2, order), fresh(Context::cpu(1), b.view(), 1.2, order);
        ssor.update_values(b.view());
        const auto r = test_vector<double>(a.rows, Values::reals, 2);
        std::vector<double> z(r.size()), want(r.size());
        ssor.apply(r, z);
        fresh.apply(r, want);
        EXPECT_TRUE(same_bits(z, want));
        const auto turned = with_rows_turned(a), turned_b = with_rows_turned(b);
        Ssor<double> other(Context::cpu(1), unsorted_view(turned), 1.2, order);
        other.update_values(unsorted_view(turned_b));
        other.apply(r, z);
        EXPECT_TRUE(same_bits(z, want));
    }
}

// An order is that of the matrix permuted before.
TEST(Ssor, AnOrderPermutesTheUnknowns)
{
    const auto a = dominant<double>(120, 0.05, true, 11);
    const CpuQueue q = Context::cpu(1).host();
    const Arrangement by = arrange(q, a.view(), false, Order::rcm);
    std::vector<std::tuple<index_t, index_t, double>> entries;
    const Buffer<index_t> place = inverse_of(q, by.row);
    for (const auto& [i, j, v] : a.entries()) entries.emplace_back(place.data()[i], place.data()[j], v);
    const auto permuted = csr_of<double>(a.rows, a.rows, entries);
    Ssor<double> ssor(Context::cpu(1), a.view(), 1.1, Order::rcm),
        plain(Context::cpu(1), permuted.view(), 1.1, Order::natural);
    EXPECT_TRUE(ssor.is_ordered());
    const auto r = test_vector<double>(a.rows, Values::reals, 5);
    std::vector<double> z(r.size()), there(r.size()), solved(r.size()), sum = r;
    ssor.apply(r, z);
    ssor.load(r.data(), there.data());
    plain.apply(there, solved);
    ssor.add(solved.data(), sum.data());
    for (std::size_t i = 0; i < z.size(); ++i) {
        const auto to = static_cast<std::size_t>(place.data()[i]);
        EXPECT_EQ(there[to], r[i]);
        EXPECT_EQ(z[i], solved[to]);
        EXPECT_EQ(sum[i], r[i] + solved[to]);
    }
    EXPECT_NE(ssor.describe().find("order rcm"), std::string::npos) << ssor.describe();
}

// One step of conjugate gradients from a residual, beside the same with dense products.
TEST(Ssor, StepsOfTheSplitFormAreThoseOfConjugateGradients)
{
    for (const auto& a :
         {laplacian<double>(20, 9, 1), dominant<double>(150, 0.02, true, 4), dominant<double>(90, 0.2, true, 3)}) {
        constexpr double weight = 1.3;
        const Dense d = dense_rows(a);
        const Ssor<double> ssor(Context::cpu(1), a.view(), weight, Order::natural);
        const Sweeps<double>& sweeps = ssor.sweeps();
        const auto n = static_cast<std::size_t>(a.rows);
        std::vector<double> r = test_vector<double>(a.rows, Values::reals, 5), z = apply_dense(d, weight, r), p = z;
        std::vector<double> x(n, 0), y(n), step(n, 0), t(n, 0), s(n), own_x(n, 0);
        const SplitVectors<double> v{own_x.data(), y.data(), step.data(), t.data(), s.data()};
        sweeps.begin_split(r.data(), y.data());
        double rho = std::inner_product(r.begin(), r.end(), z.begin(), 0.0), beta = 0, owed = 0;
        EXPECT_NEAR(sweeps.split_square(y.data()), rho, 1e-11 * rho);
        for (int k = 0; k < 4; ++k) {
            SCOPED_TRACE(k);
            const auto q = multiply(d, p);
            const double curvature = std::inner_product(p.begin(), p.end(), q.begin(), 0.0), alpha = rho / curvature;
            EXPECT_NEAR(sweeps.step_split(v, beta, owed), curvature, 1e-10 * curvature);
            for (std::size_t i = 0; i < n; ++i) {
                EXPECT_NEAR(t[i], p[i], 1e-9) << i;
                EXPECT_NEAR(own_x[i], x[i], 1e-9) << i;
                x[i] += alpha * p[i];
                r[i] -= alpha * q[i];
            }
            z = apply_dense(d, weight, r);
            const double next = std::inner_product(r.begin(), r.end(), z.begin(), 0.0);
            EXPECT_NEAR(sweeps.advance_split(v, alpha), next, 1e-9 * rho);
            const double square = std::inner_product(r.begin(), r.end(), r.begin(), 0.0);
            EXPECT_NEAR(sweeps.residual_square(y.data()), square, 1e-10 * square);
            owed = alpha;
            beta = next / rho;
            rho = next;
            for (std::size_t i = 0; i < n; ++i) p[i] = z[i] + beta * p[i];
        }
    }
}

// Columns of 32 bits, and sums of more than one piece.
TEST(Ssor, MoreRowsThanColumnsOf16BitsCount)
{
    const auto a = laplacian<double>(70'000, 1, 1);
    Ssor<double> ssor(Context::cpu(1), a.view(), 1, Order::natural);
    std::vector<double> r(static_cast<std::size_t>(a.rows), 1), z(r.size());
    ssor.apply(r, z);
    // (D + L) y = 1 tends to 1, M z = 1 to z = 2.
    EXPECT_NEAR(z[35'000], 2, 1e-12);
    EXPECT_NEAR(ssor.sweeps().split_square(r.data()), 2.0 * 70'000, 1e-6);
    EXPECT_NEAR(ssor.sweeps().residual_square(r.data()), 4 + 69'999.0, 1e-6);
}

std::string error_of(const HostCsr<double>& a, double weight = 1, Order order = Order::natural, bool unique = true)
{
    CsrView<double> view = a.view();
    view.unique = unique;
    try {
        Ssor<double> ssor(Context::cpu(1), view, weight, order);
    } catch (const ValueError& e) {
        return e.what();
    }
    return {};
}

TEST(Ssor, RefusesWhatItCannotDivideBy)
{
    const auto contains = [](const std::string& text, const std::string& part) {
        return text.find(part) != std::string::npos;
    };
    const auto good = csr_of<double>(3, 3, {{0, 0, 2.0}, {0, 2, 1.0}, {1, 1, 2.0}, {2, 0, 1.0}, {2, 2, 2.0}});
    EXPECT_EQ(error_of(good), "");
    const auto missing = csr_of<double>(3, 3, {{0, 0, 2.0}, {1, 0, 2.0}, {2, 2, 2.0}});
    EXPECT_TRUE(contains(error_of(missing), "row 1 (counted from 0) has no diagonal entry")) << error_of(missing);
    auto zero = good;
    zero.value.back() = 0;
    for (const Order order : {Order::natural, Order::rcm})
        EXPECT_TRUE(contains(error_of(zero, 1, order), "row 2 (counted from 0) has a diagonal entry that cannot"))
            << error_of(zero, 1, order);
    HostCsr<double> twice = good;
    twice.col = {0, 0, 1, 0, 2};
    EXPECT_TRUE(contains(error_of(twice, 1, Order::natural, false), "stores a column twice"));
    for (const double weight : {0.0, -1.0, std::numeric_limits<double>::infinity()})
        EXPECT_TRUE(contains(error_of(good, weight), "weight")) << weight;
    EXPECT_TRUE(contains(error_of(good, 1, Order::automatic), "no prices"));
    EXPECT_EQ(error_of(HostCsr<double>{.rows = 0, .cols = 0, .row_begin = {0}, .col = {}, .value = {}}), "");
}

}  // namespace
}  // namespace tulle::inline TULLE_ABI::factor
