// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Allocations that fail one after the other.
#pragma once

#include <gtest/gtest.h>

#include "support/battery.hpp"
#include "tulle/context.hpp"
#include "tulle/error.hpp"

namespace tulle::test {

// Work whose n-th allocation fails, for n = 0, 1, 2, … until none is left to fail: every failure is an OutOfMemory and
// leaves nothing behind. Before sanitizers about every other n is drawn, the first always; few before ThreadSanitizer,
// as what is left behind is no race.
template <class Work>
void expect_clean_failures(const Context& ctx, Work&& work)
{
    constexpr unsigned one_of = simt::under_tsan ? 8 : simt::under_asan ? 4 : 1;
    Memory& memory = ctx.memory();
    for (const auto how : {Memory::Fail::once, Memory::Fail::for_ever}) {
        bool done = false;
        for (int n = 0; !done; ++n) {
            ASSERT_LT(n, 500);
            if (n > 0 && !is_drawn_by_seed("allocation " + std::to_string(n), one_of)) continue;
            const auto blocks = memory.live_blocks();
            memory.fail_at(n, how);
            try {
                work();
                EXPECT_GT(n, 0) << "the work allocates nothing";
                done = true;
            } catch (const OutOfMemory&) {}
            memory.fail_at(-1);
            EXPECT_EQ(memory.live_blocks(), blocks) << "after allocation " << n << " failed";
        }
    }
}

}  // namespace tulle::test
