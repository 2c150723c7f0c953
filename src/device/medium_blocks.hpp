// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Host memory in blocks of medium size that share huge pages.
//
// A page of 4 KiB that is touched for the first time costs the kernel about a microsecond, one of 2 MiB about 40. The
// setup of a small solver makes a few dozen arrays of a few hundred KiB, each touched once: as blocks of their own they
// cost a third of it. Here they lie side by side in chunks of four huge pages, and what one array leaves, touched
// already, is given to the next. A chunk in which nothing is left goes back to the system, but for one.
#pragma once

#include <cstddef>

#include "tulle/api.hpp"

namespace tulle::inline TULLE_ABI::host {

inline constexpr std::size_t least_medium = std::size_t{32} << 10, most_medium = (std::size_t{4} << 20) - 1;

// Not under AddressSanitizer, which would not see the ends of arrays.
bool is_medium(std::size_t bytes);

// Memory aligned to cache lines, or null. Any number of threads.
void* take_medium(std::size_t bytes);
void give_medium(void* data, std::size_t bytes) noexcept;

// For tests: bytes of all chunks.
TULLE_API std::size_t bytes_of_chunks();

}  // namespace tulle::inline TULLE_ABI::host
