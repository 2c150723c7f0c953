// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// On a simulated GPU every case has a schedule of its own: the order in which blocks start, how many are there at once,
// and for how many multiprocessors grids are made, follow from the case's name and the seed as far as the environment
// leaves them open. So one run of the suite goes through all of them, and a case alone behaves as it does among others.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/hash.hpp"
#ifdef TULLE_SIM
#include "simt/config.hpp"
#include "simt/sanitizers.hpp"
#endif

namespace tulle::test {

#ifdef TULLE_SIM
// What follows from the seed and the name of the case that runs, without the last `left_out` letters.
inline std::uint64_t draw_by_case(std::size_t left_out = 0)
{
    const auto* const info = ::testing::UnitTest::GetInstance()->current_test_info();
    std::string name = std::string(info->test_suite_name()) + "." + info->name();
    name.resize(name.size() - left_out);
    std::uint64_t h = hash_of(simt::config().seed);
    for (const char c : name) h = hash_of(h, static_cast<unsigned char>(c));
    return h;
}

inline void draw_schedule()
{
    simt::Config config = simt::config();
    const std::uint64_t h = draw_by_case();
    if (!std::getenv("TULLE_SIM_ORDER"))
        config.order = std::array{simt::Order::ascending, simt::Order::descending, simt::Order::random}[below(h, 3)];
    if (!std::getenv("TULLE_SIM_RESIDENT")) config.resident = std::array{1u, 2u, 4u}[below(hash_of(h), 3)];
    if (!std::getenv("TULLE_SIM_MULTIPROCESSORS"))
        config.multiprocessors = std::array{2u, 4u}[below(hash_of(h, 1), 2)];  // one alone has no clusters
    simt::configure(config);
}

// As many blocks at once as there are multiprocessors: what kernels need whose blocks wait for each other without
// tickets.
inline bool runs_all_blocks() { return simt::config().resident >= simt::config().multiprocessors; }

// AddressSanitizer looks at a case on the CPU once: with many threads or with one.
inline bool is_turn_of(const std::string& backend)
{
    return !simt::under_asan || (below(draw_by_case(backend.size()), 2) == 0) == (backend == "cpu");
}
#else
inline void draw_schedule() {}
inline bool is_turn_of(const std::string&) { return true; }
inline bool runs_all_blocks() { return true; }
#endif

}  // namespace tulle::test
