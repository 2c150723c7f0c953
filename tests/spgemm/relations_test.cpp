// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Rows of C whose pattern follows from the row before, and short rows: the bits of arrays that know nothing of it.
#include "spgemm/adaptive/cpu/relations.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

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
            random_matrix<V>(90, 90, 0.5, Values::reals, 9)};
}

TEST(Relations, ProductsHaveTheBitsOfPlainArrays)
{
    for (const auto& a : related_matrices<double>()) check_product(a, a);
    for (const auto& a : related_matrices<float>()) check_product(a, a);
}

// One row of a band that is not like the others: rows that use it do not follow.
TEST(Relations, ARowThatDiffersEndsAStretch)
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

// Rows of C with none to some twenty products, several of them with the same column.
TEST(Relations, FewProductsHaveTheBitsOfPlainArrays)
{
    const auto scattered = [](index_t i, index_t j) { return (i * 7 + j * j * 3 + i * j) % 23 < i % 6; };
    const auto a = matrix_where<double>(60, 30, Values::reals, 5, scattered);
    const auto b = matrix_where<double>(30, 12, Values::reals, 6, scattered);
    check_product(a, b);
    check_product(matrix_where<float>(60, 30, Values::reals, 7, scattered),
                  matrix_where<float>(30, 12, Values::reals, 8, scattered));
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
