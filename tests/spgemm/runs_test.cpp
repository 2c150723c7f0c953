// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Runs of equal rows: every row in exactly one piece, pieces inside runs and no longer than they may be.
#include "spgemm/adaptive/runs.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "support/battery.hpp"

namespace tulle::inline TULLE_ABI::spgemm {
namespace {

std::vector<unsigned char> likes_of(std::initializer_list<int> lengths)
{
    std::vector<unsigned char> like;
    for (const int length : lengths)
        for (int k = 0; k < length; ++k) like.push_back(k > 0 ? 1 : 0);
    return like;
}

TEST(Runs, BytesAreReadBack)
{
    for (const bool like : {false, true})
        for (int place = 0; place < run_limit; ++place)
            for (int length = 1; length <= run_limit; ++length) {
                const RunByte r = unpack(pack({like, place, length}));
                EXPECT_EQ(r.like, like);
                EXPECT_EQ(r.place, place);
                EXPECT_EQ(r.length, length);
                EXPECT_EQ(is_like(pack({like, place, length})), like);
            }
}

TEST(Runs, PiecesCoverEveryRowOnce)
{
    for (const auto& lengths : {std::initializer_list<int>{3, 1, 7},
                                {1, 1, 1},
                                {6, 6},
                                {200},
                                {59, 60, 61, 62, 63, 64},
                                {1, 100, 2},
                                {7, 121, 182}}) {
        const auto like = likes_of(lengths);
        const auto rows = static_cast<offset_t>(like.size());
        for (offset_t row = 0; row < rows;) {
            const RunByte head = run_byte(like.data(), rows, row);
            ASSERT_EQ(head.place, 0) << row;
            ASSERT_GE(head.length, 1);
            ASSERT_LE(head.length, run_limit);
            for (int k = 1; k < head.length; ++k) {
                const RunByte r = run_byte(like.data(), rows, row + k);
                ASSERT_EQ(r.place, k) << row + k;
                ASSERT_EQ(r.length, head.length);
                ASSERT_TRUE(r.like);
            }
            row += head.length;
        }
    }
}

TEST(Runs, ShortRunsAreNotCut)
{
    const auto like = likes_of({3, 1, 3});
    EXPECT_EQ(run_byte(like.data(), 7, 0).length, 3);
    EXPECT_EQ(run_byte(like.data(), 7, 3).length, 1);
    EXPECT_EQ(run_byte(like.data(), 7, 4).length, 3);
}

TEST(Runs, RowsAreComparedByTheirColumns)
{
    const auto a = test::csr_of<double>(
        6, 9, {{0, 1, 1.0}, {0, 4, 1.0}, {1, 1, 2.0}, {1, 4, 3.0}, {2, 1, 1.0}, {2, 5, 1.0}, {3, 5, 1.0}});
    const auto equal = [&](offset_t row) { return equals_predecessor(a.row_begin.data(), a.col.data(), row); };
    EXPECT_FALSE(equal(0));
    EXPECT_TRUE(equal(1));
    EXPECT_FALSE(equal(2));
    EXPECT_FALSE(equal(3)) << "the last columns of the row before, but not all of them";
    EXPECT_FALSE(equal(5)) << "empty rows are no run";
}

}  // namespace
}  // namespace tulle::inline TULLE_ABI::spgemm
