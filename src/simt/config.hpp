// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// How the simulated GPUs behave. Taken from the environment when the program starts; a test may set it between runs.
//
//     TULLE_SIM_SEED=17           who runs next, what uninitialised memory holds, which stream goes first
//     TULLE_SIM_ORDER=descending  blocks start ascending, descending or in random order (the default)
//     TULLE_SIM_RESIDENT=2        blocks of a kernel that are on the GPU at once; the others wait until one has ended
//     TULLE_SIM_MULTIPROCESSORS=1 what a device says it has; kernels that size their grid by it go round more often
//     with fewer
//     TULLE_SIM_DEVICES=7         virtual devices
//     TULLE_SIM_BYTES=64MiB       memory of each
//     TULLE_SIM_COMPUTE=80        their compute capability, 90 if nothing is said: launches with more shared memory or
//                                 larger clusters than it has fail
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tulle/api.hpp"

namespace tulle::inline TULLE_ABI::simt {

enum class Policy { random, first, last };           // which of the threads that could run does
enum class Order { ascending, descending, random };  // of the blocks of a kernel

struct Config {
    std::uint64_t seed = 1;
    Policy policy = Policy::random;
    Order order = Order::random;
    unsigned resident = 4;
    unsigned multiprocessors = 4;
    int devices = 4;
    std::size_t bytes = std::size_t{1} << 30;  // per device
    int compute = 90;                          // compute capability
    unsigned switch_chance = 32;               // of 256: another thread goes first at an atomic operation
    std::uint64_t patience = 1u << 20;         // polls and failed atomics without any change until it is a livelock
    std::uint64_t max_switches = 400'000'000;  // of one kernel
};

Config config_from_environment();  // ValueError names a variable that makes no sense
TULLE_API const Config& config();

// Takes effect at once: chance starts again from the seed, and streams and launches are counted from 0, so that the
// same calls give the same run. Devices that have memory in use stay.
TULLE_API void configure(const Config& config);

// What to set in the environment to see this run again.
TULLE_API std::string replay(const Config& config);

// Why the last call of this host thread returned an error.
TULLE_API std::string last_fault();

}  // namespace tulle::inline TULLE_ABI::simt
