// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Row by row: a block of columns of a row of C is held in vector registers while the row's nonzeros bring in rows of B.
// The library is compiled for any x86-64; the machine is asked when running for its wider vectors.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/machine.hpp"
#include "base/vector.hpp"
#include "spmm/cpu/neon_rows.hpp"
#include "spmm/cpu/row_kernel.hpp"

namespace tulle::inline TULLE_ABI::spmm {
namespace {

using simd::load;
using simd::store;
using simd::store_all;
using simd::Vector;

// step(0) … step(N - 1). On x86-64 with constants for numbers: GCC 12 keeps an array in memory, stored and loaded again
// for every nonzero, where it still sees a loop over it when it looks for registers.
template <int N, class Step>
[[gnu::always_inline]] inline void repeat(const Step& step)
{
#if defined(__x86_64__)
    [&step]<int... I>(std::integer_sequence<int, I...>) __attribute__((always_inline))
    {
        (step(std::integral_constant<int, I>{}), ...);
    }
    (std::make_integer_sequence<int, N>{});
#else
    for (int i = 0; i < N; ++i) step(i);
#endif
}

// A sum as entry (row, j) of C.
template <class V, class Entry>
[[gnu::always_inline]] inline void put(const RowOperands<V>& o, Entry* c, offset_t row, offset_t j, Sum<V> sum)
{
    Entry* to = c + row * o.c_row + j * o.c_col;
    *to = static_cast<Entry>(o.beta == 0 ? o.alpha * sum : o.alpha * sum + o.beta * static_cast<Sum<V>>(*to));
}

// Calls step with C, whatever its entries are: one loop for each type, as rounding is much of a short row's work.
template <class V, class Step>
[[gnu::always_inline]] inline void with_entries(const RowOperands<V>& o, const Step& step)
{
    if constexpr (!is_own_sum<V>)
        if (o.sums == nullptr) return step(o.rounded);
    step(o.sums);
}

template <class V>
[[gnu::always_inline]] inline bool has_factors(const RowOperands<V>& o)
{
    return !is_own_sum<V> && o.row_scale != nullptr;
}

// Vectors of sums as entries of C; `streams`: past the caches.
template <int Vectors, int Count, class V>
[[gnu::always_inline]] inline void put_vectors(const RowOperands<V>& o, offset_t row, Sum<V>* to,
                                               Vector<Sum<V>, Count> (&sum)[Vectors], bool streams)
{
    const Sum<V> alpha = o.alpha, beta = o.beta;
    const auto scale = [&](auto v) __attribute__((always_inline)) { sum[v] *= o.row_scale[row]; };
    const auto put_past = [&](auto v) __attribute__((always_inline)) { simd::stream(to + v * Count, alpha * sum[v]); };
    const auto put_over = [&](auto v) __attribute__((always_inline)) { store(to + v * Count, alpha * sum[v]); };
    const auto add_to = [&](auto v) __attribute__((always_inline))
    {
        store(to + v * Count, alpha * sum[v] + beta * load<Count>(to + v * Count));
    };
    if (has_factors(o)) repeat<Vectors>(scale);
    if constexpr (simd::can_stream<sizeof(sum[0])> && sizeof(sum) >= cache_line)
        if (streams) return repeat<Vectors>(put_past);
    if (beta == 0) repeat<Vectors>(put_over);
    else repeat<Vectors>(add_to);
}

template <int Vectors, int Count, class V>
[[gnu::always_inline]] inline void put_block(const RowOperands<V>& o, offset_t row, offset_t j,
                                             Vector<Sum<V>, Count> (&sum)[Vectors], bool streams)
{
    if (o.c_col == 1 && (is_own_sum<V> || o.sums != nullptr))
        return put_vectors<Vectors, Count>(o, row, o.sums + row * o.c_row + j, sum, streams);
    Sum<V> one[Vectors * Count];
    store_all<Count>(one, sum, std::make_integer_sequence<int, Vectors>{});
    if (has_factors(o))
        for (Sum<V>& each : one) each *= o.row_scale[row];
    const auto put_all = [&](auto* c) __attribute__((always_inline))
    {
        for (int l = 0; l < Vectors * Count; ++l) put(o, c, row, j + l, one[l]);
    };
    with_entries(o, put_all);
}

// Nonzeros whose rows of B are asked for ahead of their use, where the caches cannot be expected to have them.
inline constexpr offset_t ahead = 16;

// Addresses and factors are loaded one nonzero before their products on processors that do not look far enough ahead
// themselves, and loads wait for the products of some vectors before, so that compilers find registers for all of them.
#if defined(__aarch64__)
inline constexpr bool loads_early = true;
template <class V, class Products>
[[gnu::always_inline]] inline void load_after(const V*& from, const Products& products)
{
    asm("" : "+r"(from) : "w"(products));
}
#else
inline constexpr bool loads_early = false;
template <class V, class Products>
[[gnu::always_inline]] inline void load_after(const V*&, const Products&)
{}
#endif

// A block of columns of `Rows` rows of C that have the same columns in A, from column j on; rows of B are contiguous
// and loaded once for all of these rows. With two sums even and odd nonzeros are added up apart.
template <int Rows, int Vectors, int Count, int Sums, bool Ahead, class V>
[[gnu::always_inline]] inline void multiply_block(const CsrView<V>& a, offset_t row, const RowOperands<V>& o,
                                                  offset_t j, bool streams)
{
    using S = Sum<V>;
    constexpr bool early = loads_early && !Ahead;
    constexpr int at_a_time = 4;  // vectors that are loaded before their products
    const V* const b = o.b + j;
    const offset_t b_row = o.b_row, begin = a.row_begin[row], length = a.row_begin[row + 1] - begin;
    const V* const value = a.value + begin;
    const index_t* const col = a.col + begin;
    Vector<S, Count> sum[Sums][Rows][Vectors] = {};
    const V* from = b;
    S scale[Rows] = {};
    const auto find = [&](offset_t k) __attribute__((always_inline))
    {
        from = b + col[k] * b_row;
        asm("" : "+r"(from));  // one address for all vectors, where GCC would compute one for each
        repeat<Rows>([&](auto r) __attribute__((always_inline)) { scale[r] = static_cast<S>(value[k + r * length]); });
    };
    if (early && length > 0) find(0);
    const auto add = [&](Vector<S, Count>(&to)[Rows][Vectors], offset_t k) __attribute__((always_inline))
    {
        if constexpr (Ahead) {
            const V* const later = b + col[k + ahead] * b_row;
            for (std::size_t c = 0; c < Vectors * Count; c += cache_line / sizeof(V)) __builtin_prefetch(later + c);
        }
        if constexpr (!early) find(k);
        const V* here = from;
        S factor[Rows];
        repeat<Rows>([&](auto r) __attribute__((always_inline)) { factor[r] = scale[r]; });
        if constexpr (early) find(k + 1 < length ? k + 1 : k);
        const auto add_vector = [&](auto v) __attribute__((always_inline))
        {
            const Vector<S, Count> loaded = load<Count>(here + v * Count);
            repeat<Rows>([&](auto r) __attribute__((always_inline)) { to[r][v] += factor[r] * loaded; });
            if (early && v % at_a_time == at_a_time - 1 && v + 1 < Vectors) load_after(here, to[Rows - 1][v]);
        };
        repeat<Vectors>(add_vector);
    };
    offset_t k = 0;
    if constexpr (Sums == 2)
        for (; k + 1 < length; k += 2) {
            add(sum[0], k);
            add(sum[1], k + 1);
        }
    for (; k < length; ++k) add(sum[0], k);
    repeat<Rows>([&](auto r) __attribute__((always_inline)) {
        if constexpr (Sums == 2)
            repeat<Vectors>([&](auto v) __attribute__((always_inline)) { sum[0][r][v] += sum[1][r][v]; });
        put_block<Vectors, Count>(o, row + r, j, sum[0][r], streams);
    });
}

#if defined(__aarch64__)
// Three rows and eight vectors have a loop of their own (neon_rows.hpp). The nonzeros of the next three rows are asked
// for: they are four streams, each too short for the processor to foresee.
template <int Count, class V>
[[gnu::always_inline]] inline void multiply_three(const CsrView<V>& a, offset_t row, const RowOperands<V>& o,
                                                  offset_t j, bool streams)
{
    const offset_t begin = a.row_begin[row], length = a.row_begin[row + 1] - begin, next = begin + 3 * length;
    const auto line = [](std::size_t bytes) { return static_cast<offset_t>(cache_line / bytes); };
    for (offset_t k = 0; k < 3 * length; k += line(sizeof(V))) __builtin_prefetch(a.value + next + k);
    for (offset_t k = 0; k < length; k += line(sizeof(index_t))) __builtin_prefetch(a.col + next + k);
    Vector<V, Count> sum[3][8];
    add_three_rows(a.col + begin, a.value + begin, length, o.b + j, o.b_row * static_cast<offset_t>(sizeof(V)),
                   reinterpret_cast<V*>(sum));
    for (int r = 0; r < 3; ++r) put_block<8, Count>(o, row + r, j, sum[r], streams);
}
#endif

// One entry of C before alpha, whatever the strides; added up as in the blocks.
template <int Sums, class V>
[[gnu::always_inline]] inline Sum<V> sum_of_one(const CsrView<V>& a, offset_t row, const RowOperands<V>& o, offset_t j)
{
    using S = Sum<V>;
    S sum[2] = {};
    const offset_t begin = a.row_begin[row], end = a.row_begin[row + 1], paired = begin + (end - begin) / 2 * 2;
    for (offset_t k = begin; k < end; ++k)
        sum[Sums == 2 && k < paired && (k - begin) % 2 == 1] +=
            static_cast<S>(a.value[k]) * static_cast<S>(o.b[a.col[k] * o.b_row + j * o.b_col]);
    const S all = sum[0] + sum[1];
    return has_factors(o) ? all * o.row_scale[row] : all;
}

// The columns from j on, one by one.
template <int Sums, class V>
[[gnu::always_inline]] inline void multiply_columns(const CsrView<V>& a, offset_t begin, offset_t end,
                                                    const RowOperands<V>& o, offset_t j)
{
    const auto put_all = [&](auto* c) __attribute__((always_inline))
    {
        for (; j < o.n; ++j)
            for (offset_t row = begin; row < end; ++row) put(o, c, row, j, sum_of_one<Sums>(a, row, o, j));
    };
    with_entries(o, put_all);
}

// Rows of A with the same columns in the same order follow each other where a node has several unknowns. Up to so many
// are multiplied together. Fewer columns than a cache line are not worth the comparison.
inline constexpr int most_rows_together = 3;

// As matrix::equals_predecessor, several columns at a time: the comparison is a tenth of the product otherwise.
template <class V>
bool has_columns_of_predecessor(const CsrView<V>& a, offset_t row)
{
    const offset_t before = a.row_begin[row - 1], begin = a.row_begin[row], length = begin - before;
    if (length == 0 || a.row_begin[row + 1] - begin != length || a.col[before] != a.col[begin]) return false;
    return std::memcmp(a.col + before, a.col + begin, static_cast<std::size_t>(length) * sizeof(index_t)) == 0;
}

// How many rows from `row` on, before `end`, are multiplied together.
template <class V>
int rows_together(const CsrView<V>& a, offset_t row, offset_t end)
{
    int rows = 1;
    while (rows < most_rows_together && row + rows < end && has_columns_of_predecessor(a, row + rows)) ++rows;
    return rows;
}

// Whether a third of the rows of [begin, end) or more have the columns of the row before. Some rows stand for all.
template <class V>
bool repeats_rows(const CsrView<V>& a, offset_t begin, offset_t end)
{
    constexpr offset_t samples = 12;
    offset_t found = 0;
    for (offset_t s = 0; s < samples && end - begin > 1; ++s)
        if (has_columns_of_predecessor(a, begin + 1 + (end - 2 - begin) * s / samples)) ++found;
    return 3 * found >= samples;
}

// Sums in registers of rows that are multiplied together. Compilers load far ahead of the products: with 24 of 32
// registers GCC keeps sums in memory. The loop for three rows on ARM has that many.
#if defined(__x86_64__)
inline constexpr int most_sums = 12;
#elif defined(__aarch64__)
inline constexpr int most_sums = 24;
#else
inline constexpr int most_sums = 16;
#endif

// A block of columns of some rows with the same columns of A, in parts that the registers hold.
template <int Rows, int Vectors, int Count, int Sums, class V>
[[gnu::always_inline]] inline void multiply_together(const CsrView<V>& a, offset_t row, const RowOperands<V>& o,
                                                     offset_t j, bool streams)
{
    if constexpr (Vectors > 1 && Rows * Vectors * Sums > most_sums) {
        multiply_together<Rows, Vectors / 2, Count, Sums>(a, row, o, j, streams);
        multiply_together<Rows, Vectors / 2, Count, Sums>(a, row, o, j + Vectors / 2 * Count, streams);
#if defined(__aarch64__)
    } else if constexpr (Rows == 3 && Vectors == 8) {
        multiply_three<Count>(a, row, o, j, streams);
#endif
    } else {
        multiply_block<Rows, Vectors, Count, Sums, false>(a, row, o, j, streams);
    }
}

// A block of columns of rows [begin, end).
template <int Vectors, int Count, int Sums, bool Ahead, class V>
[[gnu::always_inline]] inline void multiply_column_block(const CsrView<V>& a, offset_t begin, offset_t end,
                                                         const RowOperands<V>& o, offset_t j, bool streams,
                                                         bool together)
{
    constexpr bool can_share = !Ahead && sizeof(V) >= 4 && Vectors * Count * sizeof(V) >= cache_line;
    int rows = 1;
    for (offset_t row = begin; row < end; row += rows) {
        if constexpr (can_share)
            if (together) {
                rows = rows_together(a, row, end);
                if (rows == 3) multiply_together<3, Vectors, Count, Sums>(a, row, o, j, streams);
                if (rows == 2) multiply_together<2, Vectors, Count, Sums>(a, row, o, j, streams);
                if (rows > 1) continue;
            }
        multiply_block<1, Vectors, Count, Sums, Ahead>(a, row, o, j, streams);
    }
}

// Rows [begin, end), one block of columns after the other: these rows of A stay in a cache, and a block needs less of
// one for rows of B than all columns would.
template <int RegisterBytes, bool Ahead, class V>
[[gnu::always_inline]] inline void multiply_tile(const CsrView<V>& a, offset_t begin, offset_t end,
                                                 const RowOperands<V>& o, bool streams)
{
    constexpr int sums = RegisterBytes == 64 ? 2 : 1;  // four vectors of 64 bytes would wait for each other
    const bool together = repeats_rows(a, begin, end);
    offset_t j = 0;
    if (o.b_col == 1)
        j = simd::for_blocks<RegisterBytes, simd::block_bytes<RegisterBytes>, Sum<V>>(
            o.n, [&](auto vectors, auto count, offset_t first) __attribute__((always_inline)) {
                multiply_column_block<vectors(), count(), sums, Ahead>(a, begin, end, o, first, streams, together);
            });
    multiply_columns<sums>(a, begin, end, o, j);
}

// Whether rows of B that the next row of A needs are mostly those of this row or beside them, where a cache has them or
// the processor foresees them. Some rows of [begin, end) stand for all.
template <class V>
bool repeats_columns(const CsrView<V>& a, offset_t begin, offset_t end)
{
    constexpr offset_t samples = 8;
    constexpr offset_t beside = 2;
    offset_t all = 0, found = 0;
    for (offset_t s = 0; s < samples; ++s) {
        const offset_t row = begin + (end - 1 - begin) * s / samples;
        offset_t before = a.row_begin[row];
        const offset_t middle = a.row_begin[row + 1], last = row + 2 <= end ? a.row_begin[row + 2] : middle;
        for (offset_t k = middle; k < last; ++k) {
            while (before < middle && a.col[before] < a.col[k] - beside) ++before;
            found += before < middle && a.col[before] <= a.col[k] + beside;
        }
        all += last - middle;
    }
    return 2 * found >= all;
}

// Rows of B are worth asking for ahead: they are more than a cache holds, not those of the row before, and there are
// enough nonzeros behind these rows.
template <class V>
bool asks_ahead(const CsrView<V>& a, offset_t begin, offset_t end, const RowOperands<V>& o)
{
    constexpr offset_t in_cache = offset_t{1} << 19;
    const offset_t row_bytes = std::min<offset_t>(o.n * offset_t{sizeof(V)}, simd::most_block_bytes);
    return o.b_col == 1 && a.cols * row_bytes > in_cache && a.row_begin[end] + ahead <= a.nonzeros &&
           !repeats_columns(a, begin, end);
}

// Rows [begin, end), some at a time.
template <int RegisterBytes, class V>
[[gnu::always_inline]] inline void multiply_range(const CsrView<V>& a, offset_t begin, offset_t end,
                                                  const RowOperands<V>& o, bool streams)
{
    constexpr offset_t tile_nonzeros = 16384;
    const offset_t rows = std::max<offset_t>(1, tile_nonzeros * a.rows / std::max<offset_t>(1, a.nonzeros));
    for (offset_t first = begin; first < end; first += rows) {
        const offset_t last = std::min(end, first + rows);
        if (asks_ahead(a, first, last, o)) multiply_tile<RegisterBytes, true>(a, first, last, o, streams);
        else multiply_tile<RegisterBytes, false>(a, first, last, o, streams);
    }
    if (streams) simd::finish_streams();
}

template <class V>
void multiply_plain(const CsrView<V>& a, offset_t begin, offset_t end, const RowOperands<V>& o, bool streams)
{
    multiply_range<16>(a, begin, end, o, streams);
}

#if defined(__x86_64__)

template <class V>
[[gnu::target("avx2,fma")]] void multiply_avx2(const CsrView<V>& a, offset_t begin, offset_t end,
                                               const RowOperands<V>& o, bool streams)
{
    multiply_range<32>(a, begin, end, o, streams);
}

template <class V>
[[gnu::target("avx512f,avx512bw,avx512vl,avx512dq,fma")]] void multiply_avx512(const CsrView<V>& a, offset_t begin,
                                                                               offset_t end, const RowOperands<V>& o,
                                                                               bool streams)
{
    multiply_range<64>(a, begin, end, o, streams);
}

#endif

}  // namespace

template <class V>
RowKernel<V> best_row_kernel()
{
#if defined(__x86_64__)
    const simd::Machine machine = simd::machine();
    if (machine == simd::Machine::avx512) return &multiply_avx512<V>;
    if (machine == simd::Machine::avx2) return &multiply_avx2<V>;
#endif
    return &multiply_plain<V>;
}

}  // namespace tulle::inline TULLE_ABI::spmm
