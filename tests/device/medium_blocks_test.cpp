// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Blocks of medium size in shared chunks: apart from each other, aligned, used again, given back.
#include "device/medium_blocks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

namespace tulle::inline TULLE_ABI::host {
namespace {

struct Block {
    unsigned char* data;
    std::size_t bytes;
    unsigned char mark;
};

Block take_marked(std::size_t bytes, int number)
{
    const Block b{static_cast<unsigned char*>(take_medium(bytes)), bytes, static_cast<unsigned char>(number)};
    std::memset(b.data, b.mark, bytes);
    return b;
}

// The block is as it was marked, and is given back.
void give_marked(const Block& b)
{
    EXPECT_EQ(std::count(b.data, b.data + b.bytes, b.mark), static_cast<std::ptrdiff_t>(b.bytes));
    give_medium(b.data, b.bytes);
}

// Of all sizes, every other one is given back early.
void take_and_give(int rounds)
{
    std::vector<Block> blocks;
    for (int k = 0; k < rounds; ++k) {
        blocks.push_back(
            take_marked(least_medium + static_cast<std::size_t>(k) * 70'001 % (most_medium - least_medium), k));
        EXPECT_EQ(reinterpret_cast<std::size_t>(blocks.back().data) % 64, 0u);
        if (k % 2 == 0) continue;
        give_marked(blocks.front());
        blocks.erase(blocks.begin());
    }
    for (const Block& b : blocks) give_marked(b);
}

TEST(MediumBlocks, AreApartAndGoBack)
{
    take_and_give(200);
    EXPECT_LE(bytes_of_chunks(), std::size_t{8} << 20) << "one chunk at most is kept";
}

TEST(MediumBlocks, OfSeveralThreads)
{
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) threads.emplace_back([] { take_and_give(40); });
    for (std::thread& t : threads) t.join();
    EXPECT_LE(bytes_of_chunks(), std::size_t{8} << 20);
}

TEST(MediumBlocks, MemoryIsUsedAgain)
{
    const Block kept = take_marked(least_medium, 1);
    const std::size_t before = bytes_of_chunks();
    for (int k = 0; k < 100; ++k) give_marked(take_marked(std::size_t{1} << 20, 7));
    EXPECT_EQ(bytes_of_chunks(), before);
    give_marked(kept);
}

TEST(MediumBlocks, OtherSizesAreNotTheirs)
{
    EXPECT_FALSE(is_medium(least_medium - 1));
    EXPECT_FALSE(is_medium(most_medium + 1));
}

}  // namespace
}  // namespace tulle::inline TULLE_ABI::host
