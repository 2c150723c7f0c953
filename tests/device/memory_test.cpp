// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The memory resource: accounts, budgets, faults, on every backend.
#include "tulle/device/memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "support/backends.hpp"
#include "tulle/device/buffer.hpp"
#include "tulle/device/copy.hpp"

namespace tulle {
namespace {

class MemoryOn : public test::OnBackend {
protected:
    static Space space(const Context& c) { return c.backend() == Backend::cpu ? Space::host : Space::device; }
    template <class T>
    static Buffer<T> buffer(const Context& c, offset_t n) { return c.run([&](const auto& q) { return Buffer<T>(q, n); }); }
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

TEST_P(MemoryOn, GivesPinnedHostMemory)
{
    if (build::has_cuda && cuda_devices().empty()) GTEST_SKIP() << "the driver pins memory, and " << why_no_cuda();
    const auto c = ctx();
    const auto pinned = [&](offset_t n) { return c.run([&](const auto& q) { return Buffer<int>(q.memory, Place{.space = Space::pinned, .device = 0, .stream = nullptr}, n); }); };
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
                } catch (const OutOfMemory&) {
                }
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
}  // namespace tulle
