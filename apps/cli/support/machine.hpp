// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The machine the tool runs on: what the system says of it, and how fast it reads memory.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/math.hpp"
#include "device/host_memory.hpp"
#include "tulle/context.hpp"
#include "tulle/text.hpp"

namespace tulle::cli {

struct Machine {
    std::string cpu;  // model
    int cores = 0, hardware_threads = 0;
    int usable_threads = 0;                   // by this process: affinity, OMP_NUM_THREADS
    std::size_t memory = 0, free_memory = 0;  // bytes
    std::size_t memory_limit = 0;             // of a container; 0: none
    int numa_nodes = 1;
};

Machine inspect_machine();

// An array of the host. std::vector alone does not look at what is available: a system that overcommits ends the
// program later, when the array is filled.
template <class V>
std::vector<V> host_array(offset_t rows, offset_t columns, const std::string& name)
{
    const offset_t size = checked_product(rows, columns, name);
    host::require_room(concat("host memory for ", name),
                       static_cast<std::size_t>(checked_product(size, sizeof(V), name)));
    return std::vector<V>(static_cast<std::size_t>(size));
}

// OutOfMemory where the budget of a context leaves less than this on the host: for arrays that it does not count,
// before they are made.
void require_budget(const Context& host, offset_t entries, offset_t entry_bytes, const std::string& name);

// Bytes per second with which all threads of a context read an array much larger than the caches: the best of a few
// sums.
double read_bandwidth(const Context& ctx, std::size_t bytes = std::size_t{512} << 20);

// Bytes per second that the device of a context reads and writes when it copies an array: the best of a few copies.
double copy_bandwidth(const Context& ctx);

}  // namespace tulle::cli
