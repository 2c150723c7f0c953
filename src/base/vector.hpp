// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Vectors of a CPU by the compilers' vector extension: numbers side by side, loaded from any type of value. Functions
// are always inlined, so that they take the instructions of the function they are in ([[gnu::target]]). A source file
// that includes this ignores -Wpsabi: vectors are passed between inlined functions only.
#pragma once

#include <cstdint>
#include <cstring>

#include "tulle/float16.hpp"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"

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

}  // namespace tulle::inline TULLE_ABI::simd

#pragma GCC diagnostic pop
