// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Where rows are multiplied by vectors, their columns are compared on the way. Else columns are looked at by vectors, a
// block of them before the rows that have them: are they in range, and how many do not ascend? Rows are then multiplied
// as usual; each tells whether its first column does not ascend from the last one of the row before, which is no fault.
// There is no other where both counts are the same.
#include "spmv/cpu/checked_rows.hpp"

#include <algorithm>
#include <cstdint>

#include "spmv/cpu/columns.hpp"
#include "spmv/cpu/merge_interval.hpp"
#include "spmv/cpu/row_dot.hpp"

namespace tulle::inline TULLE_ABI::spmv {
namespace {

constexpr offset_t block = 1024;  // columns that stay in the first cache until they are multiplied

// Descents between rows: those that are no fault. A matrix that claims no order has none to compare.
template <Order O>
class BetweenRows {
public:
    [[gnu::always_inline]] void pass(const index_t* col, offset_t begin, offset_t end)
    {
        if constexpr (O != Order::none) {
            count_ += descends<O>(last_, col[begin]);
            last_ = col[end - 1];
        }
    }

    offset_t count() const { return count_; }

private:
    index_t last_ = -1;
    offset_t count_ = 0;
};

class Lookahead {
public:
    Lookahead(const Columns& a, offset_t begin, offset_t stop) : a_(a), begin_(begin), stop_(stop) {}

    // Columns are looked at from `seen` on, at least up to the end of a row; returns up to where they are now, or -1
    // where the row or they are not sound.
    [[gnu::noinline]] offset_t move(offset_t row, offset_t end, offset_t seen)
    {
        if (end < row || end > stop_) return -1;
        const offset_t to = std::min(stop_, std::max(end, seen + block));
        const offset_t found = count_descents(a_, std::max(begin_, seen - 1), to);
        descents_ += found;
        return found < 0 ? -1 : to;
    }

    offset_t descents() const { return descents_; }

private:
    Columns a_;
    offset_t begin_, stop_, descents_ = 0;
};

bool lies_beyond(offset_t row, offset_t end, offset_t seen)
{
    return static_cast<std::uint64_t>(end - row) > static_cast<std::uint64_t>(seen - row);
}

// One sum, or two side by side.
template <int Sums, Order O, class V, class View>
bool multiply_plain(const View& a, offset_t first, offset_t last, const Vectors<V>& v)
{
    const auto* const row_begin = a.row_begin;
    const auto* const value = a.value;
    const index_t* const col = a.col;
    const V* const x = v.x;
    V* const y = v.y;
    const V alpha = v.alpha;
    Lookahead ahead(columns_of(a), row_begin[first], row_begin[last]);
    BetweenRows<O> between;
    offset_t k = row_begin[first], seen = k;
    for (offset_t i = first; i < last; ++i) {
        const offset_t end = row_begin[i + 1];
        if (lies_beyond(k, end, seen)) [[unlikely]]
            if ((seen = ahead.move(k, end, seen)) < 0) return false;
        if (k < end) between.pass(col, k, end);
        y[i] = alpha * dot<Sums>(value, col, k, end, x);
        k = end;
    }
    return ahead.descents() == between.count();
}

#if defined(__x86_64__)

// Columns are compared where they are loaded. One that is out of range is replaced by the last before x is read there.
template <Order O>
class ColumnCheck {
public:
    TULLE_GATHERS_INLINE explicit ColumnCheck(index_t cols)
        : last_(_mm512_set1_epi32(cols - 1)),
          none_(_mm512_set1_epi32(-1))
    {}

    TULLE_GATHERS_INLINE void begin_row() { before_ = none_; }

    TULLE_GATHERS_INLINE __m128i pass(__mmask8 m, __m128i c)
    {
        const __m128i before = _mm_alignr_epi32(c, _mm512_castsi512_si128(none_), 3);  // a row has no more than these
        if constexpr (O == Order::strict) descents_ |= _mm_mask_cmpge_epi32_mask(m, before, c);
        if constexpr (O == Order::ascending) descents_ |= _mm_mask_cmpgt_epi32_mask(m, before, c);
        largest_of_8_ = _mm256_max_epu32(largest_of_8_, _mm256_zextsi128_si256(c));
        return _mm_min_epu32(c, _mm512_castsi512_si128(last_));
    }

