// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Columns near 2^31 in tiny matrices, and a vector with more rows than 24 bits tell apart.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "support/backends.hpp"
#include "support/battery.hpp"
#include "support/reserved.hpp"
#include "tulle/graph.hpp"
#include "tulle/graph_ops.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::graph {
namespace {

using namespace tulle::test;

class GraphLimitsOn : public OnBackend {};

using LimitEntries = std::vector<std::tuple<index_t, index_t, double>>;

double x_at(index_t col) { return 1 + col % 7; }

// y = A x over two semirings; x is touched where A has columns.
void check_products(const Context& c, const HostCsr<double>& a, const CsrView<double>& there)
{
    Reserved<double> x(c, a.cols);
    for (const index_t col : std::set<index_t>(a.col.begin(), a.col.end())) x.put(col, x_at(col));
    std::vector<double> sum(static_cast<std::size_t>(a.rows), 0), least(sum.size(), INFINITY);
    for (const auto& [i, j, v] : a.entries()) {
        sum[static_cast<std::size_t>(i)] += v * x_at(j);
        least[static_cast<std::size_t>(i)] = std::min(least[static_cast<std::size_t>(i)], v + x_at(j));
    }
    Buffer<double> y = c.run([&](const auto& q) { return Buffer<double>(q, a.rows); });
    for (const auto& [semiring, want] : {std::pair{Semiring::plus_times, sum}, std::pair{Semiring::min_plus, least}}) {
        multiply<double>(c, semiring, there, x.span(), y.span());
        const Buffer<double> got = to_host(c, std::span<const double>(y.span()));
        EXPECT_TRUE(std::ranges::equal(got.span(), want)) << to_text(semiring);
    }
}

TEST_P(GraphLimitsOn, ColumnsUpTo31Bits)
{
    const RoomToReserve room;
    const Context c = ctx();
    if (const std::string why = why_not_reserved(c, std::size_t{17} << 30); !why.empty()) GTEST_SKIP() << why;
    for (const auto& [name, a] : hypersparse<double>()) {
        SCOPED_TRACE(name);
        const Csr<double> on = to_device(c, a.view());
        check_products(c, a, on.view());
        const LimitEntries all = a.entries();
        LimitEntries doubled = all, squared = all;
        for (auto& [i, j, v] : doubled) v += v;
        for (auto& [i, j, v] : squared) v *= v;
        EXPECT_EQ(host_of(c, add(c, Monoid::plus, on.view(), on.view())).entries(), doubled);
        EXPECT_EQ(host_of(c, multiply_entries(c, Semiring::plus_times, on.view(), on.view())).entries(), squared);
        EXPECT_EQ(host_of(c, select(c, on.view(), {.most_per_row = a.cols})).entries(), all);
    }
}

// A matrix as tall takes a GPU's simulator too long.
TEST_P(GraphLimitsOn, RowsOfMoreThan24BitsArePushedInOrder)
{
    const Context c = ctx();
    if (c.backend() != Backend::cpu) GTEST_SKIP() << "more rows than a simulated GPU has time for";
    constexpr index_t rows = (index_t{1} << 24) + 3;
    const std::vector<index_t> row{1, 2, rows - 3, rows - 2, rows - 1};  // the last ones are 0, 1 and 2 in 24 bits
    std::vector<std::tuple<index_t, index_t, double>> entries;
    for (const index_t i : row) entries.emplace_back(0, i, 1.0 + i % 5);
    for (const index_t i : row) entries.emplace_back(1, i, 2.0 + i % 3);
    const HostCsr<double> transposed = csr_of<double>(2, rows, entries);
    std::vector<offset_t> begin(static_cast<std::size_t>(rows) + 1, 0);
    std::vector<index_t> col;
    std::vector<double> value;
    for (const index_t i : row)
        for (const index_t j : {0, 1}) {
            col.push_back(j);
            value.push_back(j == 0 ? 1.0 + i % 5 : 2.0 + i % 3);
            begin[static_cast<std::size_t>(i) + 1] = static_cast<offset_t>(col.size());
        }
    for (std::size_t i = 1; i < begin.size(); ++i) begin[i] = std::max(begin[i], begin[i - 1]);
    const CsrView<double> a{rows, 2, std::ssize(col), begin.data(), col.data(), value.data(), true, true};
    const std::vector<index_t> index{0, 1};
    const std::vector<double> ones{1, 1};
    const SparseVector<double> x{2, to_device<index_t>(c, std::span<const index_t>(index)),
                                 to_device<double>(c, std::span<const double>(ones))};
    const SparseVector<double> y = multiply_sparse(c, Semiring::plus_times, a, transposed.view(), x, Direction::push);
    ASSERT_EQ(y.entries(), std::ssize(row));
    for (std::size_t k = 0; k < row.size(); ++k) {
        EXPECT_EQ(y.index.data()[k], row[k]);
        EXPECT_EQ(y.value.data()[k], 3.0 + row[k] % 5 + row[k] % 3);
    }
}

TULLE_ON_BACKENDS(GraphLimitsOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI::graph
