// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Sorts up to 128 columns in vector registers, by a bitonic network: min and max of four pairs at a time and no branch
// that depends on the columns, where std::sort mispredicts one at nearly every column.
//
// A run is a sorted sequence. Neighbouring runs ascend and descend in turn, so that two of them are a bitonic sequence,
// which half-cleaners of falling distance sort: whole vectors first, then within pairs of vectors.
#pragma once

#include <algorithm>
#include <limits>

#include "base/machine.hpp"
#include "base/vector.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::spgemm {
namespace network {

using Quad = simd::Vector<index_t, 4>;

// The smaller ones to `a`, or to `b`.
template <bool Ascends>
[[gnu::always_inline]] inline void order(Quad& a, Quad& b)
{
    const Quad low = a < b ? a : b, high = a < b ? b : a;
    a = Ascends ? low : high;
    b = Ascends ? high : low;
}

// Four vectors to four runs of four: the columns of a 4 x 4 matrix are sorted, then it is transposed.
[[gnu::always_inline]] inline void sort_fours(Quad* v)
{
    Quad a = v[0], b = v[1], c = v[2], d = v[3];
    order<true>(a, b), order<true>(c, d), order<true>(a, c), order<true>(b, d), order<true>(b, c);
    const Quad ab = __builtin_shufflevector(a, b, 0, 4, 1, 5), cd = __builtin_shufflevector(c, d, 0, 4, 1, 5),
               ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7), cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    v[0] = __builtin_shufflevector(ab, cd, 0, 1, 4, 5);
    v[1] = __builtin_shufflevector(ab, cd, 7, 6, 3, 2);
    v[2] = __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5);
    v[3] = __builtin_shufflevector(ab_high, cd_high, 7, 6, 3, 2);
}

// Half-cleaners of distance two and one in two vectors at once.
template <bool Ascends>
[[gnu::always_inline]] inline void clean_fours(Quad& x, Quad& y)
{
    Quad p = __builtin_shufflevector(x, y, 0, 1, 4, 5), q = __builtin_shufflevector(x, y, 2, 3, 6, 7);
    order<Ascends>(p, q);
    Quad r = __builtin_shufflevector(p, q, 0, 4, 2, 6), s = __builtin_shufflevector(p, q, 1, 5, 3, 7);
    order<Ascends>(r, s);
    x = __builtin_shufflevector(r, s, 0, 4, 1, 5);
    y = __builtin_shufflevector(r, s, 2, 6, 3, 7);
}

// Two neighbouring runs, together `Vectors` vectors, to one.
template <bool Ascends, int Vectors>
[[gnu::always_inline]] inline void merge(Quad* v)
{
    for (int half = Vectors / 2; half >= 1; half /= 2)
        for (int first = 0; first < Vectors; first += 2 * half)
            for (int i = first; i < first + half; ++i) order<Ascends>(v[i], v[i + half]);
    for (int i = 0; i < Vectors; i += 2) clean_fours<Ascends>(v[i], v[i + 1]);
}

// All vectors to one run.
template <bool Ascends, int Vectors>
[[gnu::always_inline]] inline void sort(Quad* v)
{
    if constexpr (Vectors == 4) {
        sort_fours(v);
        merge<true, 2>(v), merge<false, 2>(v + 2);
    } else {
        sort<true, Vectors / 2>(v), sort<false, Vectors / 2>(v + Vectors / 2);
    }
    merge<Ascends, Vectors>(v);
}

// Up to `Vectors` x 4 columns.
template <int Vectors>
[[gnu::always_inline]] inline void sort_padded(index_t* col, offset_t n)
{
    Quad v[Vectors];
    index_t* const all = reinterpret_cast<index_t*>(v);
    std::copy(col, col + n, all);
    std::fill(all + n, all + 4 * Vectors, std::numeric_limits<index_t>::max());
    sort<true, Vectors>(v);
    std::copy(all, all + n, col);
}

template <int Vectors>
[[gnu::noinline]] inline void sort_plain(index_t* col, offset_t n)
{
    sort_padded<Vectors>(col, n);
}

#if defined(__x86_64__)
// The oldest x86-64 has no minimum and no maximum of four columns.
template <int Vectors>
[[gnu::target("avx2"), gnu::noinline]] inline void sort_avx2(index_t* col, offset_t n)
{
    sort_padded<Vectors>(col, n);
}
#endif

template <int Vectors>
inline void sort_by_machine(index_t* col, offset_t n)
{
#if defined(__x86_64__)
    if (simd::machine() != simd::Machine::plain) return sort_avx2<Vectors>(col, n);
#endif
    sort_plain<Vectors>(col, n);
}

}  // namespace network

inline constexpr offset_t most_in_network = 128;

// At most most_in_network columns, ascending.
inline void sort_few(index_t* col, offset_t n)
{
    if (n <= 16) network::sort_by_machine<4>(col, n);
    else if (n <= 32) network::sort_by_machine<8>(col, n);
    else if (n <= 64) network::sort_by_machine<16>(col, n);
    else network::sort_by_machine<32>(col, n);
}

}  // namespace tulle::inline TULLE_ABI::spgemm
