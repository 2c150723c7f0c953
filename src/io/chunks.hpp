// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Large files in pieces, worked on by the queue's threads.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "tulle/context.hpp"
#include "tulle/memory.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::io {

// The text cut at line ends, about eight pieces for every thread, 4 KiB to 4 MiB each.
std::vector<std::string_view> cut_at_lines(const CpuQueue& q, std::string_view text);

// work(c) for c = 0 … n-1. What work throws is kept until all threads have stopped; then the failure of the lowest
// piece is thrown, so that the first fault of a file is the one reported, whatever the number of threads. The progress
// is told from the calling thread.
void for_each_chunk(const CpuQueue& q, offset_t n, const Progress& progress, const std::function<void(offset_t)>& work);

// A progress that tells another one about its part from `begin` to `end`; empty for an empty one.
Progress part_of(const Progress& whole, double begin, double end);

}  // namespace tulle::inline TULLE_ABI::io
