// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// On a simulated GPU every case has a schedule of its own: the order in which blocks start, and how many are there at once, follow from the case's name and
// the seed as far as the environment leaves them open. So one run of the suite goes through all of them, and a case alone behaves as it does among others.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "tulle/base/hash.hpp"
#ifdef TULLE_SIM
#include "tulle/simt/config.hpp"
#endif

namespace tulle::test {

#ifdef TULLE_SIM
inline void draw_schedule()
{
    simt::Config config = simt::config();
    const auto* const info = ::testing::UnitTest::GetInstance()->current_test_info();
    std::uint64_t h = hash_of(config.seed);
    for (const char c : std::string(info->test_suite_name()) + "." + info->name()) h = hash_of(h, static_cast<unsigned char>(c));
    if (!std::getenv("TULLE_SIM_ORDER")) config.order = std::array{simt::Order::ascending, simt::Order::descending, simt::Order::random}[below(h, 3)];
    if (!std::getenv("TULLE_SIM_RESIDENT")) config.resident = std::array{1u, 2u, 4u}[below(hash_of(h), 3)];
    simt::configure(config);
}

// As many blocks at once as there are multiprocessors: what kernels need whose blocks wait for each other without tickets.
inline bool runs_all_blocks() { return simt::config().resident >= 4; }
#else
inline void draw_schedule() {}
inline bool runs_all_blocks() { return true; }
#endif

}  // namespace tulle::test
