// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Pieces of large files: nothing is lost where they are cut, and the failure of the lowest piece is the one that is
// told.
#include "io/chunks.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

#include "base/hash.hpp"

namespace tulle::test {
namespace {

TEST(Chunks, AreCutAtLineEndsAndLoseNothing)
{
    std::string text;
    for (std::uint64_t k = 0; text.size() < 300'000; ++k)
        text += std::string(below(mix(k), k % 50 == 0 ? 20'000 : 60), 'x') + "\n";
    for (const bool line_end : {true, false}) {
        if (!line_end) text += "no line end";
        for (const int threads : {1, 2, 7, 64}) {
            std::string together;
            for (const std::string_view chunk : io::cut_at_lines(CpuQueue(threads), text)) {
                ASSERT_FALSE(chunk.empty());
                together += chunk;
                EXPECT_TRUE(chunk.ends_with('\n') || together.size() == text.size());
            }
            EXPECT_EQ(together, text);
        }
    }
    EXPECT_TRUE(io::cut_at_lines(CpuQueue(2), "").empty());
}

// Piece 0 fails only after piece 1 has.
TEST(Chunks, TheLowestFailureIsToldThoughAnotherCameFirst)
{
    std::atomic<bool> other_failed = false;
    const auto work = [&](offset_t c) {
        if (c == 1) {
            other_failed = true;
            throw std::runtime_error("piece 1");
        }
        for (int wait = 0; wait < 200 && !other_failed; ++wait)
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        throw std::runtime_error("piece 0");
    };
    try {
        io::for_each_chunk(CpuQueue(2), 2, {}, work);
        FAIL() << "nothing was thrown";
    } catch (const std::runtime_error& e) {
        EXPECT_STREQ(e.what(), "piece 0");
    }
}

TEST(Chunks, ProgressIsToldOnTheCallingThread)
{
    const auto caller = std::this_thread::get_id();
    double last = 0;
    io::for_each_chunk(
        CpuQueue(4), 100,
        [&](double share) {
            EXPECT_EQ(std::this_thread::get_id(), caller);
            EXPECT_GE(share, last);
            last = share;
        },
        [](offset_t) {});
    EXPECT_LE(last, 1.0);
}

}  // namespace
}  // namespace tulle::test
