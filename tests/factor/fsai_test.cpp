// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// G of the factorised sparse approximate inverse against a dense solve for each row; its properties; breakdowns.
#include "factor/fsai.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "factor/fsai_row.hpp"
#include "factor/matrices.hpp"
#include "support/backends.hpp"
#include "support/faults.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"

namespace tulle {
namespace {

using test::csr_of;
using test::dominant;
using test::host_of;
using test::host_vector;
using test::HostCsr;
using test::laplacian;

class FsaiOn : public test::OnBackend {};

template <class V>
double entry(const HostCsr<V>& a, index_t i, index_t j)
{
    for (offset_t k = a.row_begin[static_cast<std::size_t>(i)]; k < a.row_begin[static_cast<std::size_t>(i) + 1]; ++k)
        if (a.col[static_cast<std::size_t>(k)] == j) return static_cast<double>(a.value[static_cast<std::size_t>(k)]);
    return 0;
}

// y with A(J, J) y = e_m, by Gaussian elimination.
template <class V>
std::vector<double> solve_last(const HostCsr<V>& a, const std::vector<index_t>& j)
{
    const std::size_t m = j.size();
    std::vector<std::vector<double>> s(m, std::vector<double>(m + 1, 0));
    for (std::size_t r = 0; r < m; ++r)
        for (std::size_t c = 0; c < m; ++c) s[r][c] = entry(a, std::max(j[r], j[c]), std::min(j[r], j[c]));
    s[m - 1][m] = 1;
    for (std::size_t k = 0; k < m; ++k)
        for (std::size_t r = k + 1; r < m; ++r) {
            const double f = s[r][k] / s[k][k];
            for (std::size_t c = k; c <= m; ++c) s[r][c] -= f * s[k][c];
        }
    std::vector<double> y(m);
    for (std::size_t k = m; k-- > 0;) {
        y[k] = s[k][m];
        for (std::size_t c = k + 1; c < m; ++c) y[k] -= s[k][c] * y[c];
        y[k] /= s[k][k];
    }
    return y;
}

template <class V>
void expect_rows(const HostCsr<V>& a, const HostCsr<V>& g)
{
    const double slack = 200 * std::numeric_limits<V>::epsilon();
    for (index_t i = 0; i < g.rows; ++i) {
        const auto begin = static_cast<std::size_t>(g.row_begin[static_cast<std::size_t>(i)]);
        const auto end = static_cast<std::size_t>(g.row_begin[static_cast<std::size_t>(i) + 1]);
        const std::vector<index_t> j(g.col.begin() + static_cast<std::ptrdiff_t>(begin),
                                     g.col.begin() + static_cast<std::ptrdiff_t>(end));
        ASSERT_FALSE(j.empty());
        ASSERT_EQ(j.back(), i);
        const std::vector<double> y = solve_last(a, j);
        for (std::size_t k = 0; k < j.size(); ++k)
            ASSERT_NEAR(static_cast<double>(g.value[begin + k]), y[k] / std::sqrt(y.back()),
                        slack * std::sqrt(y.back()))
                << "row " << i << ", column " << j[k];
    }
}

// No entry that was left out has a larger a_ij^2 / a_jj than one that is kept.
template <class V>
void expect_heaviest(const HostCsr<V>& a, const HostCsr<V>& g, index_t i)
{
    double kept = std::numeric_limits<double>::infinity(), dropped = 0;
    for (index_t j = 0; j < i; ++j) {
        const double v = entry(a, i, j), weight = v * v / entry(a, j, j);
        if (entry(g, i, j) != 0) kept = std::min(kept, weight);
        else dropped = std::max(dropped, weight);
    }
    EXPECT_GE(kept, dropped) << i;
}

// Rows of one entry, of each class of the kernel, of as many entries as are kept, and of one or many more.
template <class V>
std::vector<HostCsr<V>> fsai_matrices()
{
    std::vector<HostCsr<V>> all;
    all.push_back(csr_of<V>(0, 0, {}));
    all.push_back(csr_of<V>(1, 1, {{0, 0, V(4)}}));
    all.push_back(laplacian<V>(7, 5, 3));
    all.push_back(dominant<V>(30, 0.4, true, 3));
    all.push_back(dominant<V>(90, 0.9, true, 5));
    for (const index_t rows : {-1, 0, 1, 2}) all.push_back(dominant<V>(factor::most_fsai_entries + rows, 2, true, 7));
    return all;
}

// Rows of the lower triangle with more entries than are kept.
template <class V>
int long_rows(const HostCsr<V>& a)
{
    std::vector<int> length(static_cast<std::size_t>(a.rows), 0);
    for (const auto& [i, j, v] : a.entries()) length[static_cast<std::size_t>(i)] += j <= i ? 1 : 0;
    return static_cast<int>(
        std::count_if(length.begin(), length.end(), [](int n) { return n > factor::most_fsai_entries; }));
}

template <class V>
void check_rows_of_factor(const Context& ctx)
{
    for (const HostCsr<V>& a : fsai_matrices<V>()) {
        SCOPED_TRACE(a.rows);
        const Csr<V> there = to_device(ctx, a.view());
        const factor::Fsai<V> inverse(ctx, there.view());
        const HostCsr<V> g = host_of(ctx, inverse.factor());
        expect_rows(a, g);
        for (index_t i = 0; i < g.rows; ++i)
            EXPECT_LE(g.row_begin[static_cast<std::size_t>(i) + 1] - g.row_begin[static_cast<std::size_t>(i)],
                      factor::most_fsai_entries);
        const int shortened = long_rows(a);
        for (index_t i = 0; i < g.rows && shortened > 0; ++i) expect_heaviest(a, g, i);
        EXPECT_EQ(inverse.describe().find(concat("; ", shortened, shortened == 1 ? " row has" : " rows have")) !=
                      std::string::npos,
                  shortened > 0)
            << inverse.describe();
    }
}

TEST_P(FsaiOn, RowsSolveTheirSystems)
{
    check_rows_of_factor<double>(ctx());
    check_rows_of_factor<float>(ctx());
}

// z = G^T (G r), also after new values.
TEST_P(FsaiOn, AppliesTheFactorAndItsTranspose)
{
    const Context c = ctx();
    HostCsr<double> a = laplacian<double>(6, 5, 1, 0.3);
    const Csr<double> first = to_device(c, a.view());
    factor::Fsai<double> inverse(c, first.view());
    for (std::size_t k = 0; k < a.value.size(); ++k) a.value[k] *= 3;
    const Csr<double> second = to_device(c, a.view());
    inverse.update_values(second.view());
    const HostCsr<double> g = host_of(c, inverse.factor());
    expect_rows(a, g);
    std::vector<double> r(static_cast<std::size_t>(a.rows)), y(r.size()), z(r.size());
    for (std::size_t i = 0; i < r.size(); ++i) r[i] = 1 + static_cast<double>(i % 5);
    for (const auto& [i, j, v] : g.entries()) y[static_cast<std::size_t>(i)] += v * r[static_cast<std::size_t>(j)];
    for (const auto& [i, j, v] : g.entries()) z[static_cast<std::size_t>(j)] += v * y[static_cast<std::size_t>(i)];
    const auto r_there = to_device<double>(c, std::span<const double>(r));
    auto z_there = to_device<double>(c, std::span<const double>(y));
    inverse.apply(r_there.span(), z_there.span());
    const auto got = host_vector(c, z_there);
    for (std::size_t i = 0; i < z.size(); ++i) EXPECT_NEAR(got[i], z[i], 1e-13 * std::abs(z[i])) << i;
}

std::string refusal(const Context& ctx, const HostCsr<double>& a)
{
    const Csr<double> there = to_device(ctx, a.view());
    try {
        factor::Fsai<double>(ctx, there.view());
    } catch (const ValueError& e) {
        return e.what();
    }
    return {};
}

// The first row whose system is not positive definite, singular or without a diagonal entry is named.
TEST_P(FsaiOn, BreakdownNamesTheRow)
{
    HostCsr<double> a = laplacian<double>(40, 1, 1);
    const auto diagonal_of = [&](index_t i) -> double& {
        for (auto k = static_cast<std::size_t>(a.row_begin[static_cast<std::size_t>(i)]);; ++k)
            if (a.col[k] == i) return a.value[k];
    };
    EXPECT_EQ(refusal(ctx(), a), "");
    diagonal_of(31) = -2;
    diagonal_of(17) = 0.5;  // 2 * 0.5 - 1 = 0: singular with the row before it
    EXPECT_NE(refusal(ctx(), a).find("row 17: "), std::string::npos) << refusal(ctx(), a);
    diagonal_of(17) = 2;
    EXPECT_NE(refusal(ctx(), a).find("row 31: "), std::string::npos) << refusal(ctx(), a);
    diagonal_of(31) = std::numeric_limits<double>::quiet_NaN();
    EXPECT_NE(refusal(ctx(), a).find("row 31: "), std::string::npos) << refusal(ctx(), a);
    EXPECT_NE(refusal(ctx(), csr_of<double>(2, 2, {{0, 0, 1.0}, {1, 0, 1.0}})).find("row 1"), std::string::npos);
}

TEST_P(FsaiOn, AllocationsThatFailLeaveNothing)
{
    const Context c = ctx();
    const Csr<double> a = to_device(c, laplacian<double>(4, 3, 1).view());
    test::expect_clean_failures(c, [&] { factor::Fsai<double>(c, a.view()); });
}

TULLE_ON_BACKENDS(FsaiOn);

}  // namespace
}  // namespace tulle
