// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Work for threads: all of it once, and no parallel region where one thread does it.
#include "prim/cpu/pieces.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <vector>

namespace tulle::inline TULLE_ABI {
namespace {

TEST(Pieces, EveryThreadHasItsTurn)
{
    for (const int threads : {1, 2, 5}) {
        std::vector<int> turns(static_cast<std::size_t>(threads));
        prim::each_thread(CpuQueue(threads), [&](int t) { ++turns[static_cast<std::size_t>(t)]; });
        EXPECT_EQ(turns, std::vector<int>(static_cast<std::size_t>(threads), 1));
    }
}

TEST(Pieces, EveryPieceHasItsTurn)
{
    for (const int threads : {1, 3})
        for (const offset_t size : {1, 4, 10, 11}) {
            std::vector<int> turns(10);
            prim::each_piece(CpuQueue(threads), prim::pieces_of(10, size), [&](offset_t, offset_t begin, offset_t end) {
                for (offset_t i = begin; i < end; ++i) ++turns[static_cast<std::size_t>(i)];
            });
            EXPECT_EQ(turns, std::vector<int>(10, 1)) << threads << " threads, pieces of " << size;
        }
}

// Even a region of one thread takes longer than a small product.
TEST(Pieces, OneThreadOpensNoParallelRegion)
{
    const CpuQueue one(1), two(2);
    int level = -1;
    prim::each_thread(one, [&](int) { level = omp_get_level(); });
    EXPECT_EQ(level, 0);
    const auto level_of = [&](const CpuQueue& q, offset_t size) {
        prim::each_piece(q, prim::pieces_of(10, size), [&](offset_t p, offset_t, offset_t) {
            if (p == 0) level = omp_get_level();
        });
        return level;
    };
    EXPECT_EQ(level_of(one, 5), 0);
    EXPECT_EQ(level_of(two, 10), 0) << "one piece";
    EXPECT_EQ(level_of(two, 5), 1);
}

}  // namespace
}  // namespace tulle::inline TULLE_ABI
