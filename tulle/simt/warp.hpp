// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Barriers, shuffles, votes, matches and reductions as a kernel writes them. Each knows the line it was called from.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "tulle/simt/launch.hpp"

namespace tulle::simt {

template <class T>
std::uint64_t to_bits(T value)
{
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8);
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    return bits;
}

// One lane's part of a shuffle.
template <class T>
struct Shuffle {
    T value;
    int source;
    T result;
};

template <class T>
T shuffle(unsigned mask, T value, int source, const Where& at)
{
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8);
    Shuffle<T> mine{value, source, value};
    meet_in_warp(
        mask, &mine,
        [](const Exchange& all) {
            for (int lane = 0; lane < 32; ++lane) {
                if (!all.has(lane)) continue;
                auto& part = all.at<Shuffle<T>>(lane);
                if (!all.has(part.source))
                    return "lane " + std::to_string(lane) + " shuffles from lane " + std::to_string(part.source) + ", which has exited or is not in the mask";
                part.result = all.at<Shuffle<T>>(part.source).value;
            }
            return std::string();
        },
        at);
    return mine.result;
}

// A lane outside its own group of `width` lanes is never read: the lane keeps its value instead.
inline int within(int lane, int source, int width) { return source / width == lane / width && source >= 0 ? source : lane; }

// The same function of all lanes' values, and for some of the lane's own.
template <class T, class R, R (*function)(const Exchange&, int lane)>
R reduce_lanes(unsigned mask, T value, const Where& at)
{
    struct Part {
        T value;
        R result;
    };
    Part mine{value, R{}};
    meet_in_warp(
        mask, &mine,
        [](const Exchange& all) {
            R results[32];
            for (int lane = 0; lane < 32; ++lane)
                if (all.has(lane)) results[lane] = function(all, lane);
            for (int lane = 0; lane < 32; ++lane)
                if (all.has(lane)) all.at<Part>(lane).result = results[lane];
            return std::string();
        },
        at);
    return mine.result;
}

// A part starts with its value.
template <class T>
const T& value_of(const Exchange& all, int lane) { return all.at<T>(lane); }

template <class T, class F>
unsigned lanes_where(const Exchange& all, F&& holds)
{
    unsigned lanes = 0;
    for (int lane = 0; lane < 32; ++lane)
        if (all.has(lane) && holds(value_of<T>(all, lane))) lanes |= 1u << lane;
    return lanes;
}

inline unsigned ballot(const Exchange& all, int) { return lanes_where<bool>(all, [](bool holds) { return holds; }); }

template <class T>
unsigned match(const Exchange& all, int lane)
{
    const std::uint64_t wanted = to_bits(value_of<T>(all, lane));
    return lanes_where<T>(all, [&](const T& value) { return to_bits(value) == wanted; });
}

template <class T, class F>
T fold(const Exchange& all, F&& combine)
{
    T total{};
    bool first = true;
    for (int lane = 0; lane < 32; ++lane)
        if (all.has(lane)) {
            total = first ? value_of<T>(all, lane) : combine(total, value_of<T>(all, lane));
            first = false;
        }
    return total;
}

template <class T>
T fold_add(const Exchange& all, int)
{
    using U = std::make_unsigned_t<T>;    // wraps as on the GPU
    return static_cast<T>(fold<T>(all, [](T a, T b) { return static_cast<T>(static_cast<U>(a) + static_cast<U>(b)); }));
}
template <class T>
T fold_min(const Exchange& all, int) { return fold<T>(all, [](T a, T b) { return b < a ? b : a; }); }
template <class T>
T fold_max(const Exchange& all, int) { return fold<T>(all, [](T a, T b) { return a < b ? b : a; }); }
template <class T>
T fold_and(const Exchange& all, int) { return fold<T>(all, [](T a, T b) { return a & b; }); }
template <class T>
T fold_or(const Exchange& all, int) { return fold<T>(all, [](T a, T b) { return a | b; }); }
template <class T>
T fold_xor(const Exchange& all, int) { return fold<T>(all, [](T a, T b) { return a ^ b; }); }

}  // namespace tulle::simt

// ---- barriers ----

