// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "device/calibrate.hpp"

#include <time.h>

#include <cstdlib>
#include <string_view>

#include "tulle/trace.hpp"

namespace tulle::inline TULLE_ABI {

bool may_calibrate()
{
    const char* wish = std::getenv("TULLE_CALIBRATE");
    return wish == nullptr || std::string_view(wish) != "off";
}

double thread_seconds()
{
#if defined(CLOCK_THREAD_CPUTIME_ID)
    timespec time{};
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0)
        return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
#endif
    return trace::now();
}

}  // namespace tulle::inline TULLE_ABI
