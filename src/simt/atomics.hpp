// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Atomic operations and flags as a kernel writes them. Any of them may let another thread go first; one that changes
// nothing, again and again, is how the simulator knows a thread that waits.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "simt/launch.hpp"
#include "simt/warp.hpp"

namespace tulle::inline TULLE_ABI::simt {

// What CUDA's atomics accept.
template <class T>
concept AtomicInteger = std::same_as<T, int> || std::same_as<T, unsigned> || std::same_as<T, unsigned long long>;
template <class T>
concept AtomicNumber = AtomicInteger<T> || std::same_as<T, float> || std::same_as<T, double>;
template <class T>
concept AtomicOrdered = AtomicInteger<T> || std::same_as<T, long long>;

template <class T, class F>
T update(T* address, F&& changed_from, const Where& at)
{
    before_atomic(address, sizeof(T), at);
    T old, changed;
    __atomic_load(address, &old, __ATOMIC_RELAXED);
    do changed = changed_from(old);
    while (!__atomic_compare_exchange(address, &old, &changed, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    after_atomic(address, to_bits(old), to_bits(old) != to_bits(changed));
    return old;
}

// Integers wrap.
template <class T>
T wrapping_add(T a, T b)
{
    if constexpr (std::is_integral_v<T>)
        return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) + static_cast<std::make_unsigned_t<T>>(b));
    else return a + b;
}

}  // namespace tulle::inline TULLE_ABI::simt

template <tulle::simt::AtomicNumber T>
T atomicAdd(T* address, std::type_identity_t<T> value, const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    return tulle::simt::update(address, [=](T old) { return tulle::simt::wrapping_add(old, value); }, {file, line});
}

template <class T>
requires std::same_as<T, int> || std::same_as<T, unsigned> T atomicSub(T* address, std::type_identity_t<T> value,
                                                                       const char* file = __builtin_FILE(),
                                                                       int line = __builtin_LINE())
{
    return tulle::simt::update(address,
                               [=](T old) {
                                   return static_cast<T>(static_cast<unsigned>(old) - static_cast<unsigned>(value));
                               },
                               {file, line});
}

template <tulle::simt::AtomicOrdered T>
T atomicMin(T* address, std::type_identity_t<T> value, const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    return tulle::simt::update(address, [=](T old) { return value < old ? value : old; }, {file, line});
}

template <tulle::simt::AtomicOrdered T>
T atomicMax(T* address, std::type_identity_t<T> value, const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    return tulle::simt::update(address, [=](T old) { return old < value ? value : old; }, {file, line});
}

template <tulle::simt::AtomicInteger T>
T atomicAnd(T* address, std::type_identity_t<T> value, const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    return tulle::simt::update(address, [=](T old) { return old & value; }, {file, line});
}

template <tulle::simt::AtomicInteger T>
T atomicOr(T* address, std::type_identity_t<T> value, const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    return tulle::simt::update(address, [=](T old) { return old | value; }, {file, line});
}

template <tulle::simt::AtomicInteger T>
T atomicXor(T* address, std::type_identity_t<T> value, const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    return tulle::simt::update(address, [=](T old) { return old ^ value; }, {file, line});
}

template <class T>
requires tulle::simt::AtomicInteger<T> || std::same_as<T, float> T atomicExch(T* address, std::type_identity_t<T> value,
                                                                              const char* file = __builtin_FILE(),
                                                                              int line = __builtin_LINE())
{
    return tulle::simt::update(address, [=](T) { return value; }, {file, line});
}

template <class T>
requires tulle::simt::AtomicInteger<T> || std::same_as<T, unsigned short> T
atomicCAS(T* address, std::type_identity_t<T> expected, std::type_identity_t<T> value,
          const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    return tulle::simt::update(address, [=](T old) { return old == expected ? value : old; }, {file, line});
}

// ---- loads, fences, patience ----

template <class T>
T __ldg(const T* from)
{
    return *from;
}

inline void __threadfence(const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    tulle::simt::before_atomic(nullptr, 1, {file, line});
}
inline void __threadfence_block(const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    __threadfence(file, line);
}
inline void __threadfence_system(const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    __threadfence(file, line);
}

inline void __nanosleep(unsigned, const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    tulle::simt::sleep_a_little({file, line});
}

namespace tulle::inline TULLE_ABI {

// Flags between blocks: what was written before store_release is seen after load_acquire has read the flag. 32 or 64
// bits.
template <class T>
T load_acquire(const T* from, const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8);
    T value;
    __atomic_load(const_cast<T*>(from), &value, __ATOMIC_ACQUIRE);
    simt::after_load(from, simt::to_bits(value), {file, line});
    return value;
}

template <class T>
T load_relaxed(const T* from, const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8);
    T value;
    __atomic_load(const_cast<T*>(from), &value, __ATOMIC_RELAXED);
    simt::after_load(from, simt::to_bits(value), {file, line});
    return value;
}

template <class T>
void store_release(T* to, std::type_identity_t<T> value, const char* file = __builtin_FILE(),
                   int line = __builtin_LINE())
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8);
    simt::before_atomic(to, sizeof(T), {file, line});
    __atomic_store(to, &value, __ATOMIC_RELEASE);
    simt::after_atomic(to, 0, true);
}

// Counts this thread in and tells how many came before it. The last to come sees what all others wrote before they
// came.
inline int arrive(int* counter, const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    simt::before_atomic(counter, sizeof(int), {file, line});
    const int before = __atomic_fetch_add(counter, 1, __ATOMIC_ACQ_REL);
    simt::after_atomic(counter, simt::to_bits(before), true);
    return before;
}

inline void named_barrier_sync(int number, int threads, const char* file = __builtin_FILE(),
                               int line = __builtin_LINE())
{
    simt::named_barrier_sync(number, threads, {file, line});
}

template <class T>
T load_streaming(const T* from)
{
    return *from;
}

}  // namespace tulle::inline TULLE_ABI
