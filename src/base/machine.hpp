// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The library is compiled for any x86-64; the machine is asked when running for its wider vectors.
#pragma once

#include "tulle/api.hpp"

#if defined(__x86_64__)

namespace tulle::inline TULLE_ABI::simd {

enum class Machine { plain, avx2, avx512 };

inline Machine ask_machine()
{
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("fma"))
        return Machine::avx512;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? Machine::avx2 : Machine::plain;
}

inline Machine machine()
{
    static const Machine found = ask_machine();
    return found;
}

}  // namespace tulle::inline TULLE_ABI::simd

#endif
