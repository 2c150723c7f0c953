// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The product of one row with x, in plain C++, with AVX2 and entries of x loaded one by one, and with the gathers of
// AVX-512. There the end of a row is a mask, not a loop of its own: what costs time in short rows is a branch that
// nobody can foresee.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "spmv/cpu/avx2.hpp"
#include "tulle/float16.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::spmv {

// The products first … end-1 in `Sums` sums side by side, so that an addition need not wait for the one before it.
template <int Sums, class V, class M, class C>
inline V dot(const M* value, const C* col, offset_t first, offset_t end, const V* x)
{
    std::array<V, Sums> sum{};
    offset_t k = first;
    for (; k + Sums <= end; k += Sums)
        for (int s = 0; s < Sums; ++s) sum[static_cast<std::size_t>(s)] += static_cast<V>(value[k + s]) * x[col[k + s]];
    if constexpr (Sums == 2) {  // one at most is left: no loop whose end must be foreseen
        if (k < end) sum[0] += static_cast<V>(value[k]) * x[col[k]];
    } else {
        for (; k < end; ++k) sum[0] += static_cast<V>(value[k]) * x[col[k]];
    }
    for (std::size_t s = 1; s < Sums; ++s) sum[0] += sum[s];
    return sum[0];
}

#if defined(__x86_64__)

// Of functions with gathers, and of those that are part of them.
#define TULLE_GATHERS [[gnu::target("avx512f,avx512bw,avx512vl,bmi2,fma")]]
#define TULLE_GATHERS_INLINE [[gnu::target("avx512f,avx512bw,avx512vl,bmi2,fma"), gnu::always_inline]] inline

// The first lanes of a vector, as many as the mask has; what lies behind them is not read. A gather costs by its lanes,
// so that short rows have vectors of half the size.
TULLE_GATHERS_INLINE __m256d load4(__mmask8 m, const double* p) { return _mm256_maskz_loadu_pd(m, p); }
TULLE_GATHERS_INLINE __m256d load4(__mmask8 m, const float* p) { return _mm256_cvtps_pd(_mm_maskz_loadu_ps(m, p)); }
TULLE_GATHERS_INLINE __m128i load4(__mmask8 m, const index_t* p) { return _mm_maskz_loadu_epi32(m, p); }
TULLE_GATHERS_INLINE __m128i load4(__mmask8 m, const std::uint16_t* p)
{
    return _mm_cvtepu16_epi32(_mm_maskz_loadu_epi16(m, p));
}
TULLE_GATHERS_INLINE __m512d load8_wide(__mmask8 m, const double* p) { return _mm512_maskz_loadu_pd(m, p); }
TULLE_GATHERS_INLINE __m512d load8_wide(__mmask8 m, const float* p)
{
    return _mm512_cvtps_pd(_mm256_maskz_loadu_ps(m, p));
}
TULLE_GATHERS_INLINE __m256 load8(__mmask8 m, const float* p) { return _mm256_maskz_loadu_ps(m, p); }
TULLE_GATHERS_INLINE __m256i load8(__mmask8 m, const index_t* p) { return _mm256_maskz_loadu_epi32(m, p); }
TULLE_GATHERS_INLINE __m256i load8(__mmask8 m, const std::uint16_t* p)
{
    return _mm256_cvtepu16_epi32(_mm_maskz_loadu_epi16(m, p));
}
TULLE_GATHERS_INLINE __m512 load16(__mmask16 m, const float* p) { return _mm512_maskz_loadu_ps(m, p); }
TULLE_GATHERS_INLINE __m256 load8(__mmask8 m, const Float16* p)
{
    return _mm256_maskz_cvtph_ps(m, _mm_maskz_loadu_epi16(m, p));
}
TULLE_GATHERS_INLINE __m512 load16(__mmask16 m, const Float16* p)
{
    return _mm512_maskz_cvtph_ps(m, _mm256_maskz_loadu_epi16(m, p));
}
TULLE_GATHERS_INLINE __m256 load8(__mmask8 m, const Bfloat16* p)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_maskz_loadu_epi16(m, p)), 16));
}
TULLE_GATHERS_INLINE __m512 load16(__mmask16 m, const Bfloat16* p)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(m, p)), 16));
}
TULLE_GATHERS_INLINE __m512i load16(__mmask16 m, const index_t* p) { return _mm512_maskz_loadu_epi32(m, p); }
TULLE_GATHERS_INLINE __m512i load16(__mmask16 m, const std::uint16_t* p)
{
    return _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(m, p));
}

// What is done with columns before x is read there: nothing.
struct Unchecked {
    TULLE_GATHERS_INLINE void begin_row() {}
    template <class Mask, class Columns>
    TULLE_GATHERS_INLINE Columns pass(Mask, Columns c)
    {
        return c;
    }
};

template <class M, class C, class Check>
TULLE_GATHERS_INLINE double vector_dot(const M* value, const C* col, offset_t length, const double* x, Check& check)
{
    check.begin_row();
    if (length <= 4) {
        const auto m = static_cast<__mmask8>(_bzhi_u32(0xF, static_cast<unsigned>(length)));
        const __m128i c = check.pass(m, load4(m, col));
        return add_lanes(_mm256_mul_pd(load4(m, value), _mm256_mmask_i32gather_pd(_mm256_setzero_pd(), m, c, x, 8)));
    }
    __m512d sum = _mm512_setzero_pd();
    offset_t k = 0;
    do {
        const auto m = static_cast<__mmask8>(_bzhi_u32(0xFF, static_cast<unsigned>(std::min<offset_t>(length - k, 8))));
        const __m256i c = check.pass(m, load8(m, col + k));
        sum = _mm512_fmadd_pd(load8_wide(m, value + k), _mm512_mask_i32gather_pd(_mm512_setzero_pd(), m, c, x, 8), sum);
    } while ((k += 8) < length);
    return _mm512_reduce_add_pd(sum);
}

template <class M, class C, class Check>
TULLE_GATHERS_INLINE float vector_dot(const M* value, const C* col, offset_t length, const float* x, Check& check)
{
    check.begin_row();
    if (length <= 8) {
        const auto m = static_cast<__mmask8>(_bzhi_u32(0xFF, static_cast<unsigned>(length)));
        const __m256i c = check.pass(m, load8(m, col));
        return add_lanes(_mm256_mul_ps(load8(m, value), _mm256_mmask_i32gather_ps(_mm256_setzero_ps(), m, c, x, 4)));
    }
    __m512 sum = _mm512_setzero_ps();
    offset_t k = 0;
    do {
        const auto m =
            static_cast<__mmask16>(_bzhi_u32(0xFFFF, static_cast<unsigned>(std::min<offset_t>(length - k, 16))));
        const __m512i c = check.pass(m, load16(m, col + k));
        sum = _mm512_fmadd_ps(load16(m, value + k), _mm512_mask_i32gather_ps(_mm512_setzero_ps(), m, c, x, 4), sum);
    } while ((k += 16) < length);
    return _mm512_reduce_add_ps(sum);
}

#endif

}  // namespace tulle::inline TULLE_ABI::spmv
