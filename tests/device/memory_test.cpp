// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The memory resource: accounts, budgets, faults, on every backend.
#include "tulle/memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "device/strided_copy.hpp"
#include "support/backends.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI {
namespace {

class MemoryOn : public test::OnBackend {
protected:
    static Space space(const Context& c) { return c.backend() == Backend::cpu ? Space::host : Space::device; }
    template <class T>
    static Buffer<T> buffer(const Context& c, offset_t n)
    {
        return c.run([&](const auto& q) { return Buffer<T>(q, n); });
    }
};

TEST_P(MemoryOn, CountsLiveAndPeak)
{
    const auto c = ctx();
    {
        const auto a = buffer<double>(c, 100);
        const auto b = buffer<double>(c, 50);
        EXPECT_EQ(c.memory().live(space(c)), 1200u);
        EXPECT_EQ(c.memory().live_blocks(), 2);
    }
    EXPECT_EQ(c.memory().live(space(c)), 0u);
    EXPECT_EQ(c.peak_bytes(), 1200u);
    EXPECT_EQ(c.memory().live_blocks(), 0);
    c.memory().reset_peak();
    EXPECT_EQ(c.peak_bytes(), 0u);
}

TEST_P(MemoryOn, KeepsItsBudgetAndSaysHowMuchItNeeds)
{
    auto c = ctx();
    c.budget(1000);
    const auto a = buffer<char>(c, 600);
    try {
        const auto b = buffer<char>(c, 500);
        FAIL() << "over budget";
    } catch (const OutOfMemory& e) {
        EXPECT_EQ(e.needed(), 500u);
        EXPECT_EQ(e.available(), 400u);
        EXPECT_NE(e.message().find("over budget"), std::string::npos) << e.what();
        EXPECT_NE(e.hint().find("raise the budget"), std::string::npos) << e.what();
    }
    EXPECT_NO_THROW(buffer<char>(c, 400));
    EXPECT_EQ(c.peak_bytes(), 1000u);
}

TEST_P(MemoryOn, FailsWhenTold)
{
    const auto c = ctx();
    c.memory().fail_at(1, Memory::Fail::once);
    EXPECT_NO_THROW(buffer<int>(c, 1));
    EXPECT_THROW(buffer<int>(c, 1), OutOfMemory);
    EXPECT_NO_THROW(buffer<int>(c, 1));
    c.memory().fail_at(0, Memory::Fail::for_ever);
    EXPECT_THROW(buffer<int>(c, 1), OutOfMemory);
    EXPECT_THROW(buffer<int>(c, 1), OutOfMemory);
    c.memory().fail_at(-1);
    EXPECT_NO_THROW(buffer<int>(c, 1));
    EXPECT_EQ(c.memory().live_blocks(), 0);
}

TEST_P(MemoryOn, RefusesWhatNoMachineHas)
{
    const auto c = ctx();
    EXPECT_THROW(buffer<double>(c, offset_t{1} << 50), OutOfMemory);
    EXPECT_THROW(buffer<double>(c, max_offset), ValueError);
    EXPECT_THROW(buffer<double>(c, -1), ValueError);
    EXPECT_EQ(c.memory().live_blocks(), 0);
    EXPECT_NO_THROW(buffer<double>(c, 10)) << "the context is usable after a failure";
}

TEST_P(MemoryOn, GivesEmptyBuffersAndMoves)
{
    const auto c = ctx();
    auto a = buffer<int>(c, 0);
    EXPECT_NE(a.data(), nullptr);
    EXPECT_TRUE(a.empty());
    auto b = buffer<int>(c, 7);
    a = std::move(b);
    EXPECT_EQ(a.size(), 7);
    EXPECT_EQ(b.size(), 0);
    EXPECT_EQ(c.memory().live_blocks(), 1);
}

TEST_P(MemoryOn, CountsEmptyBuffersAsNoBytes)
{
    auto c = ctx();
    c.budget(10);
    const auto a = buffer<char>(c, 10);
    const auto b = buffer<char>(c, 0);
    EXPECT_EQ(c.memory().live(space(c)), 10u);
    EXPECT_EQ(c.memory().live_blocks(), 2);
}

TEST_P(MemoryOn, DoesNotCountInItsPeakWhatWasRefused)
{
    const auto c = ctx();
    const auto a = buffer<char>(c, 100);
    EXPECT_THROW(buffer<double>(c, offset_t{1} << 50), OutOfMemory);
    EXPECT_EQ(c.peak_bytes(), 100u);
}

// A budget of what the hint names holds the array that was refused.
TEST_P(MemoryOn, RoundsTheBudgetThatItAsksForUp)
{
    for (const offset_t bytes : {1, 1023, 1025, 64'100, 1 << 20, (1 << 20) + 1, 1'100'000}) {
        auto c = ctx();
        c.budget(static_cast<std::size_t>(bytes - 1));
        std::string hint;
        try {
            buffer<char>(c, bytes);
        } catch (const OutOfMemory& e) {
            hint = e.hint();
        }
        const std::string begin = "raise the budget to more than ";
        ASSERT_TRUE(hint.starts_with(begin)) << hint;
        c.budget(parse_bytes(hint.substr(begin.size())));
        EXPECT_NO_THROW(buffer<char>(c, bytes)) << hint;
    }
}

TEST_P(MemoryOn, BuffersOutliveTheirContext)
{
    Buffer<int> kept;
    {
        const auto c = ctx();
        kept = buffer<int>(c, 100);
    }
    EXPECT_EQ(kept.size(), 100);
}

TEST_P(MemoryOn, CopiesThereAndBack)
{
    const auto c = ctx();
    std::vector<int> there(3000000), back(there.size());
    for (std::size_t i = 0; i < there.size(); ++i) there[i] = static_cast<int>(i * 7);
    const std::size_t n = build::simulated && c.backend() == Backend::cuda ? 3000 : there.size();
    c.run([&](const auto& q) {
        auto a = to_queue(q, there.data(), static_cast<offset_t>(n));
        Buffer<int> b(q, static_cast<offset_t>(n));
        fill_zero(q, b.data(), b.size());
        EXPECT_EQ(read_value(q, b.data() + n / 2), 0);
        copy(q, a.data(), b.data(), a.size());
        download(q, b.data(), back.data(), b.size());
        copy(q, a.data(), b.data(), 0);
    });
    EXPECT_TRUE(std::equal(there.begin(), there.begin() + static_cast<std::ptrdiff_t>(n), back.begin()));
}

// Lines of five bytes out of seven, to nine, to six, and back to eleven: what lies between them stays.
TEST_P(MemoryOn, CopiesLinesAndLeavesTheGaps)
{
    const auto c = ctx();
    for (const std::size_t lines :
         {std::size_t{0}, std::size_t{1}, std::size_t{4}, build::simulated ? std::size_t{40} : std::size_t{300000}}) {
        const auto all = [&](std::size_t step) { return static_cast<offset_t>(lines * step); };
        std::vector<char> from(lines * 7), back(lines * 11, 'x');
        for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<char>(i % 89);
        const std::vector<char> sent = from;
        c.run([&](const auto& q) {
            Buffer<char> a(q, all(9)), b(q, all(6));
            fill_bytes(q, a.data(), 'a', lines * 9);
            fill_bytes(q, b.data(), 'b', lines * 6);
            upload_lines(q, from.data(), a.data(), {5, lines, 7, 9});
            std::fill(from.begin(), from.end(), '?');  // it may be reused on return
            copy_lines(q, a.data(), b.data(), {5, lines, 9, 6});
            download_lines(q, b.data(), back.data(), {5, lines, 6, 11});
            std::vector<char> whole(lines * 6);
            download_lines(q, b.data(), whole.data(), {6, lines, 6, 6});  // without gaps, and with the room between
            for (std::size_t i = 0; i < whole.size(); ++i)
                ASSERT_EQ(whole[i], i % 6 < 5 ? sent[i / 6 * 7 + i % 6] : 'b') << i;
        });
        for (std::size_t i = 0; i < back.size(); ++i)
            ASSERT_EQ(back[i], i % 11 < 5 ? sent[i / 11 * 7 + i % 11] : 'x') << i;
    }
}

TEST_P(MemoryOn, GivesPinnedHostMemory)
{
    if (build::has_cuda && cuda_devices().empty()) GTEST_SKIP() << "the driver pins memory, and " << why_no_cuda();
    const auto c = ctx();
    const auto pinned = [&](offset_t n) {
        return c.run([&](const auto& q) {
            return Buffer<int>(q.memory, Place{.space = Space::pinned, .device = 0, .stream = nullptr}, n);
        });
    };
    {
        auto there = pinned(100);
        std::fill_n(there.data(), 100, 7);
        EXPECT_EQ(c.memory().live(Space::pinned), 400u);
        c.run([&](const auto& q) { EXPECT_EQ(read_value(q, to_queue(q, there.data(), 100).data() + 99), 7); });
    }
    EXPECT_EQ(c.memory().live(Space::pinned), 0u);
    EXPECT_THROW(pinned(offset_t{1} << 50), OutOfMemory);
}

TEST_P(MemoryOn, UploadedMemoryMayBeReusedAtOnce)
{
    const auto c = ctx();
    c.run([&](const auto& q) {
        std::vector<int> host(100, 7);
        const auto there = to_queue(q, host.data(), 100);
        host.assign(100, -1);
        EXPECT_EQ(read_value(q, there.data() + 99), 7);
    });
}

TULLE_ON_BACKENDS(MemoryOn);

TEST(Memory, KeepsTheBudgetWithManyThreads)
{
    const auto c = Context::cpu();
    c.memory().budget(Space::host, 1000);
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            for (int i = 0; i < 2000; ++i) try {
                    const Buffer<char> b(c.host(), 300);
                } catch (const OutOfMemory&) {}
        });
    threads.clear();
    EXPECT_LE(c.peak_bytes(), 1000u);
    EXPECT_EQ(c.memory().live_blocks(), 0);
}

TEST(Memory, AlignsHostMemory)
{
    const CpuQueue q(1);
    const Buffer<char> small(q, 3), large(q, offset_t{8} << 20);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(small.data()) % 64, 0u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(large.data()) % (2u << 20), 0u);
}

}  // namespace
}  // namespace tulle::inline TULLE_ABI
