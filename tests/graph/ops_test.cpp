// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Small operations on matrices and sparse vectors by plain loops over maps of entries.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "support/backends.hpp"
#include "support/battery.hpp"
#include "tulle/convert.hpp"
#include "tulle/graph_ops.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::graph {
namespace {

using namespace tulle::test;

class GraphOpsOn : public OnBackend {};

using Map = std::map<std::pair<index_t, index_t>, double>;
using Places = std::vector<index_t>;

Map map_of(const HostCsr<double>& a)
{
    Map all;
    for (const auto& [i, j, v] : a.entries()) EXPECT_TRUE(all.try_emplace({i, j}, v).second) << i << ", " << j;
    return all;
}

Map map_of(const Context& c, const Csr<double>& a)
{
    EXPECT_TRUE(a.sorted);
    const HostCsr<double> here = host_of(c, a);
    index_t row = -1, col = -1;
    for (const auto& [i, j, v] : here.entries()) {
        EXPECT_TRUE(i > row || j > col) << "row " << i << " is not sorted";
        row = i, col = j;
    }
    return map_of(here);
}

double sum_of(Monoid m, double a, double b)
{
    switch (m) {
    case Monoid::plus: return a + b;
    case Monoid::times: return a * b;
    case Monoid::min: return std::min(a, b);
    case Monoid::max: return std::max(a, b);
    default: return a != 0 || b != 0;
    }
}

double identity(Monoid m)
{
    return m == Monoid::min ? INFINITY : m == Monoid::max ? -INFINITY : m == Monoid::times ? 1 : 0;
}

constexpr Monoid all_monoids[] = {Monoid::plus, Monoid::times, Monoid::min, Monoid::max, Monoid::any};

// What the multiplication of a semiring gives for 3 and 5, and what its addition makes of that and 4.
struct Known {
    Semiring semiring;
    double product, sum;
};
constexpr Known all_known[] = {{Semiring::plus_times, 15, 19}, {Semiring::min_plus, 8, 4},
                               {Semiring::max_plus, 8, 8},     {Semiring::max_min, 3, 4},
                               {Semiring::or_and, 1, 1},       {Semiring::plus_pair, 1, 2},
                               {Semiring::min_first, 3, 3},    {Semiring::plus_second, 5, 9}};

TEST_P(GraphOpsOn, AddAndMultiplyEntryByEntry)
{
    const Context c = ctx();
    const auto a = random_matrix<double>(23, 31, 0.2, Values::integers, 1),
               b = random_matrix<double>(23, 31, 0.3, Values::integers, 2);
    const Csr<double> on_a = to_device(c, a.view()), on_b = to_device(c, b.view());
    const Map in_a = map_of(a), in_b = map_of(b);
    for (const Monoid m : all_monoids) {
        Map want = in_a;
        for (const auto& [at, v] : in_b) want[at] = in_a.count(at) ? sum_of(m, in_a.at(at), v) : v;
        EXPECT_EQ(map_of(c, add(c, m, on_a.view(), on_b.view())), want);
    }
    Map want;
    for (const auto& [at, v] : in_a)
        if (in_b.count(at)) want[at] = v * in_b.at(at);
    EXPECT_EQ(map_of(c, multiply_entries(c, Semiring::plus_times, on_a.view(), on_b.view())), want);
    const auto three = csr_of<double>(2, 2, {{0, 1, 3.0}, {1, 0, 7.0}}), five = csr_of<double>(2, 2, {{0, 1, 5.0}});
    const Csr<double> on_three = to_device(c, three.view()), on_five = to_device(c, five.view());
    for (const Known& k : all_known)
        EXPECT_EQ(map_of(c, multiply_entries(c, k.semiring, on_three.view(), on_five.view())),
                  (Map{{{0, 1}, k.product}}))
            << to_text(k.semiring);
}

TEST_P(GraphOpsOn, UnsortedRowsAreSortedFirst)
{
    const Context c = ctx();
    HostCsr<double> a = csr_of<double>(1, 4, {{0, 0, 1.0}, {0, 1, 2.0}, {0, 3, 3.0}});
    std::swap(a.col[0], a.col[2]);
    a.sorted = false;
    const Csr<double> there = to_device(c, a.view());
    EXPECT_EQ(map_of(c, add(c, Monoid::plus, there.view(), there.view())),
              (Map{{{0, 0}, 6.0}, {{0, 1}, 4.0}, {{0, 3}, 2.0}}));
    EXPECT_EQ(map_of(c, extract(c, there.view(), {}, {})), (Map{{{0, 0}, 3.0}, {{0, 1}, 2.0}, {{0, 3}, 1.0}}));
}

TEST_P(GraphOpsOn, ExtractAndAssignPartsOfAMatrix)
{
    const Context c = ctx();
    const auto a = random_matrix<double>(12, 9, 0.4, Values::integers, 3);
    const Csr<double> there = to_device(c, a.view());
    const Map all = map_of(a);
    const auto part = [&](const Places& rows, const Places& cols) {
        Map want;
        for (std::size_t i = 0; i < rows.size(); ++i)
            for (std::size_t j = 0; j < cols.size(); ++j)
                if (all.count({rows[i], cols[j]}))
                    want[{static_cast<index_t>(i), static_cast<index_t>(j)}] = all.at({rows[i], cols[j]});
        return want;
    };
    const Places rows{5, 0, 5, 11}, cols{8, 2, 3}, every_row{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11},
        every_col{0, 1, 2, 3, 4, 5, 6, 7, 8};
    EXPECT_EQ(map_of(c, extract(c, there.view(), rows, cols)), part(rows, cols));
    EXPECT_EQ(map_of(c, extract(c, there.view(), rows, {})), part(rows, every_col));
    EXPECT_EQ(map_of(c, extract(c, there.view(), {}, cols)), part(every_row, cols));
    const Csr<double> same = extract(c, there.view(), {}, {});
    EXPECT_EQ(same.rows, 12);
    EXPECT_EQ(map_of(c, same), all);

    const Places to_rows{7, 1, 4};
    const auto b = random_matrix<double>(3, 3, 0.5, Values::integers, 4);
    const Csr<double> on_b = to_device(c, b.view());
    Map want = all;
    for (const index_t i : to_rows)
        for (const index_t j : cols) want.erase({i, j});
    for (const auto& [at, v] : map_of(b))
        want[{to_rows[static_cast<std::size_t>(at.first)], cols[static_cast<std::size_t>(at.second)]}] = v;
    const Csr<double> assigned = assign(c, there.view(), to_rows, cols, on_b.view());
    EXPECT_EQ(map_of(c, assigned), want);
    // What was assigned is what is extracted there; a matrix assigned to all of another replaces it.
    EXPECT_EQ(map_of(c, extract(c, assigned.view(), to_rows, cols)), map_of(b));
    const auto other = random_matrix<double>(12, 9, 0.2, Values::integers, 5);
    const Csr<double> on_other = to_device(c, other.view());
    EXPECT_EQ(map_of(c, assign(c, there.view(), {}, {}, on_other.view())), map_of(other));
}

TEST_P(GraphOpsOn, ReduceRowsColumnsAndAll)
{
    const Context c = ctx();
    const auto a = csr_of<double>(4, 3, {{0, 0, 2.0}, {0, 2, -3.0}, {2, 1, 5.0}, {2, 2, 4.0}, {3, 1, 0.0}});
    const Csr<double> there = to_device(c, a.view());
    for (const Monoid m : all_monoids) {
        std::vector<double> rows(4, identity(m)), cols(3, identity(m));
        double every = identity(m);
        for (const auto& [i, j, v] : a.entries()) {
            rows[static_cast<std::size_t>(i)] = sum_of(m, rows[static_cast<std::size_t>(i)], v);
            cols[static_cast<std::size_t>(j)] = sum_of(m, cols[static_cast<std::size_t>(j)], v);
            every = sum_of(m, every, v);
        }
        Buffer<double> y = to_device<double>(c, std::vector<double>(4, 99.0)),
                       z = to_device<double>(c, std::vector<double>(3, 99.0));
        reduce_rows(c, m, there.view(), y.span());
        reduce_cols(c, m, there.view(), z.span());
        const Buffer<double> got_rows = to_host(c, std::span<const double>(y.span())),
                             got_cols = to_host(c, std::span<const double>(z.span()));
        EXPECT_TRUE(std::equal(rows.begin(), rows.end(), got_rows.data())) << static_cast<int>(m);
        EXPECT_TRUE(std::equal(cols.begin(), cols.end(), got_cols.data())) << static_cast<int>(m);
        EXPECT_EQ(reduce(c, m, there.view()), every);
    }
}

TEST_P(GraphOpsOn, KroneckerProduct)
{
    const Context c = ctx();
    const auto a = random_matrix<double>(4, 5, 0.4, Values::integers, 6),
               b = random_matrix<double>(3, 6, 0.4, Values::integers, 7);
    const Csr<double> on_a = to_device(c, a.view()), on_b = to_device(c, b.view());
    Map times, plus;
    for (const auto& [i, j, v] : a.entries())
        for (const auto& [k, l, w] : b.entries()) {
            times[{i * 3 + k, j * 6 + l}] = v * w;
            plus[{i * 3 + k, j * 6 + l}] = v + w;
        }
    const Csr<double> got = kron(c, Semiring::plus_times, on_a.view(), on_b.view());
    EXPECT_EQ(got.rows, 12);
    EXPECT_EQ(got.cols, 30);
    EXPECT_EQ(map_of(c, got), times);
    EXPECT_EQ(map_of(c, kron(c, Semiring::min_plus, on_a.view(), on_b.view())), plus);
}

template <class V>
SparseVector<V> vector_of(const Context& c, index_t size, const std::vector<index_t>& index,
                          const std::vector<V>& value)
{
    return {size, to_device<index_t>(c, index), to_device<V>(c, value)};
}

std::map<index_t, double> entries_of(const Context& c, const SparseVector<double>& y)
{
    const Buffer<index_t> index = to_host(c, y.index.span());
    const Buffer<double> value = to_host(c, y.value.span());
    std::map<index_t, double> all;
    for (offset_t k = 0; k < index.size(); ++k) {
        EXPECT_TRUE(k == 0 || index.data()[k - 1] < index.data()[k]);
        all[index.data()[k]] = value.data()[k];
    }
    return all;
}

// A product with a sparse vector is the product with the columns that it has; both directions give it.
TEST_P(GraphOpsOn, ProductWithASparseVector)
{
    const Context c = ctx();
    const auto a = random_matrix<double>(40, 30, 0.15, Values::integers, 8);
    const Csr<double> there = to_device(c, a.view()), back = transpose(c, there.view());
    const std::vector<index_t> index{1, 2, 7, 20, 29};
    const std::vector<double> value{3, -1, 2, 5, 1};
    const SparseVector<double> x = vector_of<double>(c, 30, index, value), none = vector_of<double>(c, 30, {}, {});
    for (const Direction d : {Direction::push, Direction::pull, Direction::automatic}) {
        std::map<index_t, double> plus, shortest;
        for (const auto& [i, j, v] : a.entries())
            for (std::size_t k = 0; k < index.size(); ++k)
                if (index[k] == j) {
                    plus[i] += v * value[k];
                    const auto [at, is_new] = shortest.try_emplace(i, v + value[k]);
                    if (!is_new) at->second = std::min(at->second, v + value[k]);
                }
        EXPECT_EQ(entries_of(c, multiply_sparse(c, Semiring::plus_times, there.view(), back.view(), x, d)), plus);
        EXPECT_EQ(entries_of(c, multiply_sparse(c, Semiring::min_plus, there.view(), back.view(), x, d)), shortest);
        EXPECT_EQ(multiply_sparse(c, Semiring::plus_times, there.view(), back.view(), none, d).entries(), 0);
        // Two products in a row: 3 and 5, and what gives 4.
        const auto pair = csr_of<double>(1, 2, {{0, 0, 3.0}, {0, 1, 3.0}});
        const Csr<double> on_pair = to_device(c, pair.view()), back_pair = transpose(c, on_pair.view());
        const SparseVector<double> one = vector_of<double>(c, 2, {1}, {5});
        for (const Known& k : all_known)
            EXPECT_EQ(entries_of(c, multiply_sparse(c, k.semiring, on_pair.view(), back_pair.view(), one, d)),
                      (std::map<index_t, double>{{0, k.product}}))
                << to_text(k.semiring);
    }
}

TEST_P(GraphOpsOn, EmptyMatricesAreOrdinary)
{
    const Context c = ctx();
    const auto none = csr_of<double>(0, 0, {}), blank = csr_of<double>(3, 2, {});
    const Csr<double> a = to_device(c, none.view()), b = to_device(c, blank.view());
    EXPECT_EQ(add(c, Monoid::plus, a.view(), a.view()).nonzeros(), 0);
    EXPECT_EQ(multiply_entries(c, Semiring::plus_times, b.view(), b.view()).nonzeros(), 0);
    EXPECT_EQ(extract(c, b.view(), Places{2}, Places{}).rows, 1);
    EXPECT_EQ(assign(c, b.view(), {}, {}, b.view()).nonzeros(), 0);
    EXPECT_EQ(reduce(c, Monoid::min, a.view()), INFINITY);
    EXPECT_EQ(kron(c, Semiring::plus_times, a.view(), b.view()).rows, 0);
    EXPECT_EQ(kron(c, Semiring::plus_times, b.view(), b.view()).rows, 9);
    const SparseVector<double> x = vector_of<double>(c, 0, {}, {});
    EXPECT_EQ(multiply_sparse(c, Semiring::plus_times, a.view(), a.view(), x).entries(), 0);
}

TEST_P(GraphOpsOn, RefuseWhatDoesNotFit)
{
    const Context c = ctx();
    const auto m = random_matrix<double>(6, 5, 0.5, Values::integers, 1);
    const Csr<double> a = to_device(c, m.view()), back = transpose(c, a.view());
    CsrView<double> twice = a.view();
    twice.unique = false;
    EXPECT_THROW(add(c, Monoid::plus, a.view(), back.view()), ShapeError);
    EXPECT_THROW(add(c, Monoid::plus, twice, a.view()), ValueError);
    EXPECT_THROW(multiply_entries(c, Semiring::plus_times, a.view(), back.view()), ShapeError);
    EXPECT_THROW(extract(c, a.view(), Places{6}, {}), ValueError);
    EXPECT_THROW(extract(c, a.view(), {}, Places{-1}), ValueError);
    EXPECT_THROW(extract(c, a.view(), {}, Places{1, 1}), ValueError);
    EXPECT_THROW(assign(c, a.view(), Places{1, 1}, {}, a.view()), ShapeError);
    const Csr<double> two = extract(c, a.view(), Places{0, 1}, {});
    EXPECT_THROW(assign(c, a.view(), Places{1, 1}, {}, two.view()), ValueError);
    EXPECT_THROW(assign(c, twice, {}, {}, a.view()), ValueError);
    Buffer<double> y = to_device<double>(c, std::vector<double>(4));
    EXPECT_THROW(reduce_rows(c, Monoid::plus, a.view(), y.span()), ShapeError);
    EXPECT_THROW(reduce_cols(c, Monoid::plus, a.view(), y.span()), ShapeError);
    CsrView<double> huge{1 << 20, 1, 0, nullptr, nullptr, nullptr};
    const std::vector<offset_t> zeros(static_cast<std::size_t>(huge.rows) + 1);
    const Buffer<offset_t> begin = to_device<offset_t>(c, zeros);
    huge.row_begin = begin.data();
    EXPECT_THROW(kron(c, Semiring::plus_times, huge, huge), ShapeError);
    const auto product = [&](const SparseVector<double>& x) {
        multiply_sparse(c, Semiring::plus_times, a.view(), back.view(), x);
    };
    EXPECT_THROW(product(vector_of<double>(c, 6, {}, {})), ShapeError);
    EXPECT_THROW(product(vector_of<double>(c, 5, {5}, {1})), ValueError);
    EXPECT_THROW(product(vector_of<double>(c, 5, {2, 2}, {1, 1})), ValueError);
    EXPECT_THROW(product(vector_of<double>(c, 5, {1, 2}, {1})), ShapeError);
    const SparseVector<double> x = vector_of<double>(c, 5, {1}, {1});
    EXPECT_THROW(multiply_sparse(c, Semiring::plus_times, a.view(), a.view(), x), ShapeError);
}

TULLE_ON_BACKENDS(GraphOpsOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI::graph
