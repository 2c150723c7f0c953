// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Products of rows with x, in plain C++ and with the gathers of AVX-512. There the end of a row is a mask, not a loop
// of its own: what costs time in short rows is a branch that nobody can foresee. The library is compiled for any
// x86-64; the machine is asked when running.
#include "spmv/cpu/merge_interval.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tulle::inline TULLE_ABI::spmv {
namespace {

constexpr offset_t long_row = 32;  // from this mean on, four plain sums beat one (docs/design/spmv.md)

// Where columns are read: the matrix's own, or the plan's of 16 bits, from the base of their row where there is one.
// The matrix's own have none at compile time: in rows of a few nonzeros a branch more is felt.
template <class C>
struct Columns {
    const C* col;
    const index_t* base = nullptr;

    template <class V>
    const V* x_of(offset_t row, const V* x) const
    {
        if constexpr (std::is_same_v<C, index_t>) return x;
        else return base ? x + base[row] : x;
    }
};

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

// Everything the loop needs is in local variables: what is written to y could change anything behind a reference, as
// far as the compiler knows.
template <int Sums, bool Beta, class V, class M, class C>
V multiply_with(const CsrView<M>& a, const Columns<C> columns, prim::MergePoint from, prim::MergePoint to,
                const Vectors<V>& v)
{
    const offset_t* const row_begin = a.row_begin;
    const M* const value = a.value;
    const C* const col = columns.col;
    const V* const x = v.x;
    V* const y = v.y;
    const V alpha = v.alpha, beta = v.beta;
    offset_t k = from.nonzero;
    for (offset_t i = from.row; i < to.row; ++i) {
        const offset_t end = row_begin[i + 1];
        const V sum = dot<Sums>(value, col, k, end, columns.x_of(i, x));
        if constexpr (Beta) y[i] = alpha * sum + beta * y[i];
        else y[i] = alpha * sum;
        k = end;
    }
    return k < to.nonzero ? dot<Sums>(value, col, k, to.nonzero, columns.x_of(to.row, x)) : V(0);
}

template <int Sums, class V, class M, class C>
V multiply_sums(const CsrView<M>& a, const Columns<C>& columns, prim::MergePoint from, prim::MergePoint to,
                const Vectors<V>& v)
{
    return v.beta == V(0) ? multiply_with<Sums, false>(a, columns, from, to, v)
                          : multiply_with<Sums, true>(a, columns, from, to, v);
}

template <class V, class M, class C>
V multiply_plain(const CsrView<M>& a, const Columns<C>& columns, prim::MergePoint from, prim::MergePoint to, int sums,
                 const Vectors<V>& v)
{
    if (sums == 4) return multiply_sums<4>(a, columns, from, to, v);
    return sums == 2 ? multiply_sums<2>(a, columns, from, to, v) : multiply_sums<1>(a, columns, from, to, v);
}

#if defined(__x86_64__)

bool ask_for_gathers()
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("bmi2");
}

