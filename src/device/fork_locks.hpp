// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Mutexes of the whole process that a fork() finds free.
//
// A process made by fork() has only the thread that called it. A mutex that another thread held at that moment would
// stay locked there for ever. fork() therefore waits for these, and both processes go on with all of them free.
#pragma once

#include <mutex>

#include "tulle/api.hpp"

namespace tulle::inline TULLE_ABI::host {

// In the order in which a thread may lock them.
enum class Guards { costs, trials, counts, blocks, chunks };

std::mutex& fork_safe_mutex(Guards what);

}  // namespace tulle::inline TULLE_ABI::host
