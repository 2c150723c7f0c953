// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Products over semirings and under masks beside plain loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "graph/semiring_loops.hpp"
#include "support/backends.hpp"
#include "support/battery.hpp"
#include "support/schedule.hpp"
#include "tulle/graph.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::graph {
namespace {

// A product under a mask is the whole product with a filter after it.
TEST(MaskedProduct, IsTheProductWithAFilterAfterIt)
{
    for (const int threads : {1, 4}) {
        const Context c = Context::cpu(threads);
        const auto a = shuffled_with_duplicates(random_matrix<double>(60, 50, 0.1, Values::integers, 1), 7);
        const auto b = random_matrix<double>(50, 70, 0.1, Values::integers, 2);
        const auto mask = random_matrix<double>(60, 70, 0.2, Values::integers, 3);
        for (const Semiring s : all_semirings)
            for (const bool complement : {false, true}) {
                SCOPED_TRACE(to_text(s) + (complement ? ", complement" : ""));
                Entries want = product(s, a, b), allowed;
                for (const auto& [i, j, v] : mask.entries()) allowed[{i, j}] = v;
                std::erase_if(want, [&](const auto& e) { return (allowed.count(e.first) > 0) == complement; });
                const Csr<double> got = multiply_masked(c, s, a.view(), b.view(), mask.view(), complement);
                EXPECT_EQ(entries_of(c, got), want);
                EXPECT_TRUE(got.sorted);
            }
    }
}

// (A B)^T under M^T is B^T A^T, where the multiplication commutes.
TEST(MaskedProduct, TransposesWithItsMask)
{
    const Context c = Context::cpu(2);
    const auto turned = [](const HostCsr<double>& m) {
        std::vector<std::tuple<index_t, index_t, double>> t;
        for (const auto& [i, j, v] : m.entries()) t.emplace_back(j, i, v);
        return csr_of<double>(m.cols, m.rows, t);
    };
    const auto a = random_matrix<double>(30, 20, 0.2, Values::integers, 1),
               b = random_matrix<double>(20, 40, 0.2, Values::integers, 2),
               m = random_matrix<double>(30, 40, 0.3, Values::integers, 3);
    const auto at = turned(a), bt = turned(b), mt = turned(m);
    for (const Semiring s : {Semiring::plus_times, Semiring::min_plus, Semiring::max_min, Semiring::plus_pair}) {
        Entries back;
        for (const auto& [at_ji, v] : entries_of(c, multiply_masked(c, s, bt.view(), at.view(), mt.view())))
            back[{at_ji.second, at_ji.first}] = v;
        EXPECT_EQ(entries_of(c, multiply_masked(c, s, a.view(), b.view(), m.view())), back) << to_text(s);
    }
}

TEST(MaskedProduct, TakesMemoryByTheMask)
{
    const Context c = Context::cpu(1);
    const auto full = matrix_where<double>(300, 300, Values::integers, 1, [](index_t, index_t) { return true; });
    const auto mask = csr_of<double>(300, 300, {{7, 8, 1.0}});
    const Csr<double> got = multiply_masked(c, Semiring::plus_pair, full.view(), full.view(), mask.view());
    EXPECT_EQ(entries_of(c, got), (Entries{{{7, 8}, 300.0}}));
    EXPECT_LT(c.peak_bytes(), 300u * 300u * 8u / 10u);
}

// A long row of B is searched for the few columns of the mask, unless it is not sorted.
TEST(MaskedProduct, SearchesLongRows)
{
    const Context c = Context::cpu(2);
    const auto a = random_matrix<double>(8, 6, 0.7, Values::integers, 1);
    const auto b = matrix_where<double>(6, 700, Values::integers, 2, [](index_t i, index_t j) { return j % 7 != i; });
    const auto mask = csr_of<double>(8, 700, {{0, 0, 1.0}, {1, 699, 1.0}, {3, 350, 1.0}, {3, 351, 1.0}, {5, 6, 1.0}});
    for (const auto& right : {b, shuffled_with_duplicates(b, 7)})
        for (const Semiring s : all_semirings) {
            Entries want = product(s, a, right), allowed;
            for (const auto& [i, j, v] : mask.entries()) allowed[{i, j}] = v;
            std::erase_if(want, [&](const auto& e) { return allowed.count(e.first) == 0; });
            EXPECT_EQ(entries_of(c, multiply_masked(c, s, a.view(), right.view(), mask.view())), want) << to_text(s);
        }
}

TEST(SemiringProduct, WithAVectorIsTheSumOverRows)
{
    const Context c = Context::cpu(3);
    for (const auto& [name, a] : battery<double>(Values::integers))
        for (const Semiring s : all_semirings) {
            SCOPED_TRACE(name + ", " + to_text(s));
            const auto x = test_vector<double>(a.cols, Values::integers, 5);
            std::vector<double> y(static_cast<std::size_t>(a.rows), 99);
            multiply(c, s, a.view(), x, y);
            std::map<index_t, double> want;
            for (const auto& [i, j, v] : a.entries()) {
                const double p = times(s, v, x[static_cast<std::size_t>(j)]);
                const auto [at, is_new] = want.try_emplace(i, p);
                if (!is_new) at->second = add(s, at->second, p);
            }
            const double none = s == Semiring::min_plus || s == Semiring::min_first ? INFINITY
                                : s == Semiring::max_plus || s == Semiring::max_min ? -INFINITY
                                                                                    : 0;
            for (index_t i = 0; i < a.rows; ++i)
                EXPECT_EQ(y[static_cast<std::size_t>(i)], want.count(i) ? want[i] : none) << i;
        }
}

TEST(Semirings, HaveNames)
{
    for (const Semiring s : all_semirings) EXPECT_EQ(parse_semiring(to_text(s)), s);
    EXPECT_THROW(parse_semiring("plus_plus"), ValueError);
}

TEST(MaskedProduct, RefusesWhatDoesNotFit)
{
    const Context c = Context::cpu(1);
    const auto a = random_matrix<double>(6, 5, 0.5, Values::integers, 1),
               b = random_matrix<double>(5, 7, 0.5, Values::integers, 2),
               m = random_matrix<double>(6, 7, 0.5, Values::integers, 2);
    EXPECT_THROW(multiply_masked(c, Semiring::min_plus, b.view(), a.view(), m.view()), ShapeError);
    EXPECT_THROW(multiply_masked(c, Semiring::min_plus, a.view(), b.view(), a.view()), ShapeError);
    auto twice = m;
    twice.unique = false;
    EXPECT_THROW(multiply_masked(c, Semiring::min_plus, a.view(), b.view(), twice.view()), ValueError);
    auto bad = b;
    bad.col[0] = 7;
    EXPECT_THROW(multiply_masked(c, Semiring::min_plus, a.view(), bad.view(), m.view()), ValueError);
}

// Columns of a dense matrix are vectors one beside the other, in every order of memory.
class DenseProductOn : public OnBackend {};

TEST_P(DenseProductOn, IsAProductForEveryColumn)
{
    const Context c = ctx(), cpu = Context::cpu(1);
    const auto a = shuffled_with_duplicates(random_matrix<double>(31, 23, 0.15, Values::integers, 4), 5);
    const Csr<double> there = to_device(c, a.view());
    const auto x = test_vector<double>(23 * 4, Values::integers, 6),
               before = test_vector<double>(33 * 4, Values::integers, 7);
    const Buffer<double> b = to_device(c, std::span<const double>(x));
    for (const Semiring s : all_semirings)
        for (const Layout layout : {Layout::row_major, Layout::col_major})
            for (const bool accumulate : {false, true}) {
                SCOPED_TRACE(to_text(s) + (accumulate ? ", accumulated" : ""));
                Buffer<double> y = to_device(c, std::span<const double>(before));
                const bool by_rows = layout == Layout::row_major;
                const DenseView<double> to{31, 3, by_rows ? 4 : 33, layout, y.data()};
                multiply(c, s, there.view(),
                         {23, 3, by_rows ? 23 : 4, by_rows ? Layout::col_major : Layout::row_major, b.data()}, to,
                         accumulate);
                const Buffer<double> got = to_host(c, std::span<const double>(y.span()));
                std::vector<double> want = before, col(23), sums(31);
                for (index_t j = 0; j < 3; ++j) {
                    for (std::size_t k = 0; k < 23; ++k)
                        col[k] =
                            x[by_rows ? 23 * static_cast<std::size_t>(j) + k : 4 * k + static_cast<std::size_t>(j)];
                    multiply(cpu, s, a.view(), col, sums);
                    for (index_t i = 0; i < 31; ++i) {
                        double& v = want[static_cast<std::size_t>(to.at(i, j))];
                        v = accumulate ? add(s, v, sums[static_cast<std::size_t>(i)])
                                       : sums[static_cast<std::size_t>(i)];
                    }
                }
                EXPECT_TRUE(std::equal(want.begin(), want.end(), got.data()));
            }
}

TEST_P(DenseProductOn, RefusesWhatDoesNotFit)
{
    const Context c = ctx();
    const Csr<double> a = to_device(c, random_matrix<double>(6, 5, 0.5, Values::integers, 1).view());
    Buffer<double> x = to_device<double>(c, std::vector<double>(20)), y = to_device<double>(c, std::vector<double>(24));
    const DenseView<const double> b{5, 4, 4, Layout::row_major, x.data()};
    const DenseView<double> to{6, 4, 4, Layout::row_major, y.data()};
    EXPECT_NO_THROW(multiply(c, Semiring::min_plus, a.view(), b, to));
    EXPECT_THROW(multiply(c, Semiring::min_plus, a.view(), b, {5, 4, 4, Layout::row_major, y.data()}), ShapeError);
    EXPECT_THROW(multiply(c, Semiring::min_plus, a.view(), {6, 4, 4, Layout::row_major, x.data()}, to), ShapeError);
    EXPECT_THROW(multiply(c, Semiring::min_plus, a.view(), {5, 4, 4, Layout::row_major, y.data()}, to), ValueError);
    EXPECT_THROW(multiply(c, Semiring::min_plus, a.view(), {5, 4, 4, Layout::row_major, nullptr}, to), ValueError);
    EXPECT_THROW(multiply(c, static_cast<Semiring>(99), a.view(), b, to), ValueError);
    c.synchronize();
}
TULLE_ON_BACKENDS(DenseProductOn);

TEST(GraphsOnAGpu, ProductsAreThoseOfTheCpu)
{
    if (!why_no_cuda().empty()) GTEST_SKIP() << why_no_cuda();
    draw_schedule();
    const Context cpu = Context::cpu(2), gpu = Context::cuda(0);
    const auto a = shuffled_with_duplicates(random_matrix<double>(60, 50, 0.1, Values::integers, 1), 7);
    const auto b = shuffled_with_duplicates(random_matrix<double>(50, 70, 0.1, Values::integers, 2), 8);
    const auto mask = random_matrix<double>(60, 70, 0.2, Values::integers, 3);
    const Csr<double> on_a = to_device(gpu, a.view()), on_b = to_device(gpu, b.view()),
                      on_mask = to_device(gpu, mask.view());
    const auto x = test_vector<double>(a.cols, Values::integers, 5);
    const Buffer<double> on_x = to_device(gpu, std::span<const double>(x));
    for (const Semiring s : all_semirings) {
        SCOPED_TRACE(to_text(s));
        EXPECT_EQ(entries_of(gpu, multiply_masked(gpu, s, on_a.view(), on_b.view(), on_mask.view())),
                  entries_of(cpu, multiply_masked(cpu, s, a.view(), b.view(), mask.view())));
        std::vector<double> want(static_cast<std::size_t>(a.rows));
        multiply(cpu, s, a.view(), x, want);
        Buffer<double> y = to_device(gpu, std::span<const double>(want));
        multiply(gpu, s, on_a.view(), on_x.span(), y.span());
        const Buffer<double> got = to_host(gpu, std::span<const double>(y.span()));
        EXPECT_TRUE(std::equal(want.begin(), want.end(), got.data()));
    }
}

// Patterns of ranges of rows are those of the whole product, under the complement of a mask and with a selection.
TEST(GraphsOnAGpu, ProductsByRangesAreThoseOfTheCpu)
{
    if (!why_no_cuda().empty()) GTEST_SKIP() << why_no_cuda();
    draw_schedule();
    const Context cpu = Context::cpu(2);
    Context gpu = Context::cuda(0);
    gpu.budget(8_MiB);
    const auto a = shuffled_with_duplicates(random_matrix<double>(40, 30, 0.1, Values::integers, 1), 7);
    const auto b = shuffled_with_duplicates(random_matrix<double>(30, 50, 0.1, Values::integers, 2), 8);
    const auto mask = random_matrix<double>(40, 50, 0.3, Values::integers, 3);
    auto turned = mask;  // the same positions, columns descending
    for (index_t i = 0; i < mask.rows; ++i)
        std::reverse(turned.col.begin() + mask.row_begin[static_cast<std::size_t>(i)],
                     turned.col.begin() + mask.row_begin[static_cast<std::size_t>(i) + 1]);
    turned.sorted = false;
    const Csr<double> on_a = to_device(gpu, a.view()), on_b = to_device(gpu, b.view()),
                      on_mask = to_device(gpu, mask.view()), on_turned = to_device(gpu, turned.view());
    const Select some{.threshold = 2, .most_per_row = 5, .triangle = Triangle::lower};
    for (const Semiring s : all_semirings) {
        SCOPED_TRACE(to_text(s));
        const Entries want = entries_of(cpu, multiply_masked(cpu, s, a.view(), b.view(), mask.view(), true));
        EXPECT_EQ(entries_of(gpu, multiply_masked(gpu, s, on_a.view(), on_b.view(), on_mask.view(), true)), want);
        EXPECT_EQ(entries_of(gpu, multiply_masked(gpu, s, on_a.view(), on_b.view(), on_turned.view(), true)), want);
        EXPECT_EQ(entries_of(gpu, multiply_select(gpu, s, on_a.view(), on_b.view(), some, 64_KiB)),
                  entries_of(cpu, multiply_select(cpu, s, a.view(), b.view(), some)));
    }
}

}  // namespace
}  // namespace tulle::inline TULLE_ABI::graph
