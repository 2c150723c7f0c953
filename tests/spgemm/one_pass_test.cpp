// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Products in one pass on CPUs: the bits of the two phases, and which products are computed so.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <tuple>
#include <vector>

#include "spgemm/products.hpp"
#include "tulle/convert.hpp"
#include "tulle/memory.hpp"
#include "tulle/spgemm.hpp"
#include "tulle/trace.hpp"

namespace tulle::inline TULLE_ABI::spgemm {
namespace {

using namespace tulle::test;

template <class V>
void expect_equal_bits(const Csr<V>& a, const Csr<V>& b)
{
    ASSERT_EQ(a.nonzeros(), b.nonzeros());
    EXPECT_TRUE(std::equal(a.row_begin.data(), a.row_begin.data() + a.rows + 1, b.row_begin.data()));
    EXPECT_TRUE(std::equal(a.col.data(), a.col.data() + a.nonzeros(), b.col.data()));
    EXPECT_EQ(std::memcmp(a.value.data(), b.value.data(), static_cast<std::size_t>(a.nonzeros()) * sizeof(V)), 0);
}

// C, and whether it was computed in one pass.
template <class V>
std::pair<Csr<V>, bool> multiply_traced(const Context& ctx, const CsrView<V>& a, const CsrView<V>& b,
                                        const Options& options = {})
{
    const trace::Recorder recorder;
    Csr<V> c = multiply(ctx, a, b, options);
    const bool one_pass = std::ranges::any_of(recorder.phases(), [](const auto& p) { return p.name == "gather"; });
    return {std::move(c), one_pass};
}

template <class V>
void check_one_pass(const HostCsr<V>& a, const HostCsr<V>& b, bool one_pass = true)
{
    for (const int threads : {1, 3}) {
        SCOPED_TRACE(threads);
        const Context ctx = Context::cpu(threads);
        const Csr<V> wanted = Plan<V>::make(ctx, a.view(), b.view()).run();
        const auto [c, took_one] = multiply_traced(ctx, a.view(), b.view());
        EXPECT_EQ(took_one, one_pass);
        EXPECT_TRUE(c.sorted && c.unique);
        expect_equal_bits(c, wanted);
        const auto [any, took_one_too] = multiply_traced(ctx, a.view(), b.view(), {.sorted = false});
        EXPECT_EQ(took_one_too, one_pass);
        EXPECT_TRUE(any.unique);
        expect_equal_bits(sort_rows(ctx, any.view()), wanted);
    }
}

// Row i of A has i % 4 nonzeros, rows of B have `length` different columns each, drawn from `cols`.
template <class V>
Pair<V> pair_of_few_products(index_t rows, index_t inner, index_t cols, index_t length)
{
    std::vector<std::tuple<index_t, index_t, V>> a, b;
    for (index_t i = 0; i < rows; ++i) {
        std::vector<index_t> col;
        for (index_t k = 0; k < i % 4; ++k)
            col.push_back(static_cast<index_t>(below(hash_of(51, i, k), static_cast<std::uint64_t>(inner))));
        std::ranges::sort(col);
        col.erase(std::unique(col.begin(), col.end()), col.end());
        for (const index_t j : col) a.emplace_back(i, j, test_value<V>(Values::reals, 52, i, j));
    }
    for (index_t j = 0; j < inner; ++j) {
        const auto first = static_cast<index_t>(below(hash_of(53, j), static_cast<std::uint64_t>(cols)));
        std::vector<index_t> col;
        for (index_t k = 0; k < length; ++k) col.push_back((first + k * 7) % cols);
        std::ranges::sort(col);
        for (const index_t c : col) b.emplace_back(j, c, test_value<V>(Values::reals, 54, j, c));
    }
    return {"", csr_of<V>(rows, inner, a), csr_of<V>(inner, cols, b)};
}

// Lengths of rows of C around the limits of comparisons (16) and of the network (128); several blocks of rows.
TEST(SpgemmInOnePass, HasTheBitsOfThePhases)
{
    for (const index_t length : {1, 3, 5, 8, 16, 17, 40}) {
        SCOPED_TRACE(length);
        const auto [name, a, b] = pair_of_few_products<double>(1003, 500, 331, length);
        check_one_pass(a, b);
        const auto [same_name, a_float, b_float] = pair_of_few_products<float>(1003, 500, 331, length);
        check_one_pass(a_float, b_float);
    }
}

// One row of C with more columns than the network sorts, between short ones.
TEST(SpgemmInOnePass, SortsALongRowAmongShortOnes)
{
    auto [name, a, b] = pair_of_few_products<double>(1003, 500, 331, 5);
    auto entries = a.entries();
    for (index_t j = 0; j < 200; ++j) entries.emplace_back(600, j, 0.3 + j);
    std::ranges::sort(entries);
    entries.erase(std::unique(entries.begin(), entries.end(),
                              [](const auto& x, const auto& y) {
                                  return std::pair(std::get<0>(x), std::get<1>(x)) ==
                                         std::pair(std::get<0>(y), std::get<1>(y));
                              }),
                  entries.end());
    check_one_pass(csr_of<double>(a.rows, a.cols, entries), b);
}

// Each row of P has one nonzero: the prolongation of aggregates.
TEST(SpgemmInOnePass, AggregatesRows)
{
    const auto a = random_matrix<double>(600, 600, 0.02, Values::reals, 7);
    const auto p = matrix_where<double>(600, 150, Values::reals, 5, [](index_t i, index_t j) { return i / 4 == j; });
    check_one_pass(a, p);
    const Context ctx = Context::cpu(2);
    const Csr<double> ap = multiply(ctx, a.view(), p.view());
    const Options transposed{.op_a = Op::transpose};
    const auto [c, one_pass] = multiply_traced(ctx, p.view(), ap.view(), transposed);
    EXPECT_TRUE(one_pass);
    expect_equal_bits(c, Plan<double>::make(ctx, p.view(), ap.view(), transposed).run());
}

// Sums that are zero keep their sign, and what cancels stays an entry.
TEST(SpgemmInOnePass, KeepsTheSignOfZero)
{
    std::vector<std::tuple<index_t, index_t, double>> a, b{{0, 0, -0.0}, {0, 1, 1.0}, {1, 0, -0.0}, {1, 1, -1.0}};
    for (index_t i = 0; i < 9; ++i) {
        a.emplace_back(i, 0, 1.0);
        if (i % 2 == 0) a.emplace_back(i, 1, 1.0);
    }
    const auto factor = csr_of<double>(9, 2, a), other = csr_of<double>(2, 2, b);
    check_one_pass(factor, other);
    const auto c = multiply(Context::cpu(1), factor.view(), other.view());
    EXPECT_EQ(c.nonzeros(), 18);
    EXPECT_TRUE(std::signbit(c.value.data()[0]) && std::signbit(c.value.data()[2]));
    EXPECT_FALSE(std::signbit(c.value.data()[1]));
}

TEST(SpgemmInOnePass, TakesEmptyRowsAndMatrices)
{
    auto [name, a, b] = pair_of_few_products<double>(700, 60, 40, 3);
    std::vector<std::tuple<index_t, index_t, double>> none;
    check_one_pass(csr_of<double>(0, 60, none), b, false);
    check_one_pass(csr_of<double>(700, 60, none), b, false);
    check_one_pass(a, csr_of<double>(60, 40, none), false);
    check_one_pass(a, csr_of<double>(60, 0, none), true);
    a.rows = 1300;  // whole blocks of rows without a nonzero
    a.row_begin.resize(1301, a.row_begin.back());
    check_one_pass(a, b);
}

// Phases where an array as long as a row of C would have more entries than there are products, where rows follow from
// each other, where they are long, and where another method is forced.
TEST(SpgemmInOnePass, LeavesOtherProductsToThePhases)
{
    const auto [name, a, b] = pair_of_few_products<double>(100, 60, 100'000, 3);
    check_one_pass(a, b, false);
    const auto band =
        matrix_where<double>(400, 400, Values::reals, 5, [](index_t i, index_t j) { return std::abs(i - j) <= 1; });
    check_one_pass(band, band, false);
    const auto full = random_matrix<double>(90, 90, 0.5, Values::reals, 9);
    check_one_pass(full, full, false);
    const auto [short_name, c, d] = pair_of_few_products<double>(400, 60, 40, 3);
    for (const Method method : {Method::dense, Method::hash})
        EXPECT_FALSE(multiply_traced(Context::cpu(1), c.view(), d.view(), {.force = Policy{method}}).second);
}

// Phases where the budget has room for C alone.
TEST(SpgemmInOnePass, KeepsWithinTheBudget)
{
    const auto [name, a, b] = pair_of_few_products<double>(3000, 500, 331, 8);
    const Context ctx = Context::cpu(1);
    const auto [wanted, without_budget] = multiply_traced(ctx, a.view(), b.view());
    EXPECT_TRUE(without_budget);
    Memory& memory = ctx.memory();
    const std::size_t before = memory.budget(Space::host);
    memory.budget(Space::host, memory.live(Space::host) + wanted.bytes() + wanted.bytes() / 2);
    const auto [c, one_pass] = multiply_traced(ctx, a.view(), b.view());
    memory.budget(Space::host, before);
    EXPECT_FALSE(one_pass);
    expect_equal_bits(c, wanted);
}

// Rows of B out of order and with an entry twice are put in order first; a column beyond the last is refused.
TEST(SpgemmInOnePass, TakesUnsortedFactorsAndRefusesMalformedOnes)
{
    auto [name, a, b] = pair_of_few_products<double>(400, 60, 40, 3);
    auto twice = b;
    for (std::size_t k = 0; k + 2 < twice.col.size(); k += 3) twice.col[k + 2] = twice.col[k];
    twice.sorted = twice.unique = false;
    check_one_pass(a, twice);
    b.col[5] = 40;
    EXPECT_THROW(multiply(Context::cpu(1), a.view(), b.view()), ValueError);
}

}  // namespace
}  // namespace tulle::inline TULLE_ABI::spgemm
