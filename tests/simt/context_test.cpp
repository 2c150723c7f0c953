// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The switch between stacks, which is written by hand for each processor: numbers that a compiler keeps in registers
// over a call must be there when the fiber goes on, whatever the others did with the same registers meanwhile.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

#include "simt/context.hpp"
#include "simt/sanitizers.hpp"

namespace tulle::test {
namespace {

constexpr int fibers = 3, rounds = 50;
constexpr std::size_t stack_bytes = 256 * 1024;

simt::StackContext scheduler;
std::array<simt::StackContext, fibers> fiber;
std::array<double, fibers> result;
int running = 0;

// More live numbers of both kinds than registers survive a call; leave() is called between all of them.
template <class Leave>
double work(int id, const Leave& leave)
{
    double a = id + 1, b = 2, c = 3, d = 5, e = 7, f = 11, g = 13, h = 17;
    std::uint64_t i = 19, j = 23, k = 29, l = 31, m = 37, n = 41;
    for (int r = 0; r < rounds; ++r) {
        leave();
        a = 0.5 * a + b, b = 0.25 * b + c, c = 0.5 * c + d, d = 0.25 * d + e, e = 0.5 * e + f, f = 0.25 * f + g,
        g = 0.5 * g + h, h = 0.25 * h + a;
        leave();
        i += j ^ k, j += k ^ l, k += l ^ m, l += m ^ n, m += n ^ i, n += i ^ j;
    }
    return a + b + c + d + e + f + g + h + static_cast<double>((i ^ j ^ k ^ l ^ m ^ n) % 1000003);
}

void run_fiber()
{
    const int id = running;
    result[static_cast<std::size_t>(id)] =
        work(id, [id] { simt::switch_stacks(fiber[static_cast<std::size_t>(id)], scheduler); });
    for (;;) simt::switch_stacks(fiber[static_cast<std::size_t>(id)], scheduler);
}

TEST(StackSwitch, KeepsWhatACompilerKeepsInRegisters)
{
    if (simt::under_asan || simt::under_tsan)
        GTEST_SKIP() << "sanitizers must be told of each switch; the scheduler does that";
    std::vector<std::vector<char>> stacks(fibers, std::vector<char>(stack_bytes));
    for (std::size_t id = 0; id < fibers; ++id) simt::prepare(fiber[id], stacks[id].data(), stack_bytes, run_fiber);
    for (int turn = 0; turn <= 2 * rounds; ++turn)
        for (running = 0; running < fibers; ++running)
            simt::switch_stacks(scheduler, fiber[static_cast<std::size_t>(running)]);
    for (int id = 0; id < fibers; ++id)
        EXPECT_EQ(result[static_cast<std::size_t>(id)], work(id, [] {})) << "fiber " << id;
}

}  // namespace
}  // namespace tulle::test