inline void __syncthreads(const char* file = __builtin_FILE(), int line = __builtin_LINE()) { tulle::simt::meet_at_barrier(false, {file, line}); }

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
T __shfl_sync(unsigned mask, T value, int source, int width = 32, const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    const int first = tulle::simt::current_lane() / width * width;
    return tulle::simt::shuffle(mask, value, first + (source & (width - 1)), {file, line});
}

template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    const int lane = tulle::simt::current_lane();
    return tulle::simt::shuffle(mask, value, tulle::simt::within(lane, lane - static_cast<int>(delta), width), {file, line});
}

template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    const int lane = tulle::simt::current_lane();
    return tulle::simt::shuffle(mask, value, tulle::simt::within(lane, lane + static_cast<int>(delta), width), {file, line});
}

// A lane of an earlier group may be read, one of a later group not, as on the GPU.
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int distance, int width = 32, const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    const int lane = tulle::simt::current_lane(), source = lane ^ distance;
    return tulle::simt::shuffle(mask, value, source / width > lane / width || source >= 32 ? lane : source, {file, line});
}

// ---- votes and matches ----

inline unsigned __ballot_sync(unsigned mask, int predicate, const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    return tulle::simt::reduce_lanes<bool, unsigned, tulle::simt::ballot>(mask, predicate != 0, {file, line});
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
    return tulle::simt::reduce_lanes<T, unsigned, tulle::simt::match<T>>(mask, value, {file, line});
}

template <class T>
unsigned __match_all_sync(unsigned mask, T value, int* all_equal, const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    const unsigned equal = __match_any_sync(mask, value, file, line);
    const unsigned present = __ballot_sync(mask, 1, file, line);
    *all_equal = equal == present;
    return *all_equal ? mask : 0u;
}

inline unsigned __activemask() { return tulle::simt::active_lanes(); }

// ---- reductions of 32-bit integers ----

inline int __reduce_add_sync(unsigned mask, int value, const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    return tulle::simt::reduce_lanes<int, int, tulle::simt::fold_add<int>>(mask, value, {file, line});
}
inline unsigned __reduce_add_sync(unsigned mask, unsigned value, const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    return tulle::simt::reduce_lanes<unsigned, unsigned, tulle::simt::fold_add<unsigned>>(mask, value, {file, line});
}
inline int __reduce_min_sync(unsigned mask, int value, const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    return tulle::simt::reduce_lanes<int, int, tulle::simt::fold_min<int>>(mask, value, {file, line});
}
inline unsigned __reduce_min_sync(unsigned mask, unsigned value, const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    return tulle::simt::reduce_lanes<unsigned, unsigned, tulle::simt::fold_min<unsigned>>(mask, value, {file, line});
}
inline int __reduce_max_sync(unsigned mask, int value, const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    return tulle::simt::reduce_lanes<int, int, tulle::simt::fold_max<int>>(mask, value, {file, line});
}
inline unsigned __reduce_max_sync(unsigned mask, unsigned value, const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    return tulle::simt::reduce_lanes<unsigned, unsigned, tulle::simt::fold_max<unsigned>>(mask, value, {file, line});
}
inline unsigned __reduce_and_sync(unsigned mask, unsigned value, const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    return tulle::simt::reduce_lanes<unsigned, unsigned, tulle::simt::fold_and<unsigned>>(mask, value, {file, line});
}
inline unsigned __reduce_or_sync(unsigned mask, unsigned value, const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    return tulle::simt::reduce_lanes<unsigned, unsigned, tulle::simt::fold_or<unsigned>>(mask, value, {file, line});
}
inline unsigned __reduce_xor_sync(unsigned mask, unsigned value, const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    return tulle::simt::reduce_lanes<unsigned, unsigned, tulle::simt::fold_xor<unsigned>>(mask, value, {file, line});
}

// ---- bits ----

inline int __popc(unsigned x) { return std::popcount(x); }
inline int __popcll(unsigned long long x) { return std::popcount(x); }
inline int __clz(int x) { return std::countl_zero(static_cast<unsigned>(x)); }
inline int __clzll(long long x) { return std::countl_zero(static_cast<unsigned long long>(x)); }
inline int __ffs(int x) { return x == 0 ? 0 : std::countr_zero(static_cast<unsigned>(x)) + 1; }
inline int __ffsll(long long x) { return x == 0 ? 0 : std::countr_zero(static_cast<unsigned long long>(x)) + 1; }
