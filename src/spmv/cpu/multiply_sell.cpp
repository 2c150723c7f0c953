// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Slices of 32 rows, so many sums at once: nothing depends on where a row ends but a mask, and where the columns of
// neighbouring rows follow each other x is read in one piece instead of gathered. In plain C++, with AVX2 and entries
// of x loaded one by one, and with the gathers of AVX-512, which are slow on some machines; the machine is asked when
// running. A row is added up in its own order on any number of threads.
#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "prim/cpu/pieces.hpp"
#include "spmv/cpu/avx2.hpp"
#include "spmv/sell.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tulle::inline TULLE_ABI::spmv {
namespace {

// What one slice is made of.
template <class V, class M>
struct SliceView {
    SliceSpan span;
    const SellColumn* column;
    const std::uint8_t* distance;
    const M* value;              // of its first column
    const std::int32_t* length;  // of the rows; read only where they differ
    const std::uint32_t* lanes;  // of columns that are diagonals
    const V* x;

    bool is_diagonal(SellColumn c) const { return static_cast<SellKind>(c.at % 4) == SellKind::follow && c.at >= 4; }
    std::uint32_t lanes_of(SellColumn c) const { return lanes[c.at / 4 - 1]; }
};

constexpr int lanes_at_once = 8;  // as many sums as stay in the registers of any machine

// x is that of the first lane where the columns follow each other, so that a compiler reads it in one piece.
template <bool Ragged, class T, class V, class M>
void add_column(const T* distance, const M* value, const V* x, std::int32_t k, const std::int32_t* length,
                std::array<V, lanes_at_once>& sum)
{
    for (std::size_t lane = 0; lane < lanes_at_once; ++lane)
        if (!Ragged || k < length[lane])
            sum[lane] += static_cast<V>(value[lane]) * x[distance ? static_cast<std::size_t>(distance[lane]) : lane];
}

template <class V, class M>
void add_diagonal(std::uint32_t lanes, const M* value, const V* x, std::array<V, lanes_at_once>& sum)
{
    for (std::size_t lane = 0; lane < lanes_at_once; ++lane)
        if (lanes >> lane & 1) sum[lane] += static_cast<V>(value[lane]) * x[lane];
}

template <bool Ragged, class V, class M>
std::array<V, lanes_at_once> sum_lanes(const SliceView<V, M>& s, int first)
{
    std::array<V, lanes_at_once> sum{};
    const std::int32_t* const length = Ragged ? s.length + first : nullptr;
    for (offset_t j = s.span.begin; j < s.span.end; ++j) {
        const SellColumn column = s.column[j];
        const auto k = static_cast<std::int32_t>(j - s.span.begin);
        const std::uint8_t* from = s.distance + static_cast<offset_t>(column.at / 4) * slice_rows;
        const M* value = s.value + offset_t{k} * slice_rows + first;
        const V* x = s.x + column.base;
        if (s.is_diagonal(column)) {
            add_diagonal(s.lanes_of(column) >> first, value, x + first, sum);
            continue;
        }
        switch (static_cast<SellKind>(column.at % 4)) {
        case SellKind::follow: add_column<Ragged, std::uint8_t>(nullptr, value, x + first, k, length, sum); break;
        case SellKind::bytes1: add_column<Ragged>(from + first, value, x, k, length, sum); break;
        case SellKind::bytes2:
            add_column<Ragged>(reinterpret_cast<const std::uint16_t*>(from) + first, value, x, k, length, sum);
            break;
        case SellKind::bytes4:
            add_column<Ragged>(reinterpret_cast<const std::uint32_t*>(from) + first, value, x, k, length, sum);
            break;
        }
    }
    return sum;
}

template <class V, class M>
void sum_plain(const SliceView<V, M>& s, V* to)
{
    for (int first = 0; first < slice_rows; first += lanes_at_once) {
        const auto sum = s.span.ragged ? sum_lanes<true>(s, first) : sum_lanes<false>(s, first);
        std::copy(sum.begin(), sum.end(), to + first);
    }
}

#if defined(__x86_64__)

// ---- AVX2: half the lanes of a vector, entries of x one by one ----

// Zero instead of what belongs to a row that has no k-th entry: x may hold anything there.
TULLE_AVX2 inline __m256d keep_longer(__m256d x, const std::int32_t* length, std::int32_t k)
{
    const __m128i longer =
        _mm_cmpgt_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(length)), _mm_set1_epi32(k));
    return _mm256_and_pd(x, _mm256_castsi256_pd(_mm256_cvtepi32_epi64(longer)));
}

