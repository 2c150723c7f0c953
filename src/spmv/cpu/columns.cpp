// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Columns are checked over all nonzeros of some rows in one loop that knows nothing of rows and so becomes vectors.
// Comparisons are signed: these are the ones that every x86-64 has.
#include "spmv/cpu/columns.hpp"

#include "base/machine.hpp"

namespace tulle::inline TULLE_ABI::spmv {
namespace {

// Unless columns must ascend strictly, equal ones may follow each other.
template <bool Strict>
[[gnu::always_inline]] inline bool descends(index_t from, index_t to)
{
    return Strict ? !(from < to) : to < from;
}

// The number of neighbours that do not ascend, between rows too; -1 where a column is out of range.
template <bool Strict>
[[gnu::always_inline]] inline offset_t count_descents(const index_t* col, offset_t begin, offset_t end, index_t cols)
{
    constexpr offset_t block = 1 << 16;  // so that counts of 32 bits suffice
    const index_t most = cols - 1;
    index_t outside = col[begin] | (col[begin] > most ? -1 : 0);  // negative: one of them is
    offset_t all = 0;
    for (offset_t from = begin + 1; from < end; from += block) {
        const offset_t to = from + block < end ? from + block : end;
        index_t descents = 0, above = 0, sign = 0;
        for (offset_t k = from; k < to; ++k) {
            descents += descends<Strict>(col[k - 1], col[k]);
            above |= col[k] > most ? -1 : 0;
            sign |= col[k];
        }
        all += descents;
        outside |= above | sign;
    }
    return outside < 0 ? -1 : all;
}

using Count = offset_t (*)(const index_t*, offset_t, offset_t, index_t);

template <bool Strict>
offset_t count_plain(const index_t* col, offset_t begin, offset_t end, index_t cols)
{
    return count_descents<Strict>(col, begin, end, cols);
}

#if defined(__x86_64__)

template <bool Strict>
[[gnu::target("avx2")]] offset_t count_avx2(const index_t* col, offset_t begin, offset_t end, index_t cols)
{
    return count_descents<Strict>(col, begin, end, cols);
}

template <bool Strict>
Count best_count()
{
    return simd::machine() == simd::Machine::plain ? &count_plain<Strict> : &count_avx2<Strict>;
}

#else

template <bool Strict>
Count best_count()
{
    return &count_plain<Strict>;
}

#endif

// Those between the last column of a row and the first of the next, which are no fault.
template <bool Strict>
offset_t descents_between_rows(const Pattern& a, offset_t first, offset_t last)
{
    const offset_t begin = a.row_begin[first];
    offset_t count = 0;
    for (offset_t i = first; i < last; ++i) {
        const bool starts = (a.row_begin[i] > begin) & (a.row_begin[i] < a.row_begin[i + 1]);
        const offset_t at = starts ? a.row_begin[i] : begin;
        count += starts & descends<Strict>(a.col[at - starts], a.col[at]);
    }
    return count;
}

template <bool Strict>
bool are_sound(const Pattern& a, offset_t first, offset_t last)
{
    static const Count count = best_count<Strict>();
    const offset_t descents = count(a.col, a.row_begin[first], a.row_begin[last], a.cols);
    if (descents <= 0 || !a.sorted) return descents >= 0;
    return descents == descents_between_rows<Strict>(a, first, last);
}

}  // namespace

bool columns_are_sound(const Pattern& a, offset_t first, offset_t last)
{
    if (a.row_begin[first] == a.row_begin[last]) return true;
    return a.unique ? are_sound<true>(a, first, last) : are_sound<false>(a, first, last);
}

}  // namespace tulle::inline TULLE_ABI::spmv
