// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// An array of sums of products, as long as a row is wide, zero between rows.
//
// In fixed point every product is rounded to a multiple of the quantum and sums are integers: the order of additions
// does not matter, so that sums of the same products are equal, and products below half of the quantum can be left out.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/machine.hpp"
#include "base/vector.hpp"
#include "graph/select.hpp"
#include "tulle/types.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tulle::inline TULLE_ABI::graph {

inline constexpr int sums_at_once = 4;

// A product that is rounded before anything is added to it. Only some x86-64 machines have fused multiply-add: the same
// bits on all of them.
template <class T>
[[gnu::always_inline]] inline T unfused(T product)
{
#if defined(__x86_64__)
    asm("" : "+v"(product));
#endif
    return product;
}

// Adds the vectors added(0) … added(N - 1) to sums at different places, numbered in vectors: all are loaded before the
// first is stored.
template <class Vector, int N, class T, class Added>
void add_at(T* sums, const index_t* places, Added&& added)
{
    T* to[N];
    Vector sum[N];
#pragma GCC unroll 4
    for (int n = 0; n < N; ++n) {
        to[n] = sums + offset_t{sums_at_once} * places[n];
        std::memcpy(&sum[n], to[n], sizeof(Vector));
        sum[n] += added(n);
    }
#pragma GCC unroll 4
    for (int n = 0; n < N; ++n) std::memcpy(to[n], &sum[n], sizeof(Vector));
}

// Sums over the semiring S.
template <class S, class V>
struct PlainSums {
    using Values = simd::Vector<V, sums_at_once>;
    V* at;

    V scaled(V factor) const { return factor; }
    void set(index_t j, V factor, V b) const { at[j] = S::times(factor, b); }
    void add(index_t j, V factor, V b) const { at[j] = S::add(at[j], S::times(factor, b)); }
    // Adds factor times N blocks at different places, of which `places` are numbered.
    template <int N>
    void add_blocks(const index_t* places, V factor, const V* b) const
    {
        add_at<Values, N>(at, places, [&](int n) { return factor * simd::load<sums_at_once>(b + sums_at_once * n); });
    }
    V value(offset_t j) const { return at[j]; }
    // For reaches(): the cutoff.
    KeyOf<V> sought(KeyOf<V> cutoff) const { return cutoff; }
    // Which of the sums from j on are at or above it; keys have no sign bit, so that signed integers have their order.
    auto reaches(offset_t j, KeyOf<V> cutoff) const
    {
        using Int = std::make_signed_t<KeyOf<V>>;
        const auto bits = simd::bits_as<simd::Vector<Int, sums_at_once>>(values(j));
        return (bits & static_cast<Int>(~KeyOf<V>{0} >> 1)) >= static_cast<Int>(cutoff);
    }
    Values values(offset_t j) const { return simd::load<sums_at_once>(at + j); }
    V take(offset_t j) const { return std::exchange(at[j], V(0)); }
    void clear(offset_t begin, offset_t end) const { std::fill(at + begin, at + end, V(0)); }
};

// Sums of products that are not negative, as integers; per_one: one divided by the quantum.
template <class V>
struct FixedSums {
    using Values = simd::Vector<V, sums_at_once>;
    using Ints = simd::Vector<std::int32_t, sums_at_once>;
    static constexpr V half = 0.5;  // added before a product is cut to an integer
    std::int32_t* at;
    V per_one;

    V scaled(V factor) const { return std::min(factor * per_one, std::numeric_limits<V>::max()); }
    void set(index_t j, V factor, V b) const { at[j] = static_cast<std::int32_t>(unfused(factor * b) + half); }
    void add(index_t j, V factor, V b) const { at[j] += static_cast<std::int32_t>(unfused(factor * b) + half); }
    template <int N>
    void add_blocks(const index_t* places, V factor, const V* b) const
    {
        add_at<Ints, N>(at, places, [&](int n) {
            return __builtin_convertvector(unfused(factor * simd::load<sums_at_once>(b + sums_at_once * n)) + half,
                                           Ints);
        });
    }
    V value(offset_t j) const { return value_of(at[j]); }
    // The smallest integer whose value is at or above the cutoff; integers of 25 bits and more are rounded as values.
    std::int32_t sought(KeyOf<V> cutoff) const
    {
        constexpr std::int32_t most = std::numeric_limits<std::int32_t>::max();
        const double about = static_cast<double>(magnitude_of<V>(cutoff)) * static_cast<double>(per_one);
        std::int32_t n = about < most ? static_cast<std::int32_t>(about) : most;
        while (n > 0 && key_of(value_of(n - 1)) >= cutoff) --n;
        while (n < most && key_of(value_of(n)) < cutoff) ++n;
        return n;
    }
    Ints reaches(offset_t j, std::int32_t least) const { return ints(j) >= least; }
    Values values(offset_t j) const { return __builtin_convertvector(ints(j), Values) * (1 / per_one); }
    V take(offset_t j) const { return value_of(std::exchange(at[j], 0)); }
    void clear(offset_t begin, offset_t end) const { std::fill(at + begin, at + end, 0); }

private:
    V value_of(std::int32_t n) const { return static_cast<V>(n) / per_one; }
    Ints ints(offset_t j) const
    {
        Ints v;
        std::memcpy(&v, at + j, sizeof(v));
        return v;
    }
};

