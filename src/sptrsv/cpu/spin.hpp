// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Waiting for another thread: polls, and lets others have the processor after a while.
#pragma once

#include <thread>

#include "tulle/api.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {

template <class Done>
void spin_until(const Done& done)
{
    constexpr int spins_before_yielding = 2000;
    for (int spins = 0; !done(); ++spins)
        if (spins > spins_before_yielding) std::this_thread::yield();
}

}  // namespace tulle::inline TULLE_ABI::sptrsv
