// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Rows of C whose pattern follows from the row before, and short rows: the bits of arrays that know nothing of it.
#include "spgemm/adaptive/cpu/relations.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "spgemm/adaptive/cpu/sort_columns.hpp"
#include "spgemm/products.hpp"
#include "tulle/spgemm.hpp"

namespace tulle::inline TULLE_ABI::spgemm {
namespace {

using namespace tulle::test;

template <class V>
void expect_same_bits(const Csr<V>& a, const Csr<V>& b)
{
    ASSERT_EQ(a.nonzeros(), b.nonzeros());
    EXPECT_TRUE(std::equal(a.row_begin.data(), a.row_begin.data() + a.rows + 1, b.row_begin.data()));
    EXPECT_TRUE(std::equal(a.col.data(), a.col.data() + a.nonzeros(), b.col.data()));
    EXPECT_EQ(std::memcmp(a.value.data(), b.value.data(), static_cast<std::size_t>(a.nonzeros()) * sizeof(V)), 0);
}

template <class V>
void check_product(const HostCsr<V>& a, const HostCsr<V>& b)
{
    for (const int threads : {1, 3}) {
        const Context ctx = Context::cpu(threads);
        const Csr<V> plain = multiply(ctx, a.view(), b.view(), {.force = Policy{Method::dense, false}});
        for (const Method method : {Method::dense, Method::adaptive, Method::hash}) {
            SCOPED_TRACE(to_text(method) + ", " + std::to_string(threads) + " threads");
            auto plan = Plan<V>::make(ctx, a.view(), b.view(), {.force = Policy{method, true}});
            Csr<V> c = plan.run();
            expect_same_bits(c, plain);
            std::fill_n(c.value.data(), c.nonzeros(), V(7));
            plan.run(c);
            expect_same_bits(c, plain);
            expect_same_bits(multiply(ctx, a.view(), b.view(), {.force = Policy{method, true}}), plain);
            const Csr<V> rows = multiply(ctx, a.view(), b.view(), {.force = Policy{method, true}, .sorted = false});
            EXPECT_EQ(rows.nonzeros(), plain.nonzeros());
        }
    }
}

template <class V>
HostCsr<V> band(index_t n, index_t width)
{
    return matrix_where<V>(n, n, Values::reals, 5, [&](index_t i, index_t j) { return std::abs(i - j) <= width; });
}

// A grid of side x side points, each with its neighbours.
template <class V>
HostCsr<V> grid(index_t side)
{
    return matrix_where<V>(side * side, side * side, Values::reals, 6, [&](index_t i, index_t j) {
        return std::abs(i / side - j / side) + std::abs(i % side - j % side) <= 1;
    });
}

// Grids, bands whose rows have many products and no gaps, several unknowns at a node, rows short and long.
template <class V>
std::vector<HostCsr<V>> related_matrices()
{
    return {grid<V>(20),
            band<V>(200, 0),
            band<V>(300, 4),
            band<V>(200, 40),
            repeated(band<V>(40, 1), 3, Values::reals),
            random_matrix<V>(200, 200, 0.02, Values::reals, 7),
            random_matrix<V>(100, 100, 0.08, Values::reals, 8),
            random_matrix<V>(90, 90, 0.5, Values::reals, 9),
            random_matrix<V>(300, 300, 0.05, Values::reals, 10)};  // rows of C with more columns than the network sorts
}

TEST(Relations, ProductsHaveTheBitsOfPlainArrays)
{
    for (const auto& a : related_matrices<double>()) check_product(a, a);
    for (const auto& a : related_matrices<float>()) check_product(a, a);
}

// One row of a band that is not like the others: rows that use it do not follow.
TEST(Relations, ARowThatDiffersEndsARange)
{
    const auto a = band<double>(150, 2);
    for (std::size_t odd = 0; odd < 150; odd += 7) {
        SCOPED_TRACE(odd);
        auto b = a;
        index_t& last = b.col[static_cast<std::size_t>(b.row_begin[odd + 1]) - 1];
        last = std::min(b.cols - 1, last + 3);
        check_product(a, b);
        check_product(b, a);
    }
}

// Mostly positive; zeros of both signs and numbers that are not finite among them.
template <class V>
V some_value(std::uint64_t hash)
{
    constexpr V infinity = std::numeric_limits<V>::infinity();
    constexpr std::array special{V(0), V(-0.0), V(-0.7), infinity, -infinity};
    const auto which = static_cast<std::size_t>(below(hash, 40));
    return which < special.size() ? special[which] : static_cast<V>(0.1 + static_cast<double>(below(hash, 1000)) / 997);
}

// Rows of C of 0 to `most` products, some of each: both tables of short rows (up to 16 and 64 products), their limits
// and neighbours, matrices without longer rows, and blocks of rows that end with short ones; in a wide matrix, as an
// array with marks is taken in a narrow one. Rows of B are unsorted, have an entry of a column twice, and the last
// ones, at the end of the arrays, are used as well.
template <class V>
void check_few_products(std::uint64_t seed, index_t cols, index_t most, index_t rows_each)
{
    constexpr index_t rows_b = 24;
    HostCsr<V> a, b;
    a.rows = rows_each * (most + 1);
    a.cols = b.rows = rows_b;
    b.cols = cols;
    a.sorted = a.unique = b.sorted = b.unique = false;
    const auto length_of = [](index_t row) { return row % 8; };  // the last row has seven
    for (index_t i = 0; i < rows_b; ++i) {
        for (index_t k = 0; k < length_of(i); ++k) {
            b.col.push_back(static_cast<index_t>(below(hash_of(seed, i, k), i < 12 ? 50 : 9)));
            b.value.push_back(some_value<V>(hash_of(seed, i, k, 1)));
        }
        b.row_begin.push_back(std::ssize(b.col));
    }
    for (index_t i = 0; i < a.rows; ++i) {
        index_t left = i / rows_each;
        for (index_t k = 0; left > 0; ++k) {
            const auto row = static_cast<index_t>(below(hash_of(seed, i, k, 2), rows_b));
            if (length_of(row) > left) continue;
            left -= length_of(row);
            a.col.push_back(row);
            a.value.push_back(static_cast<V>(0.3 + static_cast<double>(below(hash_of(seed, i, k, 3), 1000)) / 991));
        }
        a.row_begin.push_back(std::ssize(a.col));
    }
    check_product(a, b);
}

// As sort_few(), on the oldest processor.
void sort_plain(index_t* col, offset_t n)
{
    if (n <= 16) network::sort_plain<4>(col, n);
    else if (n <= 32) network::sort_plain<8>(col, n);
    else if (n <= 64) network::sort_plain<16>(col, n);
    else network::sort_plain<32>(col, n);
}

// Every number of columns, also the largest column there is, and what stands behind them.
TEST(Relations, TheNetworkSortsUpTo128Columns)
{
    for (offset_t n = 0; n <= most_in_network; ++n)
        for (std::uint64_t seed = 1; seed <= 4; ++seed) {
            std::vector<index_t> col;
            for (offset_t k = 0; k < n; ++k) col.push_back(static_cast<index_t>(below(hash_of(seed, n, k), max_index)));
            if (n > 0) col[static_cast<std::size_t>(n) / 2] = max_index - 1;
            std::vector<index_t> want = col;
            std::sort(want.begin(), want.end());
            col.push_back(-5);
            want.push_back(-5);
            std::vector<index_t> again = col;
            sort_few(col.data(), n);
            ASSERT_EQ(col, want) << n;
            sort_plain(again.data(), n);
            ASSERT_EQ(again, want) << n << ", without AVX2";
        }
}

TEST(Relations, RowsOfFewProductsHaveTheBitsOfPlainArrays)
{
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        SCOPED_TRACE(seed);
        for (const index_t cols : {50, 5000}) {
            for (const auto& [most, rows_each] : {std::pair{66, 2}, {17, 10}, {16, 10}, {8, 20}}) {
                SCOPED_TRACE(most);
                check_few_products<double>(seed, cols, most, rows_each);
                check_few_products<float>(seed, cols, most, rows_each);
            }
        }
    }
}

TEST(Relations, OfRows)
{
    const std::vector<offset_t> begin{0, 2, 4, 6, 8, 9, 9, 9};
    const std::vector<index_t> col{0, 2, 0, 2, 1, 3, 2, 5, 3};
    const std::vector<double> value(col.size(), 1);
    const CsrView<double> m{7, 7, 9, begin.data(), col.data(), value.data(), true, true};
    const std::vector<Relation> expected{unrelated, equal_pattern, shifted_pattern, unrelated,
                                         unrelated, unrelated,     unrelated};
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(relation_of(m, static_cast<offset_t>(i)), expected[i]);
}

}  // namespace
}  // namespace tulle::inline TULLE_ABI::spgemm
