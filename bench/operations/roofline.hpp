// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The machine's own limits: how fast memory can be read and copied. They are contenders like any other, so that the
// share of the bandwidth reached is a ratio of times taken in the same rounds, from the same caches.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/harness/contender.hpp"
#include "bench/harness/measure.hpp"
#include "tulle/context.hpp"

namespace tulle::bench {

Contender reading(const Context& ctx, std::size_t bytes);  // reads an array of that many bytes, once per run
Contender copying(const Context& ctx, std::size_t bytes);  // reads one half and writes the other

struct Limit {
    std::string what;                 // "read 1.2 GiB"
    std::string where;                // "cpu:2"
    double gigabytes_per_second = 0;  // 0 for a time without bytes
    double seconds = 0;
};

// An array that no cache holds.
std::size_t beyond_caches(const Context& ctx);

// Read bandwidth of memory, by as many samples as wish.repeat asks for, at most ten.
double read_bandwidth(const Context& ctx, const Wish& wish);

// What `tulle-bench roofline` shows: memory read and copied, the last cache read, and the cost of a launch on a GPU.
std::vector<Limit> limits(const Context& ctx, const Wish& wish);

}  // namespace tulle::bench
