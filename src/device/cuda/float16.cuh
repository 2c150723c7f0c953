// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Numbers as they are stored and as they are computed with, in one instruction where a GPU has one; and neighbours at
// once.
#pragma once

#include "device/cuda/mma.cuh"
#include "tulle/float16.hpp"

namespace tulle::inline TULLE_ABI {

__device__ inline double widen(double value) { return value; }
__device__ inline float widen(float value) { return value; }
__device__ inline float widen(Bfloat16 value) { return static_cast<float>(value); }
__device__ inline float widen(Float16 value)
{
#ifdef TULLE_SIM
    return static_cast<float>(value);
#else
    float wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(value.bits));
    return wide;
#endif
}

// To nearest, ties to even.
template <class C>
struct Narrow {
    __device__ static C from(C value) { return value; }
};
template <>
struct Narrow<Float16> {
    __device__ static Float16 from(float value)
    {
        Float16 narrow;
        narrow.bits = static_cast<std::uint16_t>(pack<Half::f16>(value, 0.0f));
        return narrow;
    }
};
template <>
struct Narrow<Bfloat16> {
    __device__ static Bfloat16 from(float value)
    {
        Bfloat16 narrow;
        narrow.bits = static_cast<std::uint16_t>(pack<Half::bf16>(value, 0.0f));
        return narrow;
    }
};

// Neighbours that are loaded at once where their address allows; doubles in two halves.
inline constexpr int run_length = 4;

template <class V>
struct alignas(sizeof(V) == 2 ? 8 : 16) Run {
    V value[run_length];
};

template <class V>
__device__ inline bool can_load_runs(const V* from, offset_t step)
{
    return reinterpret_cast<std::uintptr_t>(from) % alignof(Run<V>) == 0 &&
           step * static_cast<offset_t>(sizeof(V)) % static_cast<offset_t>(alignof(Run<V>)) == 0;
}

}  // namespace tulle::inline TULLE_ABI
