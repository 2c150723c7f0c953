// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Several right-hand sides at once: as many iterations as one by one, the same solutions, bad columns beside good ones.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "factor/matrices.hpp"
#include "support/backends.hpp"
#include "support/faults.hpp"
#include "support/reserved.hpp"
#include "tulle/error.hpp"
#include "tulle/solve.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::solve {
namespace {

using namespace tulle::test;

class BlockOn : public OnBackend {};

template <class V>
std::vector<V> columns_of(index_t rows, index_t cols)
{
    return test_vector<V>(rows * cols, Values::integers, 17);
}

template <class V>
struct SolvedBlock {
    std::vector<Report> reports;
    std::vector<V> x;
};

// Columns are contiguous in b and in the result, whatever the layout that is solved in.
template <class V>
SolvedBlock<V> solve_block(const Context& c, const HostCsr<V>& a, const std::vector<V>& b, index_t cols,
                           const Recipe& recipe, Layout layout)
{
    const auto move = [&](const std::vector<V>& from, bool back) {
        if (layout == Layout::col_major) return from;
        std::vector<V> to(from.size());
        for (index_t i = 0; i < a.rows; ++i)
            for (index_t j = 0; j < cols; ++j) {
                const auto row = static_cast<std::size_t>(i * cols + j), col = static_cast<std::size_t>(j * a.rows + i);
                to[back ? col : row] = from[back ? row : col];
            }
        return to;
    };
    const Csr<V> there = to_device(c, a.view());
    const auto b_there = to_device<V>(c, std::span<const V>(move(b, false)));
    auto x = to_device<V>(c, std::span<const V>(std::vector<V>(b.size(), std::numeric_limits<V>::quiet_NaN())));
    const offset_t leading = layout == Layout::row_major ? cols : a.rows;
    auto plan = Plan<V>::make(c, there.view(), recipe);
    SolvedBlock<V> s{plan.solve(DenseView<const V>{a.rows, cols, leading, layout, b_there.data()},
                                DenseView<V>{a.rows, cols, leading, layout, x.data()}),
                     {}};
    s.x = move(host_vector(c, x), true);
    return s;
}

template <class V>
void expect_as_one_by_one(const Context& c, const HostCsr<V>& a, index_t cols, const Recipe& recipe, Layout layout)
{
    const std::vector<V> b = columns_of<V>(a.rows, cols);
    const SolvedBlock<V> s = solve_block(c, a, b, cols, recipe, layout);
    ASSERT_EQ(std::ssize(s.reports), cols);
    for (index_t j = 0; j < cols; ++j) {
        const Report& r = s.reports[static_cast<std::size_t>(j)];
        const std::vector<V> column(b.begin() + j * a.rows, b.begin() + (j + 1) * a.rows);
        const SolvedBlock<V> alone = solve_block(c, a, column, 1, recipe, Layout::col_major);
        const double tolerance = sizeof(V) == 4 ? 1e-3 : 1e-7;
        EXPECT_TRUE(r.converged()) << r.text();
        EXPECT_NEAR(static_cast<double>(r.iterations), static_cast<double>(alone.reports[0].iterations), 2) << j;
        EXPECT_EQ(static_cast<offset_t>(r.history.size()), r.iterations + 1);
        for (index_t i = 0; i < a.rows; ++i)
            EXPECT_NEAR(s.x[static_cast<std::size_t>(j * a.rows + i)], alone.x[static_cast<std::size_t>(i)],
                        tolerance * (1 + std::abs(alone.x[static_cast<std::size_t>(i)])));
    }
}

TEST_P(BlockOn, ColumnsAreSolvedAsOneByOne)
{
    const auto a = laplacian<double>(takes_all() ? 7 : 5, takes_all() ? 6 : 4, 1);
    const Recipe jacobi{.method = Method::cg, .preconditioner = Jacobi{}};
    for (const index_t cols : {1, 4, 6}) expect_as_one_by_one<double>(ctx(), a, cols, jacobi, Layout::row_major);
    const Incomplete ic0{.kind = factor::Kind::ic0};
    for (const Preconditioner& p : {Preconditioner(None{}), Preconditioner(ic0)})
        expect_as_one_by_one<double>(ctx(), a, 3, {.method = Method::cg, .preconditioner = p}, Layout::col_major);
    expect_as_one_by_one<float>(ctx(), laplacian<float>(5, 4, 1), 5,
                                {.method = Method::cg, .preconditioner = Jacobi{}, .stop = {.relative = 1e-5}},
                                Layout::row_major);
    expect_as_one_by_one<double>(ctx(), dominant<double>(30, 0.1, false, 3), 2, {}, Layout::row_major);  // not cg
}

// Columns end for reasons of their own.
TEST_P(BlockOn, ABadColumnLeavesTheOthersAlone)
{
    const auto a = laplacian<double>(6, 5, 1);
    auto b = columns_of<double>(a.rows, 4);
    const auto at = [&](index_t j) { return b.begin() + j * a.rows; };
    std::fill(at(1), at(2), 0.0);
    *at(2) = std::numeric_limits<double>::quiet_NaN();
    const auto s =
        solve_block<double>(ctx(), a, b, 4, {.method = Method::cg, .preconditioner = Jacobi{}}, Layout::col_major);
    EXPECT_TRUE(s.reports[0].converged()) << s.reports[0].text();
    EXPECT_TRUE(s.reports[1].converged()) << s.reports[1].text();
    EXPECT_EQ(s.reports[1].iterations, 0);
    EXPECT_EQ(s.reports[2].reason, Reason::not_finite);
    EXPECT_TRUE(s.reports[3].converged()) << s.reports[3].text();
    for (const double v : s.x) EXPECT_TRUE(std::isfinite(v));
}

TEST_P(BlockOn, LimitsAndIndefiniteMatrices)
{
    const auto a = laplacian<double>(8, 8, 1);
    const auto b = columns_of<double>(a.rows, 3);
    const Recipe few{.method = Method::cg, .preconditioner = None{}, .stop = {.iterations = 3}};
    for (const Report& r : solve_block<double>(ctx(), a, b, 3, few, Layout::row_major).reports) {
        EXPECT_EQ(r.reason, Reason::iterations);
        EXPECT_EQ(r.iterations, 3);
    }
    HostCsr<double> indefinite = laplacian<double>(5, 5, 1);
    for (std::size_t k = 0; k < indefinite.value.size(); ++k)
        if (indefinite.value[k] > 0) indefinite.value[k] = 0.5;
    const auto d = columns_of<double>(indefinite.rows, 3);
    const auto told = solve_block<double>(ctx(), indefinite, d, 3, {.method = Method::cg, .preconditioner = None{}},
                                          Layout::row_major);
    for (const Report& r : told.reports) EXPECT_EQ(r.reason, Reason::not_positive_definite) << r.text();
    for (const Report& r : solve_block<double>(ctx(), indefinite, d, 3, {}, Layout::row_major).reports)
        EXPECT_TRUE(r.converged()) << r.text();
}

// A column that goes on alone, with another candidate, has the iterations that are left.
TEST_P(BlockOn, TheLimitOfIterationsIsForAllThatAColumnTries)
{
    HostCsr<double> a = laplacian<double>(12, 11, 1);
    for (double& v : a.value)
        if (v > 0) v = 3.5;  // of 4: some eigenvalues are negative
    const auto b = columns_of<double>(a.rows, 3);
    int most = 0;
    for (const offset_t limit : {12, 20})
        for (const Report& r :
             solve_block<double>(ctx(), a, b, 3, {.preconditioner = None{}, .stop = {.iterations = limit}},
                                 Layout::row_major)
                 .reports) {
            EXPECT_LE(r.iterations, limit) << r.text();
            most = std::max(most, r.restarts);
        }
    EXPECT_GT(most, 0) << "no column went on alone";
}

TEST_P(BlockOn, ALaterSolveHasAllIterationsAgain)
{
    const Context c = ctx();
    HostCsr<double> a = laplacian<double>(12, 11, 1);
    for (double& v : a.value)
        if (v > 0) v = 3.5;  // of 4: columns go on alone
    const Csr<double> there = to_device(c, a.view());
    auto plan = Plan<double>::make(c, there.view(), {.preconditioner = None{}, .stop = {.iterations = 20}});
    const auto b = to_device<double>(c, std::span<const double>(columns_of<double>(a.rows, 3)));
    auto x = to_device<double>(c, std::span<const double>(std::vector<double>(static_cast<std::size_t>(3 * a.rows))));
    for (int round = 0; round < 3; ++round) {
        plan.solve(DenseView<const double>{a.rows, 3, a.rows, Layout::col_major, b.data()},
                   DenseView<double>{a.rows, 3, a.rows, Layout::col_major, x.data()});
        EXPECT_EQ(plan.policy().stop.iterations, 20);
        EXPECT_FALSE(plan.policy().guess);
    }
}

TEST_P(BlockOn, RefusesWhatDoesNotFit)
{
    const Context c = ctx();
    const auto a = laplacian<double>(3, 3, 1);
    const Csr<double> there = to_device(c, a.view());
    auto plan = Plan<double>::make(c, there.view());
    auto v = to_device<double>(c, std::span<const double>(std::vector<double>(36, 1)));
    const auto dense = [&](index_t rows, index_t cols, offset_t from) {
        return DenseView<double>{rows, cols, cols, Layout::row_major, v.data() + from};
    };
    EXPECT_THROW(plan.solve(DenseView<const double>(dense(9, 2, 0)), dense(9, 1, 18)), ShapeError);
    EXPECT_THROW(plan.solve(DenseView<const double>(dense(8, 2, 0)), dense(8, 2, 18)), ShapeError);
    EXPECT_THROW(plan.solve(DenseView<const double>(dense(9, 2, 0)), dense(9, 2, 9)), ValueError);
    EXPECT_EQ(plan.solve(DenseView<const double>(dense(9, 2, 0)), dense(9, 2, 18)).size(), 2u);
}

TEST_P(BlockOn, FailedAllocationsLeaveNothingBehind)
{
    const Context c = ctx();
    const auto a = laplacian<double>(3, 3, 1);
    const Csr<double> there = to_device(c, a.view());
    auto v = to_device<double>(c, std::span<const double>(std::vector<double>(36, 1)));
    expect_clean_failures(c, [&] {
        auto plan = Plan<double>::make(c, there.view(), {.preconditioner = Jacobi{}});
        plan.solve(DenseView<const double>{9, 2, 2, Layout::row_major, v.data()},
                   DenseView<double>{9, 2, 2, Layout::row_major, v.data() + 18});
    });
}

// B and X whose lines lie apart: what is between them stays. A first guess that solves the system leaves nothing to do.
TEST_P(BlockOn, LeadingDimensionsAndFirstGuesses)
{
    const Context c = ctx();
    const auto a = laplacian<double>(4, 3, 1);
    const Csr<double> there = to_device(c, a.view());
    constexpr index_t cols = 6, gap = 3;
    const auto b = columns_of<double>(a.rows, cols);
    const auto solved = solve_block<double>(c, a, b, cols, {.stop = {.relative = 1e-13}}, Layout::col_major);
    for (const Method method : {Method::cg, Method::gmres})
        for (const Layout layout : {Layout::row_major, Layout::col_major})
            for (const bool guess : {false, true}) {
                SCOPED_TRACE(to_text(method) + (layout == Layout::row_major ? ", rows" : ", columns") +
                             (guess ? ", guess" : ""));
                const DenseView<double> shape{a.rows, cols, (layout == Layout::row_major ? cols : a.rows) + gap, layout,
                                              nullptr};
                std::vector<double> from(static_cast<std::size_t>(shape.at(a.rows - 1, cols - 1)) + 1, 77), to = from;
                for (index_t i = 0; i < a.rows; ++i)
                    for (index_t j = 0; j < cols; ++j) {
                        const auto at = static_cast<std::size_t>(shape.at(i, j)),
                                   column = static_cast<std::size_t>(j * a.rows + i);
                        from[at] = b[column];
                        to[at] = guess ? solved.x[column] : std::numeric_limits<double>::quiet_NaN();
                    }
                const auto b_there = to_device<double>(c, std::span<const double>(from));
                auto x_there = to_device<double>(c, std::span<const double>(to));
                auto plan =
                    Plan<double>::make(c, there.view(), {.method = method, .preconditioner = Jacobi{}, .guess = guess});
                const auto reports = plan.solve({a.rows, cols, shape.leading, layout, b_there.data()},
                                                {a.rows, cols, shape.leading, layout, x_there.data()});
                const auto got = host_vector(c, x_there);
                for (std::size_t j = 0; j < reports.size(); ++j) {
                    EXPECT_TRUE(reports[j].converged()) << reports[j].text();
                    EXPECT_EQ(reports[j].iterations == 0, guess) << j;
                }
                std::vector<double> want(got.size(), 77);
                for (index_t i = 0; i < a.rows; ++i)
                    for (index_t j = 0; j < cols; ++j)
                        want[static_cast<std::size_t>(shape.at(i, j))] =
                            solved.x[static_cast<std::size_t>(j * a.rows + i)];
                for (std::size_t k = 0; k < got.size(); ++k) ASSERT_NEAR(got[k], want[k], 1e-6) << k;
            }
}

// Lines 2^30 numbers apart: products of an index and a leading dimension exceed 32 bits.
TEST_P(BlockOn, RightHandSides30BitsApart)
{
    const RoomToReserve room;
    const Context c = ctx();
    if (const std::string why = why_not_reserved(c, std::size_t{100} << 30); !why.empty()) GTEST_SKIP() << why;
    const auto a = laplacian<double>(3, 2, 1);
    const Csr<double> there = to_device(c, a.view());
    constexpr index_t cols = 5;
    const auto b = columns_of<double>(a.rows, cols);
    const auto want = solve_block<double>(c, a, b, cols, {}, Layout::col_major);
    for (const Method method : {Method::cg, Method::gmres})
        for (const Layout layout : {Layout::row_major, Layout::col_major}) {
            ReservedDense<double> from(c, a.rows, cols, layout, offset_t{1} << 30),
                to(c, a.rows, cols, layout, (offset_t{1} << 30) + 1);
            for (index_t i = 0; i < a.rows; ++i)
                for (index_t j = 0; j < cols; ++j) from.put(i, j, b[static_cast<std::size_t>(j * a.rows + i)]);
            auto plan = Plan<double>::make(c, there.view(), {.method = method, .preconditioner = Jacobi{}});
            for (const Report& r : plan.solve(from.view(), to.view())) EXPECT_TRUE(r.converged()) << r.text();
            for (index_t i = 0; i < a.rows; ++i)
                for (index_t j = 0; j < cols; ++j)
                    EXPECT_NEAR(to.get(i, j), want.x[static_cast<std::size_t>(j * a.rows + i)], 1e-6) << i << ", " << j;
        }
}

TULLE_ON_BACKENDS(BlockOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI::solve