TULLE_AVX2 inline __m256 keep_longer(__m256 x, const std::int32_t* length, std::int32_t k)
{
    const __m256i longer =
        _mm256_cmpgt_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(length)), _mm256_set1_epi32(k));
    return _mm256_and_ps(x, _mm256_castsi256_ps(longer));
}

// … or to a row without an entry in this diagonal: the first bits are its lanes.
TULLE_AVX2 inline __m256d keep_lanes(__m256d x, std::uint32_t lanes)
{
    const __m256i bit = _mm256_setr_epi64x(1, 2, 4, 8);
    const __m256i mine = _mm256_and_si256(_mm256_set1_epi64x(lanes), bit);
    return _mm256_and_pd(x, _mm256_castsi256_pd(_mm256_cmpeq_epi64(mine, bit)));
}

TULLE_AVX2 inline __m256 keep_lanes(__m256 x, std::uint32_t lanes)
{
    const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    const __m256i mine = _mm256_and_si256(_mm256_set1_epi32(static_cast<std::int32_t>(lanes)), bit);
    return _mm256_and_ps(x, _mm256_castsi256_ps(_mm256_cmpeq_epi32(mine, bit)));
}

TULLE_AVX2 inline void store_avx2(double* to, __m256d v) { _mm256_storeu_pd(to, v); }
TULLE_AVX2 inline void store_avx2(float* to, __m256 v) { _mm256_storeu_ps(to, v); }

template <class V>
struct Avx2Sums {
    static constexpr int lanes = 32 / sizeof(V), count = slice_rows / lanes;
    decltype(load_avx2(static_cast<const V*>(nullptr), V())) part[count];

    template <bool Ragged, class T, class M>
    TULLE_AVX2 void add(const T* distance, const M* value, const V* x, std::int32_t k, const std::int32_t* length)
    {
#pragma GCC unroll 8
        for (int p = 0; p < count; ++p) {
            constexpr bool follow = std::is_same_v<T, void>;
            auto entries = pick_avx2(follow ? distance : at(distance, p), follow ? x + lanes * p : x);
            if constexpr (Ragged) entries = keep_longer(entries, length + lanes * p, k);
            part[p] = add_product(load_avx2(value + lanes * p, V()), entries, part[p]);
        }
    }

    template <class M>
    TULLE_AVX2 void add_diagonal(std::uint32_t here, const M* value, const V* x)
    {
#pragma GCC unroll 8
        for (int p = 0; p < count; ++p) {
            const void* const none = nullptr;
            const auto entries = keep_lanes(pick_avx2(none, x + lanes * p), here >> (lanes * p));
            part[p] = add_product(load_avx2(value + lanes * p, V()), entries, part[p]);
        }
    }

private:
    template <class T>
    static const T* at(const T* distance, int p)
    {
        return distance + lanes * p;
    }
    static const void* at(const void* distance, int) { return distance; }
};

template <bool Ragged, class V, class M>
TULLE_AVX2 void sum_avx2_of(const SliceView<V, M>& s, V* to)
{
    Avx2Sums<V> sum{};
    for (offset_t j = s.span.begin; j < s.span.end; ++j) {
        const SellColumn column = s.column[j];
        const auto k = static_cast<std::int32_t>(j - s.span.begin);
        const std::uint8_t* from = s.distance + static_cast<offset_t>(column.at / 4) * slice_rows;
        const M* value = s.value + offset_t{k} * slice_rows;
        const V* x = s.x + column.base;
        const void* const none = nullptr;
        if (s.is_diagonal(column)) {
            sum.add_diagonal(s.lanes_of(column), value, x);
            continue;
        }
        switch (static_cast<SellKind>(column.at % 4)) {
        case SellKind::follow: sum.template add<Ragged>(none, value, x, k, s.length); break;
        case SellKind::bytes1: sum.template add<Ragged>(from, value, x, k, s.length); break;
        case SellKind::bytes2:
            sum.template add<Ragged>(reinterpret_cast<const std::uint16_t*>(from), value, x, k, s.length);
            break;
        case SellKind::bytes4:
            sum.template add<Ragged>(reinterpret_cast<const std::uint32_t*>(from), value, x, k, s.length);
            break;
        }
    }
    for (int p = 0; p < sum.count; ++p) store_avx2(to + sum.lanes * p, sum.part[p]);
}

