// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Vectors of a CPU by the compilers' vector extension: numbers side by side, loaded from any type of value. Functions
// are always inlined, so that they take the instructions of the function they are in ([[gnu::target]]).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "tulle/float16.hpp"

namespace tulle::inline TULLE_ABI::simd {

// `Count` numbers side by side; the compiler takes as many registers as it needs.
template <class S, int Count>
struct VectorOf {
    typedef S type __attribute__((vector_size(Count * sizeof(S))));
};
template <class S, int Count>
using Vector = typename VectorOf<S, Count>::type;

template <class To, class From>
[[gnu::always_inline]] inline To bits_as(const From& from)
{
    To to;
    std::memcpy(&to, &from, sizeof(To));
    return to;
}

// Numbers from memory, as those that are added up.
template <int Count>
[[gnu::always_inline]] inline Vector<double, Count> load(const double* from)
{
    Vector<double, Count> v;
    std::memcpy(&v, from, sizeof(v));
    return v;
}

template <int Count>
[[gnu::always_inline]] inline Vector<float, Count> load(const float* from)
{
    Vector<float, Count> v;
    std::memcpy(&v, from, sizeof(v));
    return v;
}

template <int Count>
[[gnu::always_inline]] inline Vector<std::int32_t, Count> load_halves(const void* from)
{
    Vector<std::uint16_t, Count> v;
    std::memcpy(&v, from, sizeof(v));
    return __builtin_convertvector(v, Vector<std::int32_t, Count>);
}

template <int Count>
[[gnu::always_inline]] inline Vector<float, Count> load(const Bfloat16* from)
{
    return bits_as<Vector<float, Count>>(load_halves<Count>(from) << 16);
}

// As detail::f16_value, without branches.
template <int Count>
[[gnu::always_inline]] inline Vector<float, Count> load(const Float16* from)
{
    using Ints = Vector<std::int32_t, Count>;
    const Ints half = load_halves<Count>(from), magnitude = half & 0x7fff;
    const Ints small = bits_as<Ints>(__builtin_convertvector(magnitude, Vector<float, Count>) * 0x1p-24f);
    const Ints usual = (magnitude << 13) + (112 << 23), beyond = magnitude << 13 | 0x7f800000;
    const Ints is_small = magnitude < 0x400, is_usual = magnitude < 0x7c00;  // all bits set where true
    const Ints large = (is_usual & usual) | (~is_usual & beyond);
    return bits_as<Vector<float, Count>>((half & 0x8000) << 16 | (is_small & small) | (~is_small & large));
}

template <class S, class V>
[[gnu::always_inline]] inline void store(S* to, const V& vector)
{
    std::memcpy(to, &vector, sizeof(vector));
}

// Past the caches, where the machine can: whole vectors at multiples of their size. Other threads may read them after
// finish_streams().
#if defined(__x86_64__)
template <std::size_t Bytes>
inline constexpr bool can_stream = Bytes == 32 || Bytes == 64;

template <class S, class V>
[[gnu::always_inline]] inline void stream(S* to, const V& vector)
{
#if defined(__clang__)
    __builtin_nontemporal_store(vector, reinterpret_cast<V*>(to));
#else
    asm volatile("vmovntps %1, %0" : "=m"(*reinterpret_cast<V*>(to)) : "v"(vector));
#endif
}

inline void finish_streams() { asm volatile("sfence" ::: "memory"); }
#else
template <std::size_t>
inline constexpr bool can_stream = false;

template <class S, class V>
[[gnu::always_inline]] inline void stream(S* to, const V& vector)
{
    store(to, vector);
}

inline void finish_streams() {}
#endif

// Without a loop, which a compiler may not unroll, and then keeps the vectors in memory all the time.
template <int Count, class S, class V, int... v>
[[gnu::always_inline]] inline void store_all(S* to, const V& vectors, std::integer_sequence<int, v...>)
{
    (store(to + v * Count, vectors[v]), ...);
}

// Columns that are held in registers at a time: half of the registers, so that what is loaded and what belongs to the
// loop find others. (SSE has 16 of 16 bytes, AVX2 16 of 32, AVX-512 32 of 64, NEON 32 of 16.)
inline constexpr int most_block_bytes = 256;
#if defined(__x86_64__)
template <int RegisterBytes>
inline constexpr int block_bytes = 8 * RegisterBytes < most_block_bytes ? 8 * RegisterBytes : most_block_bytes;
#else
template <int RegisterBytes>
inline constexpr int block_bytes = most_block_bytes;
#endif

// n columns in blocks of at most BlockBytes of S, a power of two, and then of halves of it down to 16:
// step(vectors, count, j) has so many vectors of so many columns each from column j on. Returns how many columns the
// blocks have; fewer than a vector of 16 bytes are left.
template <int RegisterBytes, int BlockBytes, class S, class Step>
[[gnu::always_inline]] inline std::int64_t for_blocks(std::int64_t n, const Step& step, std::int64_t j = 0)
{
    constexpr int width = RegisterBytes < BlockBytes ? RegisterBytes : BlockBytes;
    constexpr int columns = BlockBytes / sizeof(S);
    for (; j + columns <= n; j += columns)
        step(std::integral_constant<int, BlockBytes / width>{}, std::integral_constant<int, width / sizeof(S)>{}, j);
    if constexpr (BlockBytes > 16) return for_blocks<RegisterBytes, BlockBytes / 2, S>(n, step, j);
    else return j;
}

}  // namespace tulle::inline TULLE_ABI::simd
