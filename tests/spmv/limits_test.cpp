// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Limits of narrow types, and indices near 2^31 in tiny matrices: every format and policy, exactly.
//
//     where                                    holds                                       switches at
//                                                      seen by
//     Narrow::col (steps.hpp)                  columns of 16 bits, from 0 or the row's     cols 65536, distance 65535
//                                                      near_limits
//                                              first
//     Narrow::row_begin, Stream::row_begin     offsets of 32 bits                          nonzeros 2^31 - 33
//                                                      NarrowOffsetsEndWhere…
//     SellColumn, kind_for (sell.hpp)          distances of 1, 2, 4 bytes                  255 / 256, 65535 / 65536
//                                                      near_limits, KindsOf…
//     SellColumn::at                           unit * 4 + kind in 32 bits                  2^30 units
//                                                      KindsOf…
//     window_key                               window << 32 | 2^31 - 1 - length            rows 4096, length 2^31 - 1
//                                                      KindsOf…
//     RowGroup::length_and_rows                length * 8 + rows in 31 bits                length 2^28 - 1
//                                                      GroupsEndWhere…
//     slice_begin                              column * 2 + ragged in 64 bits              none that memory reaches
//     BlockedEllView::block_col                column / block; column in 32 bits           cols 2^31 - 1
//                                                      hypersparse
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "spmv/sell.hpp"
#include "support/backends.hpp"
#include "support/battery.hpp"
#include "support/guarded.hpp"
#include "support/reserved.hpp"
#include "tulle/convert.hpp"
#include "tulle/spmv.hpp"
#include "tulle/spmv_direct.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::spmv {
namespace {

using namespace tulle::test;

class SpmvLimitsOn : public OnBackend {};

template <class V>
V x_at(index_t col)
{
    return static_cast<V>(1 + col % 7);
}

// x with numbers where the matrix has columns. Elsewhere it is never touched.
template <class V>
void put_x(const HostCsr<V>& a, Reserved<V>& x)
{
    for (const index_t col : std::set<index_t>(a.col.begin(), a.col.end())) x.put(col, x_at<V>(col));
}

template <class V>
std::vector<V> product_of(const HostCsr<V>& a)
{
    std::vector<V> y(static_cast<std::size_t>(a.rows), V(0));
    for (const auto& [i, j, v] : a.entries()) y[static_cast<std::size_t>(i)] += v * x_at<V>(j);
    return y;
}

// y = A x by all policies: A by rows, its rows as columns of its transpose, coordinates in and out of order,
// transposed, and dense blocks.
template <class V>
void check_forms(const Context& c, const std::string& name, const HostCsr<V>& a, unsigned one_in)
{
    const auto csr = to_device(c, a.view());
    const auto coo = to_coo(c, csr.view());
    const auto blocks = to_blocked_ell(c, csr.view(), 3);
    CooView<V> unordered = coo.view();
    unordered.order = CooOrder::none;
    const std::vector<std::pair<AnyView<V>, Op>> forms{
        {csr.view(), Op::none}, {transposed(csr.view()), Op::transpose}, {coo.view(), Op::none},
        {unordered, Op::none},  {transposed(coo.view()), Op::transpose}, {blocks.view(), Op::none}};
    Reserved<V> x(c, a.cols);
    if (a.cols < 1'000'000)  // blocks read columns that no entry has; more are reserved memory, which is zero
        c.run([&](const auto& q) { fill_zero(q, x.data(), a.cols); });
    put_x(a, x);
    const std::vector<V> want = product_of(a);
    const RowFeatures row = Plan<V>::make(c, csr.view()).features().row;
    int number = 0;
    for (const auto& [view, op] : forms) {
        ++number;
        Features features = Plan<V>::make(c, view, {.op = op}).features();
        if (features.format == Format::blocked_ell)
            features.row = row;  // a plan that multiplies by blocks does not look at rows
        for (const Policy& policy : candidates(features, {c.backend(), c.host().threads})) {
            if (!is_drawn(name + std::to_string(number) + to_text(policy), one_in)) continue;
            SCOPED_TRACE(name + ": form " + std::to_string(number) + ", " + to_text(policy));
            Guarded<V> y(c, std::vector<V>(want.size(), V(1)));
            Plan<V>::make(c, view, {.op = op, .force = policy}).run(V(1), x.span(), V(0), y.span());
            ASSERT_EQ(y.take(), want);
        }
    }
}

TEST_P(SpmvLimitsOn, DimensionsAndDistancesAtTheEndsOf8And16Bits)
{
    const auto c = ctx();
    for (const auto& [name, a] : near_limits<double>()) check_forms(c, name, a, 4);
}

// As many columns as 16 bits tell apart, one less and one more, in rows that are narrow themselves: columns count from
// zero up to there, then from the row's first.
TEST_P(SpmvLimitsOn, NarrowRowsOfMatricesAtTheEndOf16Bits)
{
    const auto c = ctx();
    for (const index_t n : {65535, 65536, 65537}) {
        const auto a = matrix_of_columns<double>(35, n, 53, [n](index_t i) {
            return i % 4 == 0   ? std::vector{0, n / 3}
                   : i % 4 == 1 ? std::vector{n - 1}
                   : i % 4 == 2 ? std::vector{n - 2, n - 1}
                                : std::vector{n / 2, n - 1};
        });
        check_forms(c, std::to_string(n) + " columns, narrow rows", a, 4);
    }
}

TEST_P(SpmvLimitsOn, ColumnsUpTo31Bits)
{
    const RoomToReserve room;
    const auto c = ctx();
    if (const std::string why = why_not_reserved(c, std::size_t{9} << 30); !why.empty()) GTEST_SKIP() << why;
    for (const auto& [name, a] : hypersparse<float>()) check_forms(c, name, a, 4);
}

// The same without a plan.
TEST_P(SpmvLimitsOn, ColumnsUpTo31BitsWithoutAPlan)
{
    const RoomToReserve room;
    const auto c = ctx();
    if (const std::string why = why_not_reserved(c, std::size_t{9} << 30); !why.empty()) GTEST_SKIP() << why;
    for (const auto& [name, a] : hypersparse<float>()) {
        const auto csr = to_device(c, a.view());
        Reserved<float> x(c, a.cols);
        put_x(a, x);
        for (const Policy& policy : {Policy{Kernel::rows, 1}, Policy{Kernel::rows, 8}, Policy{Kernel::split}}) {
            SCOPED_TRACE(name + ", " + to_text(policy));
            Guarded<float> y(c, std::vector<float>(static_cast<std::size_t>(a.rows), 1.0f));
            multiply_direct<float, float>(c, csr.view(), policy, 1.0f, x.span(), 0.0f, y.span());
            EXPECT_EQ(y.take(), product_of(a));
        }
        Guarded<float> y(c, std::vector<float>(static_cast<std::size_t>(a.rows), 1.0f));
        multiply(c, csr.view(), 1.0f, x.span(), 0.0f, y.span());
        EXPECT_EQ(y.take(), product_of(a)) << name;
    }
}

// A policy that does not fit is refused, also where only a copy by rows shows how wide rows are.
TEST_P(SpmvLimitsOn, NarrowColumnsAreRefusedWhereTheyDoNotFit)
{
    const auto c = ctx();
    const auto a = csr_of<double>(3, 70000, {{0, 1, 1.0}, {0, 65537, 2.0}, {1, 69999, 3.0}});
    const auto csr = to_device(c, a.view());
    const auto csc = to_csc(c, csr.view());
    const auto coo = to_coo(c, csr.view());
    const auto blocks = to_blocked_ell(c, csr.view(), 2);
    EXPECT_THROW(Plan<double>::make(c, csr.view(), {.force = Policy{Kernel::rows, 4, false, true}}), ValueError);
    for (const AnyView<double>& view :
         {AnyView<double>(csc.view()), AnyView<double>(coo.view()), AnyView<double>(blocks.view())})
        EXPECT_THROW(Plan<double>::make(c, view, {.force = Policy{Kernel::rows, 4, true, true}}), ValueError)
            << to_text(static_cast<Format>(view.index()));
}

bool offers(const RowFeatures& row, bool narrow, Kernel kernel)
{
    const auto all = candidates({.row = row}, {Backend::cuda, 1});
    return std::any_of(all.begin(), all.end(),
                       [&](const Policy& p) { return p.kernel == kernel && p.narrow == narrow; });
}

TEST(SpmvLimits, NarrowOffsetsEndWhere32BitsDo)
{
    const RowFeatures most{.rows = 10, .cols = 70000, .nonzeros = max_index - 32, .widest = 65535};
    RowFeatures row = most;
    EXPECT_TRUE(offers(row, true, Kernel::rows));
    row.nonzeros = max_index - 31;
    EXPECT_FALSE(offers(row, true, Kernel::rows));
    row = most;
    row.widest = 65536;
    EXPECT_FALSE(offers(row, true, Kernel::rows));
}

TEST(SpmvLimits, GroupsEndWhereTheirWordDoes)
{
    RowFeatures row{.rows = 10, .cols = max_index, .nonzeros = max_index, .longest = longest_in_group};
    EXPECT_TRUE(offers(row, false, Kernel::groups));
    ++row.longest;
    EXPECT_FALSE(offers(row, false, Kernel::groups));
    const RowGroup group{0, 0, static_cast<std::int32_t>(longest_in_group * 8 + 4)};
    EXPECT_EQ(group.length(), longest_in_group);
    EXPECT_EQ(group.rows(), 4);
}

TEST(SpmvLimits, KindsOfDistancesAndTheirWords)
{
    EXPECT_EQ(kind_for(254), SellKind::bytes1);
    EXPECT_EQ(kind_for(255), SellKind::bytes1);
    EXPECT_EQ(kind_for(256), SellKind::bytes2);
    EXPECT_EQ(kind_for(65535), SellKind::bytes2);
    EXPECT_EQ(kind_for(65536), SellKind::bytes4);
    EXPECT_EQ(kind_for(max_index), SellKind::bytes4);
    EXPECT_EQ(column_of(7, SellKind::bytes4, most_units - 1).at / 4, static_cast<std::uint32_t>(most_units - 1));
    EXPECT_EQ(column_of(7, SellKind::bytes4, most_units - 1).at % 4, static_cast<std::uint32_t>(SellKind::bytes4));
    EXPECT_NO_THROW(require_units(most_units - 1));
    EXPECT_THROW(require_units(most_units), ValueError);
    EXPECT_TRUE(may_follow(68, 100));
    EXPECT_FALSE(may_follow(69, 100));
    EXPECT_TRUE(may_follow(max_index - 32, max_index));
    EXPECT_FALSE(may_follow(max_index - 31, max_index));
    // Windows first, then long rows before short ones, and none that is longer than an index spoils the window.
    EXPECT_LT(window_key(4095, 0), window_key(4096, max_index));
    EXPECT_LT(window_key(5000, max_index), window_key(5000, max_index - 1));
    EXPECT_EQ(window_key(5000, offset_t{max_index} + 1), window_key(5000, max_index));
    EXPECT_LT(window_key(max_index - 4096, 0), window_key(max_index, 0));
}

TULLE_ON_BACKENDS(SpmvLimitsOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI::spmv
