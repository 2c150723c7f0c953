// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Everything a kernel needs, for the simulated GPU: CUDA's words with their meaning, shared memory, flags between
// blocks, and enqueue(). Included by device/cuda/kernel.cuh in place of CUDA.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "simt/arguments.hpp"
#include "simt/atomics.hpp"
#include "simt/cuda_runtime.hpp"
#include "simt/launch.hpp"
#include "simt/warp.hpp"

// Words that mean nothing here. (__restrict__ is the compilers' own; __noinline__ would break the standard library's
// attributes.)
#define __global__
#define __device__
#define __host__
#define __constant__
#define __forceinline__ inline
#define __launch_bounds__(...)

// The thread that runs; the scheduler sets them at every switch.
extern uint3 threadIdx;
extern uint3 blockIdx;
extern dim3 blockDim;
extern dim3 gridDim;
inline constexpr int warpSize = 32;

// A reference to a real array, so that the compiler knows its bounds too.
#define TULLE_SHARED(T, name, count)   \
    static const char name##_site = 0; \
    T(&name)                           \
    [count] = *static_cast<T(*)[count]>(tulle::simt::shared_array(&name##_site, sizeof(T) * (count), alignof(T)))
#define TULLE_DYNAMIC_SHARED(T, name) T* name = static_cast<T*>(tulle::simt::dynamic_shared())

// In CUDA these are global, also for two kinds of numbers.
using std::max;
using std::min;

template <class A, class B>
requires std::is_arithmetic_v<A> && std::is_arithmetic_v<B> &&(!std::is_same_v<A, B>)constexpr auto max(A a, B b)
{
    using C = std::common_type_t<A, B>;
    return std::max(static_cast<C>(a), static_cast<C>(b));
}

template <class A, class B>
requires std::is_arithmetic_v<A> && std::is_arithmetic_v<B> &&(!std::is_same_v<A, B>)constexpr auto min(A a, B b)
{
    using C = std::common_type_t<A, B>;
    return std::min(static_cast<C>(a), static_cast<C>(b));
}

namespace tulle::inline TULLE_ABI {

inline void wait_for_earlier_kernels(const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    simt::wait_for_earlier_kernels({file, line});
}

}  // namespace tulle::inline TULLE_ABI

namespace tulle::inline TULLE_ABI::simt {

// Every thread takes its own copy of the arguments: nobody's memory, and the launch's doing.
template <class... P, std::size_t... I>
__attribute__((no_sanitize("thread", "address", "undefined"))) void call_kernel(void (*kernel)(P...),
                                                                                const void* const* value,
                                                                                std::index_sequence<I...>)
{
    kernel(*static_cast<const P*>(value[I])...);
}

// Puts a kernel on a stream; it runs when somebody waits for it. Arguments are copied now.
template <class... P, class... A>
cudaError_t enqueue(CUstream_st* stream, const Grid& grid, void (*kernel)(P...), A&&... args)
{
    return [&](const P&... values) {
        const Argument arguments[] = {argument_of(values)..., {}};
        const auto run = [](const void* any, const void* const* value) {
            call_kernel(reinterpret_cast<void (*)(P...)>(const_cast<void*>(any)), value,
                        std::index_sequence_for<P...>());
        };
        return enqueue_call(stream, grid, {reinterpret_cast<const void*>(kernel), run, arguments, sizeof...(P)});
    }(static_cast<P>(std::forward<A>(args))...);
}

}  // namespace tulle::inline TULLE_ABI::simt
