// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Vectors of AVX2: values of any type as numbers of the type of x, entries of x loaded one by one, and the product of
// one row with x. For machines whose gathers are slow, or that have none.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "tulle/float16.hpp"
#include "tulle/types.hpp"

#if defined(__x86_64__)

#include <immintrin.h>

#define TULLE_AVX2 [[gnu::target("avx2,fma")]]

namespace tulle::inline TULLE_ABI::spmv {

TULLE_AVX2 inline __m256d load_avx2(const double* p, double) { return _mm256_loadu_pd(p); }
TULLE_AVX2 inline __m256d load_avx2(const float* p, double) { return _mm256_cvtps_pd(_mm_loadu_ps(p)); }
TULLE_AVX2 inline __m256 load_avx2(const float* p, float) { return _mm256_loadu_ps(p); }
TULLE_AVX2 inline __m256i load_bits(const void* p)
{
    return _mm256_cvtepu16_epi32(_mm_loadu_si128(static_cast<const __m128i*>(p)));
}
// Without F16C, which AVX2 does not promise: the exponent of a float is 112 above that of the same bits in binary16;
// infinity and NaN have the highest one.
TULLE_AVX2 inline __m256 load_avx2(const Float16* p, float)
{
    const __m256i bits = load_bits(p), size = _mm256_and_si256(bits, _mm256_set1_epi32(0x7fff));
    const __m256i sign = _mm256_slli_epi32(_mm256_xor_si256(bits, size), 16);
    const __m256 number = _mm256_mul_ps(_mm256_castsi256_ps(_mm256_slli_epi32(size, 13)), _mm256_set1_ps(0x1p112f));
    const __m256i special =
        _mm256_and_si256(_mm256_cmpgt_epi32(size, _mm256_set1_epi32(0x7bff)), _mm256_set1_epi32(0x7f800000));
    return _mm256_or_ps(number, _mm256_castsi256_ps(_mm256_or_si256(sign, special)));
}
TULLE_AVX2 inline __m256 load_avx2(const Bfloat16* p, float)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(load_bits(p), 16));
}

// Two neighbouring positions in x, which are not negative. Those of 32 bits are one load: loads are what limits a
// product whose x is in the cache.
struct Places {
    std::uint64_t first, second;
};

template <class T>
inline Places places_at(const T* at)
{
    if constexpr (sizeof(T) == sizeof(std::uint32_t)) {
        std::uint64_t both;
        std::memcpy(&both, at, sizeof both);
        return {both & 0xFFFFFFFF, both >> 32};
    } else {
        return {static_cast<std::uint64_t>(at[0]), static_cast<std::uint64_t>(at[1])};
    }
}

template <class T>
TULLE_AVX2 inline __m128d two_of(const T* at, const double* x)
{
    const Places p = places_at(at);
    return _mm_loadh_pd(_mm_load_sd(x + p.first), x + p.second);
}

template <class T>
TULLE_AVX2 inline __m128 four_of(const T* at, const float* x)
{
    const Places p = places_at(at), q = places_at(at + 2);
    __m128 v = _mm_load_ss(x + p.first);
    v = _mm_insert_ps(v, _mm_load_ss(x + p.second), 0x10);
    v = _mm_insert_ps(v, _mm_load_ss(x + q.first), 0x20);
    return _mm_insert_ps(v, _mm_load_ss(x + q.second), 0x30);
}

// Entries of x at the positions of some lanes; no positions: x in one piece.
template <class T>
TULLE_AVX2 inline __m256d pick_avx2(const T* at, const double* x)
{
    if constexpr (std::is_same_v<T, void>) return _mm256_loadu_pd(x);
    else return _mm256_insertf128_pd(_mm256_castpd128_pd256(two_of(at, x)), two_of(at + 2, x), 1);
}

template <class T>
TULLE_AVX2 inline __m256 pick_avx2(const T* at, const float* x)
{
    if constexpr (std::is_same_v<T, void>) return _mm256_loadu_ps(x);
    else return _mm256_insertf128_ps(_mm256_castps128_ps256(four_of(at, x)), four_of(at + 4, x), 1);
}

TULLE_AVX2 inline __m256d add_product(__m256d a, __m256d x, __m256d sum) { return _mm256_fmadd_pd(a, x, sum); }
TULLE_AVX2 inline __m256 add_product(__m256 a, __m256 x, __m256 sum) { return _mm256_fmadd_ps(a, x, sum); }

TULLE_AVX2 inline double add_lanes(__m256d s)
{
    const __m128d half = _mm_add_pd(_mm256_castpd256_pd128(s), _mm256_extractf128_pd(s, 1));
    return _mm_cvtsd_f64(_mm_add_sd(half, _mm_unpackhi_pd(half, half)));
}

TULLE_AVX2 inline float add_lanes(__m256 s)
{
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(s), _mm256_extractf128_ps(s, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

// The products first … end-1: two vectors of sums side by side, and one sum of those that fill no vector.
template <class V, class M, class C>
TULLE_AVX2 inline V dot_avx2(const M* value, const C* col, offset_t first, offset_t end, const V* x)
{
    constexpr offset_t lanes = 32 / sizeof(V);
    offset_t k = first;
    decltype(load_avx2(value, V())) sum{}, other{};
    for (; k + 2 * lanes <= end; k += 2 * lanes) {
        sum = add_product(load_avx2(value + k, V()), pick_avx2(col + k, x), sum);
        other = add_product(load_avx2(value + k + lanes, V()), pick_avx2(col + k + lanes, x), other);
    }
    if (k + lanes <= end) {
        sum = add_product(load_avx2(value + k, V()), pick_avx2(col + k, x), sum);
        k += lanes;
    }
    V rest = 0;
    for (; k < end; ++k) rest = std::fma(static_cast<V>(value[k]), x[col[k]], rest);
    return rest + add_lanes(sum + other);
}

}  // namespace tulle::inline TULLE_ABI::spmv

#endif