// The first lanes of a vector, as many as the mask has; what lies behind them is not read. A gather costs by its lanes,
// so that short rows have vectors of half the size.
[[gnu::target("avx512f,avx512bw,avx512vl,bmi2,fma"), gnu::always_inline]] inline __m256d load4(__mmask8 m,
                                                                                               const double* p)
{
    return _mm256_maskz_loadu_pd(m, p);
}
[[gnu::target("avx512f,avx512bw,avx512vl,bmi2,fma"), gnu::always_inline]] inline __m256d load4(__mmask8 m,
                                                                                               const float* p)
{
    return _mm256_cvtps_pd(_mm_maskz_loadu_ps(m, p));
}
[[gnu::target("avx512f,avx512bw,avx512vl,bmi2,fma"), gnu::always_inline]] inline __m128i load4(__mmask8 m,
                                                                                               const index_t* p)
{
    return _mm_maskz_loadu_epi32(m, p);
}
[[gnu::target("avx512f,avx512bw,avx512vl,bmi2,fma"), gnu::always_inline]] inline __m128i load4(__mmask8 m,
                                                                                               const std::uint16_t* p)
{
    return _mm_cvtepu16_epi32(_mm_maskz_loadu_epi16(m, p));
}
[[gnu::target("avx512f,avx512bw,avx512vl,bmi2,fma"), gnu::always_inline]] inline __m512d load8_wide(__mmask8 m,
                                                                                                    const double* p)
{
    return _mm512_maskz_loadu_pd(m, p);
}
[[gnu::target("avx512f,avx512bw,avx512vl,bmi2,fma"), gnu::always_inline]] inline __m512d load8_wide(__mmask8 m,
                                                                                                    const float* p)
{
    return _mm512_cvtps_pd(_mm256_maskz_loadu_ps(m, p));
}
[[gnu::target("avx512f,avx512bw,avx512vl,bmi2,fma"), gnu::always_inline]] inline __m256 load8(__mmask8 m,
                                                                                              const float* p)
{
    return _mm256_maskz_loadu_ps(m, p);
}
[[gnu::target("avx512f,avx512bw,avx512vl,bmi2,fma"), gnu::always_inline]] inline __m256i load8(__mmask8 m,
                                                                                               const index_t* p)
{
    return _mm256_maskz_loadu_epi32(m, p);
}
[[gnu::target("avx512f,avx512bw,avx512vl,bmi2,fma"), gnu::always_inline]] inline __m256i load8(__mmask8 m,
                                                                                               const std::uint16_t* p)
{
    return _mm256_cvtepu16_epi32(_mm_maskz_loadu_epi16(m, p));
}
[[gnu::target("avx512f,avx512bw,avx512vl,bmi2,fma"), gnu::always_inline]] inline __m512 load16(__mmask16 m,
                                                                                               const float* p)
{
    return _mm512_maskz_loadu_ps(m, p);
}
[[gnu::target("avx512f,avx512bw,avx512vl,bmi2,fma"), gnu::always_inline]] inline __m512i load16(__mmask16 m,
                                                                                                const index_t* p)
{
    return _mm512_maskz_loadu_epi32(m, p);
}
[[gnu::target("avx512f,avx512bw,avx512vl,bmi2,fma"), gnu::always_inline]] inline __m512i load16(__mmask16 m,
                                                                                                const std::uint16_t* p)
{
    return _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(m, p));
}

[[gnu::target("avx512f,avx512bw,avx512vl,bmi2,fma"), gnu::always_inline]] inline double add_up(__m256d s)
{
    const __m128d half = _mm_add_pd(_mm256_castpd256_pd128(s), _mm256_extractf128_pd(s, 1));
    return _mm_cvtsd_f64(_mm_add_sd(half, _mm_unpackhi_pd(half, half)));
}