#if defined(__x86_64__)
#define TULLE_WIDE [[gnu::target("avx512f,avx512bw,avx512vl,avx512dq,fma")]]

// The same sums, four blocks and 64 places at a time.
struct WideSums : FixedSums<float> {
    template <int N>
    TULLE_WIDE void add_blocks(const index_t* places, float factor, const float* b) const
    {
        static_assert(N == 4);
        __m512 product = _mm512_set1_ps(factor) * _mm512_loadu_ps(b);
        asm("" : "+v"(product));  // as in unfused(), to which clang passes no vector of this size
        const __m512i added = _mm512_maskz_cvttps_epi32(all, product + _mm512_set1_ps(half));
        __m128i* const to[] = {place(places[0]), place(places[1]), place(places[2]), place(places[3])};
        const __m128i first = _mm_add_epi32(_mm_loadu_si128(to[0]), _mm512_maskz_extracti32x4_epi32(four, added, 0));
        const __m128i second = _mm_add_epi32(_mm_loadu_si128(to[1]), _mm512_maskz_extracti32x4_epi32(four, added, 1));
        const __m128i third = _mm_add_epi32(_mm_loadu_si128(to[2]), _mm512_maskz_extracti32x4_epi32(four, added, 2));
        const __m128i last = _mm_add_epi32(_mm_loadu_si128(to[3]), _mm512_maskz_extracti32x4_epi32(four, added, 3));
        _mm_storeu_si128(to[0], first);
        _mm_storeu_si128(to[1], second);
        _mm_storeu_si128(to[2], third);
        _mm_storeu_si128(to[3], last);
    }
    // The places from begin on where a sum is at or above the least, whole groups of 64 before the end, to the list
    // behind its first n; how many places it has then, and where it stopped.
    TULLE_WIDE std::pair<offset_t, offset_t> list_reaching(offset_t begin, offset_t end, std::int32_t least,
                                                           index_t* list, offset_t n) const
    {
        const __m512i cut = _mm512_set1_epi32(least);
        offset_t j = begin;
        for (; j + 64 <= end; j += 64) {
            std::uint64_t found = 0;
            for (int w = 3; w >= 0; --w)
                found = found << 16 | _mm512_cmpge_epi32_mask(_mm512_loadu_si512(at + j + 16 * w), cut);
            for (; found != 0; found &= found - 1) list[n++] = static_cast<index_t>(j + std::countr_zero(found));
        }
        return {n, j};
    }

private:
    static constexpr __mmask16 all = 0xffff;  // without masks GCC 12 warns of its own headers
    static constexpr __mmask8 four = 0xf;
    __m128i* place(index_t block) const { return reinterpret_cast<__m128i*>(at + offset_t{sums_at_once} * block); }
};
#endif

// The quantum: the largest power of two of which half is not above what is negligible. None for sums in double, where
// integers of the same size have no vector conversions on every machine.
template <class V>
class Quantum {
public:
    explicit Quantum(double negligible)
    {
        if (std::is_same_v<V, float> && negligible >= smallest && negligible <= 1)
            value_ = static_cast<V>(std::exp2(std::floor(std::log2(2 * negligible))));
    }
    V value() const { return value_; }
    V per_one() const { return 1 / value_; }
    // Whether integers hold the sums of a row, none of which is above its mass by more than half of a quantum for every
    // product.
    bool holds(std::optional<double> mass) const
    {
        return value_ > 0 && mass && *mass < most * static_cast<double>(value_);
    }

private:
    static constexpr double smallest = 1e-30, most = 1e9;
    V value_ = 0;  // 0: none
};

}  // namespace tulle::inline TULLE_ABI::graph
