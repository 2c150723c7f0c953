// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Most of the check is a loop over all nonzeros of some rows that knows nothing of rows and so uses vectors: it counts
// neighbours that do not ascend. Those between two rows are no fault; they are counted row by row, and there is one
// count where there is no fault.
#include "spmv/cpu/columns.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "base/machine.hpp"
#include "base/vector.hpp"

namespace tulle::inline TULLE_ABI::spmv {
namespace {

constexpr int vectors_at_once = 4;

template <int Count>
[[gnu::always_inline]] inline simd::Vector<index_t, Count> load_columns(const index_t* from)
{
    simd::Vector<index_t, Count> v;
    std::memcpy(&v, from, sizeof(v));
    return v;
}

template <class T>
[[gnu::always_inline]] inline T greater_of(const T& a, const T& b)
{
    return a > b ? a : b;
}

// Descents in `step` columns at a time from k on, which is moved; and the largest columns, of which negative ones are
// the largest of all.
template <int Count, Order O>
struct Blocks {
    static constexpr offset_t step = vectors_at_once * Count;
    static constexpr offset_t most_places = 1 << 16;  // after which counts of 32 bits are added up

    simd::Vector<std::uint32_t, Count> largest[vectors_at_once] = {};

    [[gnu::always_inline]] offset_t count(const index_t* col, offset_t& k, offset_t end)
    {
        simd::Vector<index_t, Count> found[vectors_at_once] = {};
        for (const offset_t stop = std::min(end - step, k + most_places); k <= stop; k += step)
            for (int v = 0; v < vectors_at_once; ++v) {
                const auto here = load_columns<Count>(col + k + v * Count);
                largest[v] = greater_of(largest[v], simd::bits_as<simd::Vector<std::uint32_t, Count>>(here));
                if constexpr (O != Order::none)
                    found[v] -= descends<O>(load_columns<Count>(col + k + v * Count - 1), here);
            }
        offset_t all = 0;
        for (const auto& some : found)
            for (int i = 0; i < Count; ++i) all += some[i];
        return all;
    }
};

template <int Count, Order O>
[[gnu::always_inline]] inline offset_t count_in(const index_t* col, offset_t begin, offset_t end, index_t cols)
{
    if (begin == end) return 0;
    Blocks<Count, O> blocks;
    auto largest = static_cast<std::uint32_t>(col[begin]);
    offset_t all = 0, k = begin + 1;
    while (k + blocks.step <= end) all += blocks.count(col, k, end);
    for (; k < end; ++k) {
        largest = greater_of(largest, static_cast<std::uint32_t>(col[k]));
        if constexpr (O != Order::none) all += descends<O>(col[k - 1], col[k]);
    }
    for (const auto& some : blocks.largest)
        for (int i = 0; i < Count; ++i) largest = greater_of(largest, some[i]);
    return largest < static_cast<std::uint32_t>(cols) ? all : -1;
}

using CountColumns = offset_t (*)(const index_t*, offset_t, offset_t, index_t);

using Counters = std::array<CountColumns, 3>;  // by Order

template <int Count, Order O>
offset_t count_plain(const index_t* col, offset_t begin, offset_t end, index_t cols)
{
    return count_in<Count, O>(col, begin, end, cols);
}

constexpr Counters plain{&count_plain<4, Order::none>, &count_plain<4, Order::ascending>,
                         &count_plain<4, Order::strict>};

#if defined(__x86_64__)

template <Order O>
[[gnu::target("avx2")]] offset_t count_avx2(const index_t* col, offset_t begin, offset_t end, index_t cols)
{
    return count_in<8, O>(col, begin, end, cols);
}

Counters best_counters()
{
    if (simd::machine() == simd::Machine::plain) return plain;
    return {&count_avx2<Order::none>, &count_avx2<Order::ascending>, &count_avx2<Order::strict>};
}

#else

Counters best_counters() { return plain; }

#endif

const Counters& counters()
{
    static const Counters found = best_counters();
    return found;
}

// The descents between the last column of a row and the first of the next.
template <Order O>
offset_t descents_between_rows(const index_t* col, const offset_t* row_begin, offset_t first, offset_t last)
{
    const offset_t begin = row_begin[first], end = row_begin[last];
    if (begin == end) return 0;  // there may be no columns to look at
    offset_t descents = 0, at = begin;
    for (offset_t i = first + 1; i < last; ++i) {
        const offset_t next = row_begin[i];
        const bool starts = (next > at) & (next < end);  // else the row before is empty, or all from here on
        const offset_t k = starts ? next : begin;
        descents += starts & descends<O>(col[k - starts], col[k]);
        at = next;
    }
    return descents;
}

}  // namespace

bool offsets_are_sound(const offset_t* row_begin, offset_t first, offset_t last, offset_t nonzeros)
{
    offset_t descents = 0;
    for (offset_t i = first; i < last; ++i) descents += row_begin[i + 1] < row_begin[i];
    return descents == 0 && row_begin[first] >= 0 && row_begin[last] <= nonzeros;
}

offset_t count_descents(const Columns& a, offset_t begin, offset_t end)
{
    return counters()[static_cast<std::size_t>(order_of(a))](a.col, begin, end, a.cols);
}

bool columns_are_sound(const Columns& a, const offset_t* row_begin, offset_t first, offset_t last)
{
    const offset_t descents = count_descents(a, row_begin[first], row_begin[last]);
    switch (order_of(a)) {
    case Order::none: return descents == 0;
    case Order::ascending: return descents == descents_between_rows<Order::ascending>(a.col, row_begin, first, last);
    case Order::strict: break;
    }
    return descents == descents_between_rows<Order::strict>(a.col, row_begin, first, last);
}

}  // namespace tulle::inline TULLE_ABI::spmv
