// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "device/fork_locks.hpp"

#include <pthread.h>

#include <array>
#include <cstddef>
#include <mutex>

namespace tulle::inline TULLE_ABI::host {
namespace {

std::array<std::mutex, 5> all_mutexes;  // by Guards

void lock_all()
{
    for (std::mutex& m : all_mutexes) m.lock();
}

void unlock_all()
{
    for (std::size_t i = all_mutexes.size(); i-- > 0;) all_mutexes[i].unlock();
}

[[maybe_unused]] const int before_forks = pthread_atfork(lock_all, unlock_all, unlock_all);

}  // namespace

std::mutex& fork_safe_mutex(Guards what) { return all_mutexes[static_cast<std::size_t>(what)]; }

}  // namespace tulle::inline TULLE_ABI::host
