// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A column is compared with the one before it, and x is read only where the column is in range: both cost a few
// instructions in a loop that waits for its sums, or for x, anyway. Faults are gathered and looked at once.
#include "spmv/cpu/checked_rows.hpp"

#include <algorithm>
#include <cstdint>

#include "spmv/cpu/merge_interval.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tulle::inline TULLE_ABI::spmv {
namespace {

enum class Order { none, ascending, strict };

// Columns that are looked at one by one. Differences have 64 bits, so that none overflows.
template <Order O>
class Checker {
public:
    explicit Checker(index_t cols) : cols_(static_cast<std::uint32_t>(cols)) {}

    void start_row() { below_ = -1; }

    // The column, or 0 where it is out of range.
    std::int64_t take(index_t col)
    {
        const bool inside = static_cast<std::uint32_t>(col) < cols_;
        if constexpr (O != Order::none) {
            ascending_ &= below_ - col;  // its sign
            below_ = O == Order::strict ? col : std::int64_t{col} - 1;
        }
        outside_ |= !inside;
        return inside ? col : 0;
    }

    bool sound() const { return !outside_ && ascending_ < 0; }

private:
    std::uint32_t cols_;
    std::int64_t below_ = -1;  // what the next column must exceed
    std::int64_t ascending_ = -1;
    bool outside_ = false;
};

// One sum, or two side by side.
template <int Sums, Order O, class V, class M>
bool multiply_plain(const CsrView<M>& a, offset_t first, offset_t last, const Vectors<V>& v)
{
    const offset_t* const row_begin = a.row_begin;
    const M* const value = a.value;
    const index_t* const col = a.col;
    const V* const x = v.x;
    V* const y = v.y;
    const V alpha = v.alpha, beta = v.beta;
    const offset_t nonzeros = a.nonzeros;
    Checker<O> checker(a.cols);
    offset_t k = row_begin[first];
    if (k < 0) return false;
    for (offset_t i = first; i < last; ++i) {
        const offset_t end = row_begin[i + 1];
        if (end < k || end > nonzeros) return false;
        V sum = 0, odd = 0;
        checker.start_row();
        if constexpr (Sums == 2)
            for (; k + 1 < end; k += 2) {
                sum += static_cast<V>(value[k]) * x[checker.take(col[k])];
                odd += static_cast<V>(value[k + 1]) * x[checker.take(col[k + 1])];
            }
        for (; k < end; ++k) sum += static_cast<V>(value[k]) * x[checker.take(col[k])];
        y[i] = scaled(alpha, sum + odd, beta, y + i);
    }
    return checker.sound();
}

#if defined(__x86_64__)

#define TULLE_AVX512 [[gnu::target("avx512f,avx512bw,avx512vl,bmi2,fma"), gnu::always_inline]] inline

// Eight columns from k on that the mask has, of a row that begins at `begin`; the mask of those in range. Where one is
// not, or does not follow the one before it, `faults` gets a bit.
template <Order O>
TULLE_AVX512 __mmask8 take8(const index_t* col, offset_t k, bool starts, __mmask8 m, __m256i cols, __m256i& c,
                            __mmask8& faults)
{
    c = _mm256_maskz_loadu_epi32(m, col + k);
    const __mmask8 inside = _mm256_mask_cmplt_epu32_mask(m, c, cols);
    __mmask8 good = inside;
    if constexpr (O != Order::none) {
        const auto has_before = static_cast<__mmask8>(starts ? m & 0xFE : m);
        const __m256i before = _mm256_mask_loadu_epi32(_mm256_set1_epi32(-1), has_before, col + k - 1);
        good = O == Order::strict ? _mm256_mask_cmpgt_epi32_mask(good, c, before)
                                  : _mm256_mask_cmpge_epi32_mask(good, c, before);
    }
    faults = static_cast<__mmask8>(faults | (m ^ good));
    return inside;
}

TULLE_AVX512 __m512d values8(__mmask8 m, const double* p) { return _mm512_maskz_loadu_pd(m, p); }
TULLE_AVX512 __m512d values8(__mmask8 m, const float* p) { return _mm512_cvtps_pd(_mm256_maskz_loadu_ps(m, p)); }
TULLE_AVX512 __m256d values4(__mmask8 m, const double* p) { return _mm256_maskz_loadu_pd(m, p); }
TULLE_AVX512 __m256d values4(__mmask8 m, const float* p) { return _mm256_cvtps_pd(_mm_maskz_loadu_ps(m, p)); }

TULLE_AVX512 __mmask8 first_lanes(offset_t n)
{
    return static_cast<__mmask8>(_bzhi_u32(0xFF, static_cast<unsigned>(std::min<offset_t>(n, 8))));
}

// Up to four nonzeros in half a vector: a gather costs by its lanes.
template <Order O, class M>
TULLE_AVX512 double vector_dot(const M* value, const index_t* col, offset_t begin, offset_t end, const double* x,
                               __m256i cols, __mmask8& faults)
{
    __m256i c;
    if (end - begin <= 4) {
        const __mmask8 m = first_lanes(end - begin), inside = take8<O>(col, begin, true, m, cols, c, faults);
        const __m256d found = _mm256_mmask_i32gather_pd(_mm256_setzero_pd(), inside, _mm256_castsi256_si128(c), x, 8);
        const __m256d products = _mm256_mul_pd(values4(m, value + begin), found);
        const __m128d half = _mm_add_pd(_mm256_castpd256_pd128(products), _mm256_extractf128_pd(products, 1));
        return _mm_cvtsd_f64(_mm_add_sd(half, _mm_unpackhi_pd(half, half)));
    }
    __m512d sum = _mm512_setzero_pd();
    for (offset_t k = begin; k < end; k += 8) {
        const __mmask8 m = first_lanes(end - k), inside = take8<O>(col, k, k == begin, m, cols, c, faults);
        sum =
            _mm512_fmadd_pd(values8(m, value + k), _mm512_mask_i32gather_pd(_mm512_setzero_pd(), inside, c, x, 8), sum);
    }
    return _mm512_reduce_add_pd(sum);
}

template <Order O>
TULLE_AVX512 float vector_dot(const float* value, const index_t* col, offset_t begin, offset_t end, const float* x,
                              __m256i cols, __mmask8& faults)
{
    __m256 sum = _mm256_setzero_ps();
    for (offset_t k = begin; k < end; k += 8) {
        __m256i c;
        const __mmask8 m = first_lanes(end - k), inside = take8<O>(col, k, k == begin, m, cols, c, faults);
        sum = _mm256_fmadd_ps(_mm256_maskz_loadu_ps(m, value + k),
                              _mm256_mmask_i32gather_ps(_mm256_setzero_ps(), inside, c, x, 4), sum);
    }
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(sum), _mm256_extractf128_ps(sum, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

#undef TULLE_AVX512

template <Order O, class V, class M>
[[gnu::target("avx512f,avx512bw,avx512vl,bmi2,fma")]] bool multiply_vectors(const CsrView<M>& a, offset_t first,
                                                                            offset_t last, const Vectors<V>& v)
{
    const offset_t* const row_begin = a.row_begin;
    const __m256i cols = _mm256_set1_epi32(a.cols);
    const offset_t nonzeros = a.nonzeros;
    __mmask8 faults = 0;
    offset_t k = row_begin[first];
    if (k < 0) return false;
    for (offset_t i = first; i < last; ++i) {
        const offset_t end = row_begin[i + 1];
        if (end < k || end > nonzeros) return false;
        v.y[i] = scaled(v.alpha, vector_dot<O>(a.value, a.col, k, end, v.x, cols, faults), v.beta, v.y + i);
        k = end;
    }
    return faults == 0;
}

#else

template <Order O, class V, class M>
bool multiply_vectors(const CsrView<M>& a, offset_t first, offset_t last, const Vectors<V>& v)
{
    return multiply_plain<2, O>(a, first, last, v);
}

#endif

template <Order O, class V, class M>
bool multiply_in(const CsrView<M>& a, offset_t first, offset_t last, int lanes, const Vectors<V>& v)
{
    if (lanes == 8 && has_gathers()) return multiply_vectors<O>(a, first, last, v);
    return lanes == 1 ? multiply_plain<1, O>(a, first, last, v) : multiply_plain<2, O>(a, first, last, v);
}

}  // namespace

template <class V, class M>
bool multiply_checked(const CsrView<M>& a, offset_t first, offset_t last, int lanes, const Vectors<V>& v)
{
    if (a.cols == 0 && a.nonzeros > 0) return false;  // no entry of x can stand for one out of range
    if (!a.sorted) return multiply_in<Order::none>(a, first, last, lanes, v);
    return a.unique ? multiply_in<Order::strict>(a, first, last, lanes, v)
                    : multiply_in<Order::ascending>(a, first, last, lanes, v);
}

template bool multiply_checked(const CsrView<float>&, offset_t, offset_t, int, const Vectors<float>&);
template bool multiply_checked(const CsrView<double>&, offset_t, offset_t, int, const Vectors<double>&);
template bool multiply_checked(const CsrView<float>&, offset_t, offset_t, int, const Vectors<double>&);

}  // namespace tulle::inline TULLE_ABI::spmv
