// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Most of the check is a loop over all nonzeros of some rows that knows nothing of rows and so uses vectors: it counts
// neighbours that do not ascend. Those between two rows are no fault; they are counted row by row, and there is one
// count where there is no fault. Where columns ascend, the first and the last of a row tell that all are in range.
#include "spmv/cpu/columns.hpp"

#include <algorithm>
#include <cstring>

#include "base/machine.hpp"
#include "base/vector.hpp"

#pragma GCC diagnostic ignored "-Wpsabi"  // vectors are passed between functions that are always inlined

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

// Unless columns must ascend strictly, equal ones may follow each other. Of numbers or of vectors of them.
template <bool Strict, class T>
[[gnu::always_inline]] inline auto descends(T from, T to)
{
    if constexpr (Strict) return from >= to;
    else return from > to;
}

// The places in first … end-1 where `test(k)` holds; `tests(k)` has -1 for those among Count places from k on.
template <int Count, class Test, class Tests>
[[gnu::always_inline]] inline offset_t count_places(offset_t first, offset_t end, const Test& test, const Tests& tests)
{
    constexpr offset_t block = 1 << 16;  // places after which counts of 32 bits are added up
    constexpr int step = vectors_at_once * Count;
    offset_t all = 0, k = first;
    while (k + step <= end) {
        simd::Vector<index_t, Count> found[vectors_at_once] = {};
        for (const offset_t stop = std::min(end - step, k + block); k <= stop; k += step)
            for (int v = 0; v < vectors_at_once; ++v) found[v] -= tests(k + v * Count);
        for (const auto& some : found)
            for (int i = 0; i < Count; ++i) all += some[i];
    }
    for (; k < end; ++k) all += test(k);
    return all;
}

// Neighbours that do not ascend, between rows too, if columns are sorted; else columns out of range.
template <int Count, bool Strict>
[[gnu::always_inline]] inline offset_t count_descents(const index_t* col, offset_t begin, offset_t end, index_t)
{
    return count_places<Count>(
        begin + 1, end, [&](offset_t k) { return descends<Strict>(col[k - 1], col[k]); },
        [&](offset_t k) { return descends<Strict>(load_columns<Count>(col + k - 1), load_columns<Count>(col + k)); });
}
template <int Count>
[[gnu::always_inline]] inline offset_t count_outside(const index_t* col, offset_t begin, offset_t end, index_t cols)
{
    return count_places<Count>(
        begin, end, [&](offset_t k) { return col[k] < 0 || col[k] >= cols; },
        [&](offset_t k) {
            const auto c = load_columns<Count>(col + k);
            return (c < 0) | (c >= cols);
        });
}

using CountColumns = offset_t (*)(const index_t*, offset_t, offset_t, index_t);

struct Counters {
    CountColumns descents, strict_descents, outside;
};

template <int Count>
struct Plain {
    static offset_t descents(const index_t* col, offset_t begin, offset_t end, index_t cols)
    {
        return count_descents<Count, false>(col, begin, end, cols);
    }
    static offset_t strict_descents(const index_t* col, offset_t begin, offset_t end, index_t cols)
    {
        return count_descents<Count, true>(col, begin, end, cols);
    }
    static offset_t outside(const index_t* col, offset_t begin, offset_t end, index_t cols)
    {
        return count_outside<Count>(col, begin, end, cols);
    }
};

constexpr Counters plain{&Plain<4>::descents, &Plain<4>::strict_descents, &Plain<4>::outside};

#if defined(__x86_64__)

struct Avx2 {
    [[gnu::target("avx2")]] static offset_t descents(const index_t* col, offset_t begin, offset_t end, index_t cols)
    {
        return count_descents<8, false>(col, begin, end, cols);
    }
    [[gnu::target("avx2")]] static offset_t strict_descents(const index_t* col, offset_t begin, offset_t end,
                                                            index_t cols)
    {
        return count_descents<8, true>(col, begin, end, cols);
    }
    [[gnu::target("avx2")]] static offset_t outside(const index_t* col, offset_t begin, offset_t end, index_t cols)
    {
        return count_outside<8>(col, begin, end, cols);
    }
};

Counters best_counters()
{
    if (simd::machine() == simd::Machine::plain) return plain;
    return {&Avx2::descents, &Avx2::strict_descents, &Avx2::outside};
}

#else

Counters best_counters() { return plain; }

#endif

const Counters& counters()
{
    static const Counters found = best_counters();
    return found;
}

// The descents between the last column of a row and the first of the next; -1 where one of these is out of range.
template <bool Strict>
offset_t descents_between_rows(const Pattern& a, offset_t first, offset_t last)
{
    const offset_t *const row_begin = a.row_begin, begin = row_begin[first], end = row_begin[last];
    const index_t* const col = a.col;
    offset_t descents = 0, at = begin;
    index_t low = std::min(col[begin], col[end - 1]), high = std::max(col[begin], col[end - 1]);
    for (offset_t i = first + 1; i < last; ++i) {
        const offset_t next = row_begin[i];
        const bool starts = (next > at) & (next < end);  // else the row before is empty, or all from here on
        const offset_t k = starts ? next : begin;
        const index_t before = col[k - starts], after = col[k];
        descents += starts & descends<Strict>(before, after);
        low = std::min(low, after);
        high = std::max(high, before);
        at = next;
    }
    return low >= 0 && high < a.cols ? descents : -1;
}

template <bool Strict>
bool sorted_rows_are_sound(const Pattern& a, offset_t first, offset_t last)
{
    const offset_t begin = a.row_begin[first], end = a.row_begin[last];
    const auto count = Strict ? counters().strict_descents : counters().descents;
    return count(a.col, begin, end, a.cols) == descents_between_rows<Strict>(a, first, last);
}

}  // namespace

bool offsets_are_sound(const offset_t* row_begin, offset_t first, offset_t last, offset_t nonzeros)
{
    offset_t descents = 0;
    for (offset_t i = first; i < last; ++i) descents += row_begin[i + 1] < row_begin[i];
    return descents == 0 && row_begin[first] >= 0 && row_begin[last] <= nonzeros;
}

bool columns_are_sound(const Pattern& a, offset_t first, offset_t last)
{
    const offset_t begin = a.row_begin[first], end = a.row_begin[last];
    if (begin == end) return true;
    if (!a.sorted) return counters().outside(a.col, begin, end, a.cols) == 0;
    return a.unique ? sorted_rows_are_sound<true>(a, first, last) : sorted_rows_are_sound<false>(a, first, last);
}

}  // namespace tulle::inline TULLE_ABI::spmv
