// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Limits of narrow types, columns near 2^31 in tiny matrices, and dense matrices with a leading dimension near 2^30:
// every conversion, reordering and check.
//
//     where                                   holds                                  switches at                  seen
//                                             by
//     position keys (inspect_checks.hpp)      row << 32 | column, slot | 2^31        columns of 31 bits
//                                             FindsWhatIsWrong…
//     keys of group.cu                        bits_for(bins)                         a power of two
//                                             near_limits
//     BlockedEll::block_col                   column / block                         cols 2^31 - 1
//                                             hypersparse
//     dense matrices                          i * leading + j                        2^31, 2^32
//                                             DenseMatrices…
#include <gtest/gtest.h>

#include <set>

#include "matrix/entry_lists.hpp"
#include "support/backends.hpp"
#include "support/reserved.hpp"
#include "tulle/convert.hpp"
#include "tulle/features.hpp"
#include "tulle/validate.hpp"

namespace tulle::inline TULLE_ABI {
namespace {

using namespace tulle::test;

class MatrixLimitsOn : public OnBackend {};

// Conversions that do not need an array as long as a row: there and back.
template <class V>
void check_by_rows(const Context& c, const HostCsr<V>& a)
{
    const auto want = a.entries();
    const auto there = to_device(c, a.view());
    EXPECT_TRUE(validate(c, there.view()).ok());
    const auto coo = to_coo(c, there.view());
    EXPECT_TRUE(same_entries(entries_of(c, coo), want));
    EXPECT_TRUE(validate(c, coo.view()).ok());
    const auto mixed = coo_of(c, a.rows, a.cols, shuffled(want, 3), CooOrder::none, true);
    EXPECT_TRUE(is_csr(c, sort_rows(c, view_of(to_csr(c, mixed.view()))), a.rows, a.cols, want, true, true));
    for (const index_t block :
         a.col.size() > 500 ? std::vector{2} : std::vector{1, 7, 32}) {  // blocks of a long row are many numbers
        const auto blocks = to_blocked_ell(c, there.view(), block);
        EXPECT_TRUE(validate(c, blocks.view()).ok()) << block;
        EXPECT_TRUE(is_csr(c, to_csr(c, blocks.view()), a.rows, a.cols, want, true, true)) << block;
    }
    const auto twice = shuffled_with_duplicates(a, 7);
    const auto there_twice = to_device(c, twice.view());
    EXPECT_TRUE(is_csr(c, sum_duplicates(c, there_twice.view()), a.rows, a.cols, summed(twice.entries()), true, true));
}

template <class V>
void check_features(const Context& c, const HostCsr<V>& a)
{
    const auto there = to_device(c, a.view());
    const Features f = features(c, there.view());
    index_t below = 0, above = 0;
    for (const auto& [i, j, v] : a.entries()) below = std::max(below, i - j), above = std::max(above, j - i);
    EXPECT_EQ(f.upper_bandwidth, above);
    EXPECT_EQ(f.lower_bandwidth, below);
    EXPECT_EQ(f.empty_cols, a.cols - static_cast<index_t>(std::set<index_t>(a.col.begin(), a.col.end()).size()));
    EXPECT_EQ(f.row.cols, a.cols);
}

TEST_P(MatrixLimitsOn, DimensionsAndDistancesAtTheEndsOf8And16Bits)
{
    const auto c = ctx();
    for (const auto& [name, a] : near_limits<double>()) {
        if (!is_drawn("conversions " + name, 4)) continue;
        SCOPED_TRACE(name);
        check_by_rows(c, a);
        check_features(c, a);
        if (build::simulated && a.cols > 66000) continue;  // a simulated GPU takes long for so many rows
        const auto there = to_device(c, a.view());
        const auto csc = to_csc(c, there.view());
        EXPECT_TRUE(validate(c, csc.view()).ok());
        EXPECT_TRUE(is_csr(c, to_csr(c, csc.view()), a.rows, a.cols, a.entries(), true, true));
        const auto turned = transpose(c, there.view());
        EXPECT_TRUE(is_csr(c, turned, a.cols, a.rows, in_order(swapped(a.entries())), true, true));
        check_features(c, host_of(c, turned.view()));
        EXPECT_TRUE(same_entries(entries_of(c, to_dense(c, there.view())), a.entries()));
    }
}

TEST_P(MatrixLimitsOn, ColumnsUpTo31Bits)
{
    const auto c = ctx();
    for (const auto& [name, a] : hypersparse<double>()) {
        SCOPED_TRACE(name);
        check_by_rows(c, a);
        check_features(c, a);
    }
}

// One column too far, one out of order, one stored twice, at the far end of a row.
TEST_P(MatrixLimitsOn, FindsWhatIsWrongAtTheEndOf31Bits)
{
    const auto c = ctx();
    const auto good = hypersparse<double>().front().a;
    const auto is_found = [&](auto&& spoil) {
        auto a = good;
        spoil(a);
        const auto there = to_device(c, a.view());
        try {
            tulle::check(c, there.view());
            return false;
        } catch (const ValueError&) {
            return true;
        }
    };
    EXPECT_FALSE(is_found([](auto&) {}));
    EXPECT_TRUE(is_found([](auto& a) { a.col.back() = max_index; }));
    EXPECT_TRUE(is_found([](auto& a) { a.col.back() = -1; }));
    EXPECT_TRUE(is_found([](auto& a) { std::swap(a.col[a.col.size() - 1], a.col[a.col.size() - 3]); }));
    EXPECT_TRUE(is_found([](auto& a) { a.col[a.col.size() - 1] = a.col[a.col.size() - 2]; }));
    EXPECT_TRUE(is_found([](auto& a) {
        a.sorted = false;
        std::swap(a.col[a.col.size() - 1], a.col[a.col.size() - 3]);
        a.col[a.col.size() - 2] = a.col[a.col.size() - 3];
    }));
}

TEST_P(MatrixLimitsOn, DenseMatricesWithLeadingDimensionsBeyond30Bits)
{
    const RoomToReserve room;
    const auto c = ctx();
    if (const std::string why = why_not_reserved(c, std::size_t{80} << 30); !why.empty()) GTEST_SKIP() << why;
    for (const Layout layout : {Layout::row_major, Layout::col_major}) {
        ReservedDense<double> m(c, 6, 5, layout, (offset_t{1} << 30) + 3);
        Entries<double> want;
        for (index_t i = 0; i < 6; ++i)
            for (index_t j = 0; j < 5; ++j) {
                const double v = (i + 2 * j) % 3 == 0 ? 0.0 : i * 10 + j;
                m.put(i, j, v);
                if (v != 0) want.emplace_back(i, j, v);
            }
        EXPECT_TRUE(is_csr(c, to_csr(c, DenseView<const double>(m.view())), 6, 5, want, true, true));
    }
}

TULLE_ON_BACKENDS(MatrixLimitsOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI
