// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What the figures were measured on, and with which state of the code.
#pragma once

#include <cstddef>
#include <string>

#include "tulle/context.hpp"

namespace tulle::bench {

std::string device_name(const Context& ctx);  // "Intel(R) Xeon(R) Processor, 2 threads", "NVIDIA H200"
std::size_t last_level_cache_bytes();         // of the CPU, as the system says; 32 MiB where it does not
double load();         // processes that want a CPU now, averaged over a minute; this program counts too
std::string commit();  // TULLE_COMMIT, or what git said when the program was built
std::string today();   // "2026-11-15T03:10:00Z"

}  // namespace tulle::bench