template <class V, class M>
void sum_avx2(const SliceView<V, M>& s, V* to)
{
    s.span.ragged ? sum_avx2_of<true>(s, to) : sum_avx2_of<false>(s, to);
}

// ---- AVX-512 ----

#define TULLE_VECTORS [[gnu::target("avx512f,avx512bw,avx512vl,fma")]]

bool has_vectors()
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl");
}

TULLE_VECTORS inline __m512d load(__mmask8 m, const double* p) { return _mm512_maskz_loadu_pd(m, p); }
TULLE_VECTORS inline __m512d load(__mmask8 m, const float* p) { return _mm512_cvtps_pd(_mm256_maskz_loadu_ps(m, p)); }
TULLE_VECTORS inline __m512 load(__mmask16 m, const float* p) { return _mm512_maskz_loadu_ps(m, p); }
TULLE_VECTORS inline __m512 load(__mmask16 m, const Float16* p)
{
    return _mm512_maskz_cvtph_ps(m, _mm256_maskz_loadu_epi16(m, p));
}
TULLE_VECTORS inline __m512 load(__mmask16 m, const Bfloat16* p)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(m, p)), 16));
}

// Distances of the lanes from `lane` on.
template <SellKind Kind>
TULLE_VECTORS inline __m256i distances8(const std::uint8_t* from, int lane)
{
    if constexpr (Kind == SellKind::bytes1)
        return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from + lane)));
    else if constexpr (Kind == SellKind::bytes2)
        return _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + 2 * lane)));
    else return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + 4 * lane));
}

template <SellKind Kind>
TULLE_VECTORS inline __m512i distances16(const std::uint8_t* from, int lane)
{
    if constexpr (Kind == SellKind::bytes1)
        return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + lane)));
    else if constexpr (Kind == SellKind::bytes2)
        return _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + 2 * lane)));
    else return _mm512_loadu_si512(from + 4 * lane);
}

// Which of the 32 rows have a k-th entry.
TULLE_VECTORS inline std::uint32_t lanes_with(const SliceSpan& span, const std::int32_t* length, std::int32_t k)
{
    if (!span.ragged) return ~std::uint32_t{0};
    const __m512i at = _mm512_set1_epi32(k);
    const std::uint32_t low = _mm512_cmpgt_epi32_mask(_mm512_loadu_si512(length), at),
                        high = _mm512_cmpgt_epi32_mask(_mm512_loadu_si512(length + 16), at);
    return low | high << 16;
}

// A vector of doubles or floats: values, x of the lanes from `lane` on, and the sum of products.
template <SellKind Kind>
TULLE_VECTORS inline __m512d pick(__mmask8 m, const std::uint8_t* from, int lane, const double* x)
{
    if constexpr (Kind == SellKind::follow) return _mm512_maskz_loadu_pd(m, x + lane);
    else return _mm512_mask_i32gather_pd(_mm512_setzero_pd(), m, distances8<Kind>(from, lane), x, 8);
}

template <SellKind Kind>
TULLE_VECTORS inline __m512 pick(__mmask16 m, const std::uint8_t* from, int lane, const float* x)
{
    if constexpr (Kind == SellKind::follow) return _mm512_maskz_loadu_ps(m, x + lane);
    else return _mm512_mask_i32gather_ps(_mm512_setzero_ps(), m, distances16<Kind>(from, lane), x, 4);
}

TULLE_VECTORS inline __m512d add_product(__m512d a, __m512d x, __m512d sum) { return _mm512_fmadd_pd(a, x, sum); }
TULLE_VECTORS inline __m512 add_product(__m512 a, __m512 x, __m512 sum) { return _mm512_fmadd_ps(a, x, sum); }

// The 32 sums of a slice in registers.
template <class V>
struct Sums {
    static constexpr int lanes = 64 / sizeof(V);
    using Mask = std::conditional_t<lanes == 8, __mmask8, __mmask16>;
    decltype(load(Mask{}, static_cast<const V*>(nullptr))) part[slice_rows / lanes];

