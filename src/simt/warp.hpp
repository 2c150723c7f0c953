// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Barriers, shuffles, votes, matches and reductions as a kernel writes them. Each knows the line it was called from.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "simt/launch.hpp"

#ifdef __clang__  // whatever these functions touch is the lane's own: sanitizers need not be told of it
#pragma clang attribute push(__attribute__((no_sanitize("thread", "address", "undefined"))), apply_to = function)
#endif

namespace tulle::inline TULLE_ABI::simt {

template <class T>
std::uint64_t to_bits(T value)
{
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8);
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    return bits;
}

// What lanes do together is done in warp.cpp, once for all types: there it is optimised, and no sanitizer watches lanes
// that look at each other's values.
std::uint64_t shuffle_bits(unsigned mask, std::uint64_t bits, int source, const Where& at);
unsigned ballot(unsigned mask, bool holds, const Where& at);
unsigned match_bits(unsigned mask, std::uint64_t bits, const Where& at);
template <class T>
T reduce_add(unsigned mask, T value, const Where& at);  // T: int, unsigned
template <class T>
T reduce_min(unsigned mask, T value, const Where& at);
template <class T>
T reduce_max(unsigned mask, T value, const Where& at);
unsigned reduce_and(unsigned mask, unsigned value, const Where& at);
unsigned reduce_or(unsigned mask, unsigned value, const Where& at);
unsigned reduce_xor(unsigned mask, unsigned value, const Where& at);

template <class T>
T shuffle(unsigned mask, T value, int source, const Where& at)
{
    const std::uint64_t bits = shuffle_bits(mask, to_bits(value), source, at);
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

// A lane outside its own group of `width` lanes is never read: the lane keeps its value instead.
inline int within(int lane, int source, int width)
{
    return source / width == lane / width && source >= 0 ? source : lane;
}

}  // namespace tulle::inline TULLE_ABI::simt

// ---- barriers ----

inline void __syncthreads(const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    tulle::simt::meet_at_barrier(false, {file, line});
}

inline int __syncthreads_count(int predicate, const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    return tulle::simt::meet_at_barrier(predicate != 0, {file, line});
}

inline int __syncthreads_or(int predicate, const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    return tulle::simt::meet_at_barrier(predicate != 0, {file, line}) != 0;
}

inline int __syncthreads_and(int predicate, const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    return tulle::simt::meet_at_barrier(predicate == 0, {file, line}) == 0;
}

inline void __syncwarp(unsigned mask = 0xffffffffu, const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    tulle::simt::meet_in_warp(mask, nullptr, nullptr, {file, line});
}

// ---- shuffles ----

template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32, const char* file = __builtin_FILE(),
              int line = __builtin_LINE())
{
    const int first = tulle::simt::current_lane() / width * width;
    return tulle::simt::shuffle(mask, value, first + (source & (width - 1)), {file, line});
}

template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, const char* file = __builtin_FILE(),
                 int line = __builtin_LINE())
{
    const int lane = tulle::simt::current_lane();
    return tulle::simt::shuffle(mask, value, tulle::simt::within(lane, lane - static_cast<int>(delta), width),
                                {file, line});
}

template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, const char* file = __builtin_FILE(),
                   int line = __builtin_LINE())
{
    const int lane = tulle::simt::current_lane();
    return tulle::simt::shuffle(mask, value, tulle::simt::within(lane, lane + static_cast<int>(delta), width),
                                {file, line});
}

// A lane of an earlier group may be read, one of a later group not, as on the GPU.
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int distance, int width = 32, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE())
{
    const int lane = tulle::simt::current_lane(), source = lane ^ distance;
    return tulle::simt::shuffle(mask, value, source / width > lane / width || source >= 32 ? lane : source,
                                {file, line});
}

// ---- votes and matches ----

inline unsigned __ballot_sync(unsigned mask, int predicate, const char* file = __builtin_FILE(),
                              int line = __builtin_LINE())
{
    return tulle::simt::ballot(mask, predicate != 0, {file, line});
}

inline int __any_sync(unsigned mask, int predicate, const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    return __ballot_sync(mask, predicate, file, line) != 0;
}

inline int __all_sync(unsigned mask, int predicate, const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    return __ballot_sync(mask, predicate == 0, file, line) == 0;
}

template <class T>
unsigned __match_any_sync(unsigned mask, T value, const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8);
    return tulle::simt::match_bits(mask, tulle::simt::to_bits(value), {file, line});
}

inline unsigned __activemask() { return tulle::simt::active_lanes(); }

// ---- reductions of 32-bit integers ----

inline int __reduce_add_sync(unsigned mask, int value, const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    return tulle::simt::reduce_add(mask, value, {file, line});
}
inline unsigned __reduce_add_sync(unsigned mask, unsigned value, const char* file = __builtin_FILE(),
                                  int line = __builtin_LINE())
{
    return tulle::simt::reduce_add(mask, value, {file, line});
}
inline int __reduce_min_sync(unsigned mask, int value, const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    return tulle::simt::reduce_min(mask, value, {file, line});
}
inline unsigned __reduce_min_sync(unsigned mask, unsigned value, const char* file = __builtin_FILE(),
                                  int line = __builtin_LINE())
{
    return tulle::simt::reduce_min(mask, value, {file, line});
}
inline int __reduce_max_sync(unsigned mask, int value, const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    return tulle::simt::reduce_max(mask, value, {file, line});
}
inline unsigned __reduce_max_sync(unsigned mask, unsigned value, const char* file = __builtin_FILE(),
                                  int line = __builtin_LINE())
{
    return tulle::simt::reduce_max(mask, value, {file, line});
}
inline unsigned __reduce_and_sync(unsigned mask, unsigned value, const char* file = __builtin_FILE(),
                                  int line = __builtin_LINE())
{
    return tulle::simt::reduce_and(mask, value, {file, line});
}
inline unsigned __reduce_or_sync(unsigned mask, unsigned value, const char* file = __builtin_FILE(),
                                 int line = __builtin_LINE())
{
    return tulle::simt::reduce_or(mask, value, {file, line});
}
inline unsigned __reduce_xor_sync(unsigned mask, unsigned value, const char* file = __builtin_FILE(),
                                  int line = __builtin_LINE())
{
    return tulle::simt::reduce_xor(mask, value, {file, line});
}

// ---- bits ----

inline int __popc(unsigned x) { return std::popcount(x); }
inline int __popcll(unsigned long long x) { return std::popcount(x); }
inline int __clz(int x) { return std::countl_zero(static_cast<unsigned>(x)); }
inline int __clzll(long long x) { return std::countl_zero(static_cast<unsigned long long>(x)); }
inline int __ffs(int x) { return x == 0 ? 0 : std::countr_zero(static_cast<unsigned>(x)) + 1; }
inline int __ffsll(long long x) { return x == 0 ? 0 : std::countr_zero(static_cast<unsigned long long>(x)) + 1; }

#ifdef __clang__
#pragma clang attribute pop
#endif

// Writes where the kernel says, so it is watched.
template <class T>
unsigned __match_all_sync(unsigned mask, T value, int* all_equal, const char* file = __builtin_FILE(),
                          int line = __builtin_LINE())
{
    const unsigned equal = __match_any_sync(mask, value, file, line);
    const unsigned present = __ballot_sync(mask, 1, file, line);
    *all_equal = equal == present;
    return *all_equal ? mask : 0u;
}
