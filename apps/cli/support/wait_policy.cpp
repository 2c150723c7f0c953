// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "apps/cli/support/wait_policy.hpp"

#include <unistd.h>

#include <cstdlib>
#include <initializer_list>

namespace tulle::cli {
namespace {

// About 0.1 ms: longer than what is between two parallel regions of a plan, shorter than a time slice.
#if defined(__x86_64__)
constexpr const char* spins = "2000";
#else
constexpr const char* spins = "20000";
#endif

// A thread that slept is woken at a price, which is lost where nobody else wants the cores.
bool is_busy()
{
    double load = 0;  // of the last minute
    return ::getloadavg(&load, 1) == 1 && load >= 0.5 * static_cast<double>(::sysconf(_SC_NPROCESSORS_ONLN));
}

}  // namespace

void spin_briefly_if_busy(char** words)
{
    if (!is_busy()) return;
    for (const char* name : {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"})
        if (std::getenv(name)) return;
    if (::setenv("GOMP_SPINCOUNT", spins, 0) == 0) ::execv("/proc/self/exe", words);
}

}  // namespace tulle::cli