    template <SellKind Kind, class M>
    TULLE_VECTORS void add(std::uint32_t here, const std::uint8_t* from, const M* value, const V* x)
    {
        for (int p = 0; p < slice_rows / lanes; ++p) {
            const auto m = static_cast<Mask>(here >> (lanes * p));
            part[p] = add_product(load(m, value + lanes * p), pick<Kind>(m, from, lanes * p, x), part[p]);
        }
    }
};

template <class V, class M>
TULLE_VECTORS inline Sums<V> sum_vectors(const SliceView<V, M>& s)
{
    Sums<V> sum{};
    for (offset_t j = s.span.begin; j < s.span.end; ++j) {
        const SellColumn column = s.column[j];
        const auto k = static_cast<std::int32_t>(j - s.span.begin);
        const std::uint8_t* from = s.distance + static_cast<offset_t>(column.at / 4) * slice_rows;
        const M* value = s.value + offset_t{k} * slice_rows;
        const V* x = s.x + column.base;
        const std::uint32_t here = s.is_diagonal(column) ? s.lanes_of(column) : lanes_with(s.span, s.length, k);
        switch (static_cast<SellKind>(column.at % 4)) {
        case SellKind::follow: sum.template add<SellKind::follow>(here, from, value, x); break;
        case SellKind::bytes1: sum.template add<SellKind::bytes1>(here, from, value, x); break;
        case SellKind::bytes2: sum.template add<SellKind::bytes2>(here, from, value, x); break;
        case SellKind::bytes4: sum.template add<SellKind::bytes4>(here, from, value, x); break;
        }
    }
    return sum;
}

TULLE_VECTORS inline __m512d all(double v) { return _mm512_set1_pd(v); }
TULLE_VECTORS inline __m512 all(float v) { return _mm512_set1_ps(v); }
TULLE_VECTORS inline void store(double* y, __mmask8 m, __m512d v) { _mm512_mask_storeu_pd(y, m, v); }
TULLE_VECTORS inline void store(float* y, __mmask16 m, __m512 v) { _mm512_mask_storeu_ps(y, m, v); }

// Rows that were sorted: each lane has its own place in y, or none.
TULLE_VECTORS inline __m256i rows8(const index_t* row)
{
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(row));
}
TULLE_VECTORS inline __mmask8 places(const double*, const index_t* row)
{
    return _mm256_cmpge_epi32_mask(rows8(row), _mm256_setzero_si256());
}
TULLE_VECTORS inline __mmask16 places(const float*, const index_t* row)
{
    return _mm512_cmpge_epi32_mask(_mm512_loadu_si512(row), _mm512_setzero_si512());
}
TULLE_VECTORS inline __m512d load_rows(const double* y, __mmask8 m, const index_t* row)
{
    return _mm512_mask_i32gather_pd(_mm512_setzero_pd(), m, rows8(row), y, 8);
}
TULLE_VECTORS inline __m512 load_rows(const float* y, __mmask16 m, const index_t* row)
{
    return _mm512_mask_i32gather_ps(_mm512_setzero_ps(), m, _mm512_loadu_si512(row), y, 4);
}
TULLE_VECTORS inline void store_rows(double* y, __mmask8 m, const index_t* row, __m512d v)
{
    _mm512_mask_i32scatter_pd(y, m, rows8(row), v, 8);
}
TULLE_VECTORS inline void store_rows(float* y, __mmask16 m, const index_t* row, __m512 v)
{
    _mm512_mask_i32scatter_ps(y, m, _mm512_loadu_si512(row), v, 4);
}

// The new y of the lanes from `first` on, of which `here` exist.
template <class V, class M>
TULLE_VECTORS void multiply_vectors(const SliceView<V, M>& s, offset_t first, std::uint32_t here, const index_t* list,
                                    const Vectors<V>& v)
{
    const Sums<V> sum = sum_vectors(s);
    constexpr int lanes = Sums<V>::lanes;
    for (int p = 0; p < slice_rows / lanes; ++p) {
        auto result = all(v.alpha) * sum.part[p];
        if (list == nullptr) {
            const auto m = static_cast<typename Sums<V>::Mask>(here >> (lanes * p));
            V* const y = v.y + first + lanes * p;
            if (v.beta != V(0)) result += all(v.beta) * load(m, y);
            store(y, m, result);
        } else {
            const index_t* const row = list + first + lanes * p;
            const auto m = places(v.y, row);
            if (v.beta != V(0)) result += all(v.beta) * load_rows(v.y, m, row);
            store_rows(v.y, m, row, result);
        }
    }
}