    TULLE_GATHERS_INLINE __m256i pass(__mmask8 m, __m256i c)
    {
        const __m256i before = _mm256_alignr_epi32(c, _mm512_castsi512_si256(before_), 7);
        if constexpr (O == Order::strict) descents_ |= _mm256_mask_cmpge_epi32_mask(m, before, c);
        if constexpr (O == Order::ascending) descents_ |= _mm256_mask_cmpgt_epi32_mask(m, before, c);
        before_ = _mm512_castsi256_si512(c);
        largest_of_8_ = _mm256_max_epu32(largest_of_8_, c);
        return _mm256_min_epu32(c, _mm512_castsi512_si256(last_));
    }

    TULLE_GATHERS_INLINE __m512i pass(__mmask16 m, __m512i c)
    {
        const __m512i before = _mm512_alignr_epi32(c, before_, 15);
        if constexpr (O == Order::strict) descents_ |= _mm512_mask_cmpge_epi32_mask(m, before, c);
        if constexpr (O == Order::ascending) descents_ |= _mm512_mask_cmpgt_epi32_mask(m, before, c);
        before_ = c;
        largest_of_16_ = _mm512_max_epu32(largest_of_16_, c);
        return _mm512_min_epu32(c, last_);
    }

    TULLE_GATHERS_INLINE bool is_sound() const
    {
        const __m512i largest = _mm512_max_epu32(largest_of_16_, _mm512_zextsi256_si512(largest_of_8_));
        return descents_ == 0 && _mm512_cmpgt_epu32_mask(largest, last_) == 0;
    }

private:
    __m512i last_, none_, before_ = none_, largest_of_16_ = _mm512_setzero_si512();
    __m256i largest_of_8_ = _mm256_setzero_si256();
    __mmask16 descents_ = 0;
};

// As multiply_plain, which cannot call what it is not itself compiled for.
template <Order O, class V, class View>
TULLE_GATHERS bool multiply_vectors(const View& a, offset_t first, offset_t last, const Vectors<V>& v)
{
    const auto* const row_begin = a.row_begin;
    const auto* const value = a.value;
    const index_t* const col = a.col;
    const V* const x = v.x;
    V* const y = v.y;
    const V alpha = v.alpha;
    ColumnCheck<O> check(a.cols);
    const offset_t stop = row_begin[last];
    offset_t k = row_begin[first];
    for (offset_t i = first; i < last; ++i) {
        const offset_t end = row_begin[i + 1];
        if (end < k || end > stop) [[unlikely]]
            return false;
        y[i] = alpha * vector_dot(value + k, col + k, end - k, x, check);
        k = end;
    }
    return check.is_sound();
}

#else

template <Order O, class V, class View>
bool multiply_vectors(const View& a, offset_t first, offset_t last, const Vectors<V>& v)
{
    return multiply_plain<2, O>(a, first, last, v);
}

#endif

template <Order O, class V, class View>
bool multiply_in(const View& a, offset_t first, offset_t last, int lanes, const Vectors<V>& v)
{
    if (lanes == 8 && has_gathers()) return multiply_vectors<O>(a, first, last, v);
    return lanes == 1 ? multiply_plain<1, O>(a, first, last, v) : multiply_plain<2, O>(a, first, last, v);
}

}  // namespace

template <class V, class View>
bool multiply_checked(const View& a, offset_t first, offset_t last, int lanes, const Vectors<V>& v)
{
    const offset_t begin = a.row_begin[first], end = a.row_begin[last];
    if (begin < 0 || end < begin || end > a.nonzeros || (a.cols <= 0 && begin < end)) return false;
    switch (order_of(columns_of(a))) {
    case Order::none: return multiply_in<Order::none>(a, first, last, lanes, v);
    case Order::ascending: return multiply_in<Order::ascending>(a, first, last, lanes, v);
    case Order::strict: break;
    }
    return multiply_in<Order::strict>(a, first, last, lanes, v);
}

template bool multiply_checked(const CsrView<float>&, offset_t, offset_t, int, const Vectors<float>&);
template bool multiply_checked(const CsrView<double>&, offset_t, offset_t, int, const Vectors<double>&);
template bool multiply_checked(const CsrView<float>&, offset_t, offset_t, int, const Vectors<double>&);
template bool multiply_checked(const Csr32View<float>&, offset_t, offset_t, int, const Vectors<float>&);
template bool multiply_checked(const Csr32View<double>&, offset_t, offset_t, int, const Vectors<double>&);
template bool multiply_checked(const Csr32View<float>&, offset_t, offset_t, int, const Vectors<double>&);

}  // namespace tulle::inline TULLE_ABI::spmv
