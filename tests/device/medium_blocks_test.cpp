// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Blocks of medium size in shared chunks: apart from each other, aligned, used again, given back.
#include "device/medium_blocks.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "device/host_memory.hpp"
#include "simt/sanitizers.hpp"
#include "tulle/memory.hpp"

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
    take_and_give(simt::under_tsan ? 40 : 200);  // one thread races with nobody
    EXPECT_LE(bytes_of_chunks(), std::size_t{8} << 20) << "one chunk at most is kept";
}

// Gaps of any length that begin anywhere, also where they end in another word of bits: blocks of both kinds of sizes
// are given back in no order.
TEST(MediumBlocks, AreApartWhereverGapsBegin)
{
    std::vector<Block> blocks;
    std::uint64_t draw = 1;
    for (int k = 0; k < 400; ++k) {
        draw = draw * 6364136223846793005u + 1442695040888963407u;
        const std::size_t more = static_cast<std::size_t>(draw >> 33) % (k % 3 == 0 ? 1'000'000 : 90'000);
        blocks.push_back(take_marked(least_medium + more, k));
        if (blocks.size() < 24) continue;
        const std::size_t which = static_cast<std::size_t>(draw >> 40) % blocks.size();
        give_marked(blocks[which]);
        blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(which));
    }
    for (const Block& b : blocks) give_marked(b);
    EXPECT_LE(bytes_of_chunks(), std::size_t{8} << 20);
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

// Every lock that allocation takes.
void allocate_and_release(const CpuQueue& q)
{
    const Buffer<char> medium(q, least_medium), large(q, static_cast<offset_t>(large_block));
}

// Whether a process made by fork() can allocate; one that cannot is ended by its alarm.
bool child_can_allocate(const CpuQueue& q)
{
    const pid_t child = fork();
    if (child == 0) {
        alarm(20);
        allocate_and_release(q);
        _exit(0);
    }
    int status = -1;
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(MediumBlocks, AForkFindsNoLockHeld)
{
    const CpuQueue q(1);
    std::atomic<bool> stop = false;
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; ++t)
        threads.emplace_back([&] {
            while (!stop) allocate_and_release(q);
        });
    bool all = true;
    for (int k = 0; k < 50 && all; ++k) all = child_can_allocate(q);
    stop = true;
    for (std::thread& t : threads) t.join();
    EXPECT_TRUE(all) << "a process waits for a lock that nobody holds";
}

TEST(MediumBlocks, OtherSizesAreNotTheirs)
{
    EXPECT_FALSE(is_medium(least_medium - 1));
    EXPECT_FALSE(is_medium(most_medium + 1));
}

}  // namespace
}  // namespace tulle::inline TULLE_ABI::host