#else

bool has_vectors() { return false; }

template <class V, class M>
void sum_avx2(const SliceView<V, M>& s, V* to)
{
    sum_plain(s, to);
}

template <class V, class M>
void multiply_vectors(const SliceView<V, M>&, offset_t, std::uint32_t, const index_t*, const Vectors<V>&)
{}

#endif

}  // namespace

bool has_avx2()
{
#if defined(__x86_64__)
    static const bool found = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    return found;
#else
    return false;
#endif
}

namespace {

// The first slice of a thread's part: as many columns, slices counted in.
offset_t first_slice(const offset_t* slice_begin, offset_t slices, int part, int parts)
{
    const offset_t work = slice_begin[slices] / 2 + slices, wanted = work / parts * part + work % parts * part / parts;
    offset_t low = 0, high = slices;
    while (low < high) {
        const offset_t middle = (low + high) / 2;
        if (slice_begin[middle] / 2 + middle < wanted) low = middle + 1;
        else high = middle;
    }
    return low;
}

// The new y of `count` rows from their sums.
template <class V>
void put_sums(const std::array<V, slice_rows>& sum, offset_t first, int count, const index_t* list, const Vectors<V>& v)
{
    const auto put = [&](offset_t row, int lane) {
        v.y[row] = scaled(v.alpha, sum[static_cast<std::size_t>(lane)], v.beta, v.y + row);
    };
    if (list == nullptr)
        for (int lane = 0; lane < count; ++lane) put(first + lane, lane);
    else
        for (int lane = 0; lane < count; ++lane)
            if (const index_t row = list[first + lane]; row >= 0) put(row, lane);
}

enum class Units { plain, avx2, vectors };

// The best there is of what is asked for.
Units units_for(int lanes)
{
    if (lanes > 4 && has_vectors()) return Units::vectors;
    return lanes > 1 && has_avx2() ? Units::avx2 : Units::plain;
}

template <class V, class M>
void multiply_slice(const CsrView<M>& a, const Sell<M>& sell, offset_t slice, Units units, const Vectors<V>& v)
{
    const SliceSpan span = span_of(sell.slice_begin.data(), slice);
    const index_t* const list = sell.row.data();
    const offset_t first = slice * slice_rows;
    const SliceView<V, M> view{span,
                               sell.column.data(),
                               sell.distance.data(),
                               sell.value.data() + span.begin * slice_rows,
                               span.ragged ? sell.length.data() + first : nullptr,
                               sell.lanes.data(),
                               v.x};
    const int count = list == nullptr ? static_cast<int>(std::min(offset_t{slice_rows}, a.rows - first)) : slice_rows;
    if (units == Units::vectors)
        return multiply_vectors(view, first, ~std::uint32_t{0} >> (slice_rows - count), list, v);
    std::array<V, slice_rows> sum;
    units == Units::avx2 ? sum_avx2(view, sum.data()) : sum_plain(view, sum.data());
    put_sums(sum, first, count, list, v);
}

}  // namespace

template <class V, class M>
void multiply_sell(const CpuQueue& q, const CsrView<M>& a, int lanes, const Sell<M>& sell, const Vectors<V>& v)
{
    const offset_t slices = sell.slice_begin.size() - 1;
    const Units units = units_for(lanes);
    prim::each_thread(q, [&q, &a, &sell, &v, slices, units](int t) {
        const offset_t end = first_slice(sell.slice_begin.data(), slices, t + 1, q.threads);
        for (offset_t s = first_slice(sell.slice_begin.data(), slices, t, q.threads); s < end; ++s)
            multiply_slice(a, sell, s, units, v);
    });
}

template void multiply_sell(const CpuQueue&, const CsrView<float>&, int, const Sell<float>&, const Vectors<float>&);
template void multiply_sell(const CpuQueue&, const CsrView<double>&, int, const Sell<double>&, const Vectors<double>&);
template void multiply_sell(const CpuQueue&, const CsrView<float>&, int, const Sell<float>&, const Vectors<double>&);
template void multiply_sell(const CpuQueue&, const CsrView<Float16>&, int, const Sell<Float16>&, const Vectors<float>&);
template void multiply_sell(const CpuQueue&, const CsrView<Bfloat16>&, int, const Sell<Bfloat16>&,
                            const Vectors<float>&);

}  // namespace tulle::inline TULLE_ABI::spmv
