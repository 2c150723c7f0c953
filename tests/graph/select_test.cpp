// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Selections against a plain loop over sorted magnitudes; a product with a selection is the product with a filter
// after.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <span>

#include "support/backends.hpp"
#include "support/battery.hpp"
#include "tulle/convert.hpp"
#include "tulle/graph.hpp"
#include "tulle/spgemm.hpp"
#include "tulle/text.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::graph {
namespace {

using namespace tulle::test;

class SelectOn : public OnBackend {};

std::vector<Select> selections()
{
    return {{},
            {.threshold = 3},
            {.most_per_row = 3},
            {.most_per_row = 1000},
            {.triangle = Triangle::lower},
            {.threshold = 2, .triangle = Triangle::upper},
            {.threshold = 5, .recover = 4, .recover_share = 0.9},
            {.threshold = 2, .most_per_row = 4, .recover = 6, .recover_share = 0.8},
            {.threshold = 2, .most_per_row = 6, .recover = 4, .recover_share = 1},
            {.threshold = 1, .most_per_row = 2, .recover = 1000, .recover_share = 1}};
}

// The rule in words: what the header says, from magnitudes in descending order.
double cutoff_of(const Select& s, std::vector<double> size)
{
    std::sort(size.begin(), size.end(), std::greater<>());
    const auto above = [&](double cutoff) {
        return std::count_if(size.begin(), size.end(), [&](double v) { return v >= cutoff; });
    };
    const auto mass = [&](double cutoff) {
        double sum = 0;
        for (const double v : size) sum += v >= cutoff ? v : 0;
        return sum;
    };
    const double least = s.threshold > 0 ? 5e-324 : 0;
    const auto kth = [&](index_t k) { return std::max(size[static_cast<std::size_t>(k) - 1], least); };
    const bool lost = s.recover > 0 && above(s.threshold) < s.recover && mass(s.threshold) < s.recover_share * mass(0);
    if (lost) return std::ssize(size) > s.recover ? kth(s.recover) : least;
    if (s.most_per_row == 0 || above(s.threshold) <= s.most_per_row) return s.threshold;
    const double cutoff = kth(s.most_per_row);
    if (s.recover == 0 || above(cutoff) >= s.recover || mass(cutoff) >= s.recover_share * mass(0)) return cutoff;
    return above(s.threshold) > s.recover ? kth(s.recover) : s.threshold;
}

using Listed = std::vector<std::tuple<index_t, index_t, double>>;

template <class V>
Listed filtered(const HostCsr<V>& a, const Select& s)
{
    Listed inside, stay;
    for (const auto& [i, j, v] : a.entries())
        if (s.triangle == Triangle::whole || (s.triangle == Triangle::lower ? j < i : j > i))
            inside.emplace_back(i, j, static_cast<double>(v));
    for (auto row = inside.begin(), next = row; row != inside.end(); row = next) {
        next = std::find_if(row, inside.end(), [&](const auto& e) { return std::get<0>(e) != std::get<0>(*row); });
        std::vector<double> size;
        for (const auto& [r, c, v] : std::span(row, next)) size.push_back(std::abs(v));
        const double cutoff = cutoff_of(s, size);
        for (const auto& [r, c, v] : std::span(row, next))
            if (std::abs(v) >= cutoff) stay.emplace_back(r, c, v);
    }
    return stay;
}

template <class V>
Listed entries_of(const HostCsr<V>& a)
{
    Listed all;
    for (const auto& [i, j, v] : a.entries()) all.emplace_back(i, j, static_cast<double>(v));
    return all;
}

TEST_P(SelectOn, KeepsWhatTheRuleSays)
{
    const Context c = ctx();
    for (const auto& [name, a] : battery<double>(Values::integers)) {
        const Csr<double> there = to_device(c, a.view());
        for (const Select& s : selections()) {
            SCOPED_TRACE(concat(name, ", threshold ", s.threshold, ", most ", s.most_per_row, ", recover ", s.recover));
            EXPECT_EQ(entries_of(host_of(c, select(c, there.view(), s))), filtered(a, s));
        }
    }
    const auto close = csr_of<double>(1, 3, {{0, 0, 1.0}, {0, 1, std::nextafter(1.0, 2.0)}, {0, 2, 1.0}});
    const Csr<double> there = to_device(c, close.view());
    EXPECT_EQ(select(c, there.view(), {.most_per_row = 1}).nonzeros(), 1) << "magnitudes differ in the last bit";
}

// A row with few products, none of which stays, before one with so many that all places are added up.
TEST_P(SelectOn, RowsWithFewProductsLeaveNothingToOthers)
{
    const Context c = ctx();
    const auto a = matrix_where<double>(2, 40, Values::reals, 1, [](index_t i, index_t j) { return i == 1 || j == 0; });
    const auto b = matrix_where<double>(40, 400, Values::reals, 2, [](index_t i, index_t j) { return i > 0 || j < 2; });
    auto first = a, second = b;
    first.value.assign(a.value.size(), 1.0);
    second.value.assign(b.value.size(), 1.0);
    first.value[1] = 0;  // of the second row, for the two entries of the first row of B
    const Csr<double> on_a = to_device(c, first.view()), on_b = to_device(c, second.view());
    const Csr<double> got = multiply_select(c, Semiring::plus_times, on_a.view(), on_b.view(), {.threshold = 20});
    for (const auto& [i, j, v] : host_of(c, got).entries()) EXPECT_EQ(v, 39.0) << i << ", " << j;
    EXPECT_EQ(got.nonzeros(), 400);
}

template <class V>
void compare_products(const Context& c, std::size_t budget)
{
    const auto a = shuffled_with_duplicates(random_matrix<V>(60, 50, 0.1, Values::integers, 1), 7);
    const auto b = random_matrix<V>(50, 60, 0.2, Values::integers, 2);
    const Csr<V> on_a = to_device(c, a.view()), on_b = to_device(c, b.view());
    const auto whole = host_of(c, spgemm::multiply(c, on_a.view(), on_b.view()));
    for (const Select& s : selections()) {
        const Csr<V> got = multiply_select(c, Semiring::plus_times, on_a.view(), on_b.view(), s, budget);
        EXPECT_TRUE(got.sorted && got.unique);
        EXPECT_EQ(entries_of(host_of(c, got)), filtered(whole, s));
    }
}

TEST_P(SelectOn, OfAProductIsAFilterAfterIt)
{
    if (ctx().backend() == Backend::cpu)
        compare_products<double>(ctx(), 0);  // KeepsWhatTheRuleSays has doubles on a GPU
    compare_products<float>(ctx(), std::size_t{1} << 20);
}

// A matrix whose rows are used so often, with columns so close, that the CPU adds four of its entries at a time.
template <class V>
void compare_products_of_blocks(const Context& c)
{
    const auto a = matrix_where<V>(150, 150, Values::integers, 1, [](index_t, index_t) { return true; });
    const auto b =
        matrix_where<V>(150, 271, Values::integers, 2, [](index_t i, index_t j) { return i / 75 == j / 137; });
    const auto whole = host_of(c, spgemm::multiply(c, a.view(), b.view()));
    // Sums are about 60 in size: every block has some at each threshold but the last.
    for (const Select& s : {Select{.threshold = 60}, Select{.threshold = 60, .most_per_row = 5},
                            Select{.threshold = 80, .most_per_row = 20, .recover = 30, .recover_share = 0.9},
                            Select{.threshold = 900, .recover = 40, .recover_share = 1}})
        EXPECT_EQ(entries_of(host_of(c, multiply_select(c, Semiring::plus_times, a.view(), b.view(), s))),
                  filtered(whole, s))
            << s.threshold << ", most " << s.most_per_row << ", recover " << s.recover;
    // An infinite factor gives entries where it meets one, and no others.
    auto infinite = a;
    for (std::size_t k = 0; k < 75; ++k) infinite.value[k] = 0;
    infinite.value[75] = std::numeric_limits<V>::infinity();
    const Csr<V> got = multiply_select(c, Semiring::plus_times, infinite.view(), b.view(), {.threshold = 1});
    for (const auto& [i, j, v] : host_of(c, got).entries()) EXPECT_TRUE(i > 0 || j >= 137) << j;
}

TEST(Select, AddsFourEntriesAtATime)
{
    for (const int threads : {1, 3}) {
        compare_products_of_blocks<float>(Context::cpu(threads));
        compare_products_of_blocks<double>(Context::cpu(threads));
    }
}

// Values of 1 and below, by powers of two, in a full matrix.
HostCsr<float> of_many_sizes(index_t rows, index_t cols, int seed)
{
    auto m = matrix_where<float>(rows, cols, Values::integers, static_cast<unsigned>(seed),
                                 [](index_t, index_t) { return true; });
    for (std::size_t k = 0; k < m.value.size(); ++k)
        m.value[k] = std::ldexp(1.0f + 0.01f * static_cast<float>(k % 7), -static_cast<int>((k * 5 + k / 11) % 23));
    return m;
}

// Every sum differs from the exact one by its products times what is negligible at most.
void compare_negligible(const HostCsr<float>& a, const HostCsr<float>& b, const Select& s)
{
    const Context c = Context::cpu(2);
    const auto whole = host_of(c, spgemm::multiply(c, a.view(), b.view()));
    const auto got = host_of(c, multiply_select(c, Semiring::plus_times, a.view(), b.view(), s)).entries();
    const double most = s.negligible * static_cast<double>(a.cols);
    std::size_t at = 0, other = 0;
    for (const auto& [i, j, v] : whole.entries()) {
        const bool is_kept = at < got.size() && std::get<0>(got[at]) == i && std::get<1>(got[at]) == j;
        const double exact = static_cast<double>(v), rounding = exact * 1e-5;
        if (!is_kept) {
            EXPECT_LT(exact, s.threshold + most + rounding) << i << ", " << j;
            continue;
        }
        const double sum = static_cast<double>(std::get<2>(got[at++]));
        EXPECT_NEAR(sum, exact, most + rounding);
        other += std::abs(sum - exact) > rounding;
    }
    EXPECT_EQ(at, got.size());
    EXPECT_GT(other, got.size() / 2);  // small products are left out
}

TEST(Select, LeavesOutWhatIsNegligible)
{
    const Select s{.threshold = 1, .most_per_row = 1000, .negligible = 1e-3};
    compare_negligible(of_many_sizes(150, 150, 1), of_many_sizes(150, 271, 2), s);  // four entries at a time
    compare_negligible(of_many_sizes(20, 150, 1), of_many_sizes(150, 33, 2), s);
    auto few = matrix_where<float>(150, 3000, Values::integers, 3,
                                   [](index_t i, index_t j) { return j % 50 < 2 && j / 50 == i % 20; });
    for (float& v : few.value) v = 1.0f / 3;
    compare_negligible(of_many_sizes(3, 150, 1), few, {.threshold = 1e-3, .most_per_row = 1000, .negligible = 2e-4});
}

// With a quantum of 1, halves are rounded up.
TEST(Select, ProductsAreRoundedToTheNearest)
{
    const Context c = Context::cpu(1);
    const auto one = csr_of<float>(1, 1, {{0, 0, 1.0f}});
    const auto b = csr_of<float>(1, 5, {{0, 0, 0.75f}, {0, 1, 1.25f}, {0, 2, 0.25f}, {0, 3, 2.5f}, {0, 4, 0.5f}});
    const Select s{.threshold = 0.2, .most_per_row = 10, .negligible = 0.5};
    const Csr<float> got = multiply_select(c, Semiring::plus_times, one.view(), b.view(), s);
    const std::vector<std::tuple<index_t, index_t, float>> want{{0, 0, 1.0f}, {0, 1, 1.0f}, {0, 3, 3.0f}, {0, 4, 1.0f}};
    EXPECT_EQ(host_of(c, got).entries(), want);
}

// The order of the nonzeros changes sums of floats, and none in fixed point.
TEST(Select, FixedPointHasNoOrder)
{
    const Context c = Context::cpu(1);
    const auto a = of_many_sizes(150, 150, 1), b = of_many_sizes(150, 271, 2);
    std::vector<index_t> rows(150), backwards(150);
    std::iota(rows.begin(), rows.end(), 0);
    std::reverse_copy(rows.begin(), rows.end(), backwards.begin());
    std::vector<index_t> cols(271);
    std::iota(cols.begin(), cols.end(), 0);
    const Csr<float> turned_a = permute(c, a.view(), rows, backwards), turned_b = permute(c, b.view(), backwards, cols);
    const auto product = [&](const CsrView<float>& x, const CsrView<float>& y, double negligible) {
        const Select s{.threshold = 1e-2, .most_per_row = 1000, .negligible = negligible};
        return host_of(c, multiply_select(c, Semiring::plus_times, x, y, s)).value;
    };
    EXPECT_EQ(product(a.view(), b.view(), 1e-6), product(turned_a.view(), turned_b.view(), 1e-6));
    EXPECT_NE(product(a.view(), b.view(), 0), product(turned_a.view(), turned_b.view(), 0));
    // Sums that integers of this quantum do not hold are sums of floats.
    EXPECT_EQ(product(a.view(), b.view(), 1e-12), product(a.view(), b.view(), 0));
}

// Rows as long as a step of the search and one more or less, and no rows or columns at all. Where no value is negative,
// the sum of a row is known before; one negative value or one that is not finite, and it is not.
template <class V>
void compare_rows_at_edges(index_t rows, index_t cols)
{
    const Context c = Context::cpu(1);
    const std::vector<Select> all{{.threshold = 40},
                                  {.threshold = 40, .most_per_row = 3},
                                  {.threshold = 60, .recover = 8, .recover_share = 0.9},
                                  {.threshold = 60, .recover = 1000, .recover_share = 1},
                                  {.threshold = 20, .most_per_row = 5, .recover = 9, .recover_share = 0.9}};
    auto a = matrix_where<V>(rows, 12, Values::integers, 1, [](index_t, index_t) { return true; });
    auto b = matrix_where<V>(12, cols, Values::integers, 2, [](index_t i, index_t j) { return i < 9 || j % 3 == 0; });
    for (V& v : a.value) v = std::abs(v);
    for (V& v : b.value) v = std::abs(v);
    for (const bool is_mixed : {false, true}) {
        if (is_mixed)
            for (auto* of : {&a, &b})
                for (std::size_t k = 0; k < of->value.size(); k += 5) of->value[k] = -of->value[k];
        const auto whole = host_of(c, spgemm::multiply(c, a.view(), b.view()));
        for (const Select& s : all)
            EXPECT_EQ(entries_of(host_of(c, multiply_select(c, Semiring::plus_times, a.view(), b.view(), s))),
                      filtered(whole, s))
                << rows << " x " << cols << ", threshold " << s.threshold << ", recover " << s.recover << is_mixed;
    }
}

TEST(Select, RowsAtTheEdgesOfASearch)
{
    for (const index_t cols : {0, 1, 3, 4, 5, 15, 16, 17, 31, 33})
        for (const index_t rows : {0, 1, 15, 16, 17}) compare_rows_at_edges<float>(rows, cols);
    compare_rows_at_edges<double>(17, 33);
}

// Thresholds of 64 bits between two floats, at both ends of what a float holds, and at numbers that are none.
TEST_P(SelectOn, ThresholdsBetweenFloats)
{
    const Context c = ctx();
    std::vector<std::tuple<index_t, index_t, float>> entries;
    const std::vector<float> all{0.0f,  -0.1f,     0.7f, std::nextafterf(0.7f, 1), std::nextafterf(0.1f, 0), -1e-45f,
                                 3e38f, -INFINITY, 1.0f};
    for (index_t j = 0; j < std::ssize(all); ++j) entries.emplace_back(1, j, all[static_cast<std::size_t>(j)]);
    const auto a = csr_of<float>(3, 9, entries);
    const Csr<float> there = to_device(c, a.view());
    for (const double threshold :
         {0.1, 0.7, static_cast<double>(0.1f), static_cast<double>(0.7f), 1e-46, 1e-45, 1e-300, 3e38, 1e300})
        for (const index_t most : {0, 2}) {
            const Select s{.threshold = threshold, .most_per_row = most};
            EXPECT_EQ(entries_of(host_of(c, select(c, there.view(), s))), filtered(a, s)) << threshold << ", " << most;
        }
}

// More entries than a thread of a CPU puts down in one block, and rows longer than a block.
TEST(Select, KeepsManyBlocksOfRows)
{
    for (const auto& [rows, cols] : {std::pair{150, 200}, {3, 9000}}) {
        const auto a = matrix_where<double>(rows, 3, Values::integers, 1, [](index_t, index_t) { return true; });
        const auto b = matrix_where<double>(3, cols, Values::integers, 2, [](index_t, index_t) { return true; });
        for (const int threads : {1, 3}) {
            const Context c = Context::cpu(threads);
            const Csr<double> got = multiply_select(c, Semiring::plus_times, a.view(), b.view(), {});
            const Csr<double> whole = spgemm::multiply(c, a.view(), b.view());
            EXPECT_EQ(host_of(c, got).value, host_of(c, whole).value);
            EXPECT_EQ(host_of(c, got).col, host_of(c, whole).col);
        }
    }
}

TEST_P(SelectOn, NeverHoldsTheProduct)
{
    const Context c = ctx();
    const auto full = matrix_where<double>(400, 40, Values::integers, 1, [](index_t, index_t) { return true; });
    const auto wide = matrix_where<double>(40, 400, Values::integers, 2, [](index_t, index_t) { return true; });
    const Csr<double> a = to_device(c, full.view()), b = to_device(c, wide.view());
    const std::size_t before = c.peak_bytes(), product = 400u * 400u * 12u;
    const Select selection{.most_per_row = 1, .triangle = Triangle::lower};
    const Csr<double> got = multiply_select(c, Semiring::plus_times, a.view(), b.view(), selection, product / 4);
    EXPECT_LT(c.peak_bytes() - before, c.backend() == Backend::cpu ? product * 9 / 10 : product * 3 / 10);
    const Csr<double> whole = spgemm::multiply(c, a.view(), b.view());  // in one piece
    EXPECT_EQ(entries_of(host_of(c, got)), entries_of(host_of(c, select(c, whole.view(), selection))));
}

TEST_P(SelectOn, OfNothingIsNothing)
{
    const Context c = ctx();
    const auto none = csr_of<double>(0, 0, {});
    const Csr<double> a = to_device(c, none.view());
    EXPECT_EQ(multiply_select(c, Semiring::plus_times, a.view(), a.view(), {.most_per_row = 2}).nonzeros(), 0);
    EXPECT_EQ(select(c, a.view(), {.threshold = 1}).nonzeros(), 0);
}

TEST_P(SelectOn, RefusesWhatDoesNotFit)
{
    const Context c = ctx();
    const auto m = random_matrix<double>(6, 5, 0.5, Values::integers, 1);
    const Csr<double> a = to_device(c, m.view());
    EXPECT_THROW(select(c, a.view(), {.threshold = -1}), ValueError);
    EXPECT_THROW(select(c, a.view(), {.threshold = std::nan("")}), ValueError);
    EXPECT_THROW(select(c, a.view(), {.recover_share = 2}), ValueError);
    EXPECT_THROW(select(c, a.view(), {.negligible = -1}), ValueError);
    EXPECT_THROW(multiply_select(c, Semiring::plus_times, a.view(), a.view(), {}), ShapeError);
}

TULLE_ON_BACKENDS(SelectOn);

TEST(Select, TakesAnySemiringOnTheCpu)
{
    const Context c = Context::cpu(3);
    const auto a = random_matrix<double>(40, 40, 0.1, Values::integers, 1);
    const auto all = matrix_where<double>(40, 40, Values::integers, 1, [](index_t, index_t) { return true; });
    for (const Semiring s : {Semiring::min_plus, Semiring::or_and, Semiring::plus_pair, Semiring::max_min}) {
        const auto whole = host_of(c, multiply_masked(c, s, a.view(), a.view(), all.view()));
        for (const Select& selection : selections())
            EXPECT_EQ(entries_of(host_of(c, multiply_select(c, s, a.view(), a.view(), selection))),
                      filtered(whole, selection));
    }
}

}  // namespace
}  // namespace tulle::inline TULLE_ABI::graph