[[gnu::target("avx512f,avx512bw,avx512vl,bmi2,fma"), gnu::always_inline]] inline float add_up(__m256 s)
{
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(s), _mm256_extractf128_ps(s, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

template <class M, class C>
[[gnu::target("avx512f,avx512bw,avx512vl,bmi2,fma"), gnu::always_inline]] inline double vector_dot(const M* value,
                                                                                                   const C* col,
                                                                                                   offset_t length,
                                                                                                   const double* x)
{
    if (length <= 4) {
        const auto m = static_cast<__mmask8>(_bzhi_u32(0xF, static_cast<unsigned>(length)));
        return add_up(
            _mm256_mul_pd(load4(m, value), _mm256_mmask_i32gather_pd(_mm256_setzero_pd(), m, load4(m, col), x, 8)));
    }
    __m512d sum = _mm512_setzero_pd();
    offset_t k = 0;
    do {
        const auto m = static_cast<__mmask8>(_bzhi_u32(0xFF, static_cast<unsigned>(std::min<offset_t>(length - k, 8))));
        sum = _mm512_fmadd_pd(load8_wide(m, value + k),
                              _mm512_mask_i32gather_pd(_mm512_setzero_pd(), m, load8(m, col + k), x, 8), sum);
    } while ((k += 8) < length);
    return _mm512_reduce_add_pd(sum);
}

template <class C>
[[gnu::target("avx512f,avx512bw,avx512vl,bmi2,fma"), gnu::always_inline]] inline float vector_dot(const float* value,
                                                                                                  const C* col,
                                                                                                  offset_t length,
                                                                                                  const float* x)
{
    if (length <= 8) {
        const auto m = static_cast<__mmask8>(_bzhi_u32(0xFF, static_cast<unsigned>(length)));
        return add_up(
            _mm256_mul_ps(load8(m, value), _mm256_mmask_i32gather_ps(_mm256_setzero_ps(), m, load8(m, col), x, 4)));
    }
    __m512 sum = _mm512_setzero_ps();
    offset_t k = 0;
    do {
        const auto m =
            static_cast<__mmask16>(_bzhi_u32(0xFFFF, static_cast<unsigned>(std::min<offset_t>(length - k, 16))));
        sum = _mm512_fmadd_ps(load16(m, value + k),
                              _mm512_mask_i32gather_ps(_mm512_setzero_ps(), m, load16(m, col + k), x, 4), sum);
    } while ((k += 16) < length);
    return _mm512_reduce_add_ps(sum);
}

// As multiply_with, which cannot call what it is not itself compiled for.
template <bool Beta, class V, class M, class C>
[[gnu::target("avx512f,avx512bw,avx512vl,bmi2,fma")]] V vectors_with(const CsrView<M>& a, const Columns<C> columns,
                                                                     prim::MergePoint from, prim::MergePoint to,
                                                                     const Vectors<V>& v)
{
    const offset_t* const row_begin = a.row_begin;
    const M* const value = a.value;
    const C* const col = columns.col;
    const V* const x = v.x;
    V* const y = v.y;
    const V alpha = v.alpha, beta = v.beta;
    offset_t k = from.nonzero;
    for (offset_t i = from.row; i < to.row; ++i) {
        const offset_t end = row_begin[i + 1];
        const V sum = vector_dot(value + k, col + k, end - k, columns.x_of(i, x));
        if constexpr (Beta) y[i] = std::fma(beta, y[i], alpha * sum);
        else y[i] = alpha * sum;
        k = end;
    }
    return k < to.nonzero ? vector_dot(value + k, col + k, to.nonzero - k, columns.x_of(to.row, x)) : V(0);
}

template <class V, class M, class C>
V multiply_vectors(const CsrView<M>& a, const Columns<C>& columns, prim::MergePoint from, prim::MergePoint to,
                   const Vectors<V>& v)
{
    return v.beta == V(0) ? vectors_with<false>(a, columns, from, to, v) : vectors_with<true>(a, columns, from, to, v);
}

#else

bool ask_for_gathers() { return false; }

template <class V, class M, class C>
V multiply_vectors(const CsrView<M>& a, const Columns<C>& columns, prim::MergePoint from, prim::MergePoint to,
                   const Vectors<V>& v)
{
    return multiply_plain(a, columns, from, to, 4, v);
}

#endif

template <class V, class M, class C>
V multiply_columns(const CsrView<M>& a, const Columns<C>& columns, prim::MergePoint from, prim::MergePoint to, int sums,
                   const Vectors<V>& v)
{
    if (sums == 8 && has_gathers()) return multiply_vectors(a, columns, from, to, v);
    return multiply_plain(a, columns, from, to, sums == 8 ? (a.nonzeros >= long_row * a.rows ? 4 : 1) : sums, v);
}

}  // namespace

bool has_gathers()
{
    static const bool found = ask_for_gathers();
    return found;
}

template <class V, class M>
V multiply_interval(const CsrView<M>& a, const Narrow& narrow, prim::MergePoint from, prim::MergePoint to, int sums,
                    const Vectors<V>& v)
{
    if (narrow.row_begin.empty()) return multiply_columns(a, Columns<index_t>{a.col}, from, to, sums, v);
    return multiply_columns(a,
                            Columns<std::uint16_t>{narrow.col.data(),
                                                   narrow.base.empty() ? nullptr : narrow.base.data()},
                            from, to, sums, v);
}

template float multiply_interval(const CsrView<float>&, const Narrow&, prim::MergePoint, prim::MergePoint, int,
                                 const Vectors<float>&);
template double multiply_interval(const CsrView<double>&, const Narrow&, prim::MergePoint, prim::MergePoint, int,
                                  const Vectors<double>&);
template double multiply_interval(const CsrView<float>&, const Narrow&, prim::MergePoint, prim::MergePoint, int,
                                  const Vectors<double>&);

}  // namespace tulle::inline TULLE_ABI::spmv
