// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Numbers that are their own flags between blocks: a word holds `sentinel`, a NaN no computation here ever publishes,
// until somebody publishes the number. One relaxed store and one relaxed load make a hop; there is no second location,
// so nothing needs an order.
//
//     waiting:     Word word = load_relaxed(from);  while (word == sentinel) …;  number(word)
//     publishing:  store_relaxed(to, word_of(value))  // a user's NaN with the bits of `sentinel` becomes the ordinary
//                                                     // one
//
// Words in a block's own shared memory, between its warps: load_shared, store_shared; in that of a cluster's blocks:
// cluster.cuh.
#pragma once

#include <type_traits>

#include "device/cuda/kernel.cuh"

namespace tulle::inline TULLE_ABI {

template <class V>
using Word = std::conditional_t<sizeof(V) == 8, unsigned long long, unsigned>;

template <class V>
inline constexpr Word<V> sentinel = ~Word<V>{0};  // what memset(0xff) leaves behind
template <class V>
inline constexpr Word<V> ordinary_nan = sizeof(V) == 8 ? static_cast<Word<V>>(0x7ff8000000000000u)
                                                       : static_cast<Word<V>>(0x7fc00000u);

template <class V>
__device__ inline V number(Word<V> word)
{
    return __builtin_bit_cast(V, word);
}

template <class V>
__device__ inline Word<V> word_of(V value)
{
    const auto word = __builtin_bit_cast(Word<V>, value);
    return word == sentinel<V> ? ordinary_nan<V> : word;
}

#ifdef TULLE_SIM
template <class T>
void store_relaxed(T* to, std::type_identity_t<T> value, const char* file = __builtin_FILE(),
                   int line = __builtin_LINE())
{
    simt::before_atomic(to, sizeof(T), {file, line});
    __atomic_store(to, &value, __ATOMIC_RELAXED);
    simt::after_atomic(to, 0, true);
}

template <class T>
T load_shared(const T* from, const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    return load_relaxed(from, file, line);
}
template <class T>
void store_shared(T* to, std::type_identity_t<T> value, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE())
{
    store_relaxed(to, value, file, line);
}
#else
template <class T>
__device__ inline void store_relaxed(T* to, std::type_identity_t<T> value)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8);
    if constexpr (sizeof(T) == 4)
        asm volatile("st.relaxed.gpu.global.b32 [%0], %1;" ::"l"(to), "r"(__builtin_bit_cast(std::uint32_t, value))
                     : "memory");
    else
        asm volatile("st.relaxed.gpu.global.b64 [%0], %1;" ::"l"(to), "l"(__builtin_bit_cast(std::uint64_t, value))
                     : "memory");
}

__device__ inline unsigned shared_address(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }

template <class T>
__device__ inline T load_shared(const T* from)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8);
    if constexpr (sizeof(T) == 4) {
        std::uint32_t bits;
        asm volatile("ld.relaxed.cta.shared.b32 %0, [%1];" : "=r"(bits) : "r"(shared_address(from)) : "memory");
        return __builtin_bit_cast(T, bits);
    } else {
        std::uint64_t bits;
        asm volatile("ld.relaxed.cta.shared.b64 %0, [%1];" : "=l"(bits) : "r"(shared_address(from)) : "memory");
        return __builtin_bit_cast(T, bits);
    }
}

template <class T>
__device__ inline void store_shared(T* to, std::type_identity_t<T> value)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8);
    if constexpr (sizeof(T) == 4)
        asm volatile("st.relaxed.cta.shared.b32 [%0], %1;" ::"r"(shared_address(to)),
                     "r"(__builtin_bit_cast(std::uint32_t, value))
                     : "memory");
    else
        asm volatile("st.relaxed.cta.shared.b64 [%0], %1;" ::"r"(shared_address(to)),
                     "l"(__builtin_bit_cast(std::uint64_t, value))
                     : "memory");
}
#endif

}  // namespace tulle::inline TULLE_ABI
