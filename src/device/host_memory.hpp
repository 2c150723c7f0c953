// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// How much host memory this process can still get, and large blocks that are refused before the kernel's OOM killer
// acts.
//
// Linux hands out memory that it may not have: a block takes nothing until it is touched. A large block is refused here
// if it exceeds the least of
//
//     MemAvailable + SwapFree             of /proc/meminfo: free memory, caches that can be dropped, and swap
//     memory.max - memory.current         of cgroup v2 at every level, file caches not counted; the same of cgroup v1
//     RLIMIT_AS, RLIMIT_DATA              less what the process has mapped
//
// The first two do not know of blocks that have not been touched yet, so what tulle holds of those is subtracted. A
// small part is left to others.
#pragma once

#include <cstddef>
#include <string>

#include "tulle/api.hpp"

namespace tulle::inline TULLE_ABI::host {

// Reading the limits takes about 50 microseconds; to touch a block of this size takes at least a hundred times as long.
// Smaller ones are looked at together, once they add up to as much.
inline constexpr std::size_t large_block = std::size_t{64} << 20;

struct Room {
    std::size_t bytes;  // that can be allocated now
    std::string limit;  // what bounds them, for messages
};

// What is available now. Blocks of ours that are not touched yet are taken off.
TULLE_API Room available();

// OutOfMemory, with both numbers, if so many bytes are not available. `what` begins the sentence: "C", "host memory".
TULLE_API void require_room(const std::string& what, std::size_t bytes);

// Aligned memory, or null where the system gives none although it is available. OutOfMemory as above.
void* allocate(std::size_t bytes, std::size_t alignment);
void release(void* data, std::size_t bytes) noexcept;

// For tests: /proc/meminfo, /proc/self/cgroup and /sys/fs/cgroup are read below this folder instead; empty: those of
// the machine.
void read_limits_below(const std::string& folder);

}  // namespace tulle::inline TULLE_ABI::host
