// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What choose() wants to know of a matrix, and whether it may be used at all: row by row, in one pass.
#include <algorithm>
#include <cstdint>

#include "base/math.hpp"
#include "spmv/cpu/columns.hpp"
#include "spmv/steps.hpp"

namespace tulle::inline TULLE_ABI::spmv {
namespace {

constexpr index_t slice = 32;

template <class M>
bool looks_like(const CsrView<M>& a, index_t row, offset_t step)
{
    if (row == 0) return false;
    const offset_t r = a.row_begin[row], p = a.row_begin[row - 1], length = a.row_begin[row + 1] - r;
    if (length != r - p || length <= 0 || p < 0) return false;
    const auto same = [&](offset_t k) { return a.col[r + k] == a.col[p + k] + step; };
    return same(0) && same(length / 2) && same(length - 1);
}

// From first to last column of a row; cut to what an index can be, so that columns out of range do no harm.
template <class M>
index_t width_of(const CsrView<M>& a, offset_t begin, offset_t end)
{
    if (end == begin) return 0;
    const offset_t width = offset_t{a.col[end - 1]} - a.col[begin];
    return static_cast<index_t>(std::min(width < 0 ? -width : width, offset_t{max_index}));
}

template <class M>
Survey survey_slice(const CsrView<M>& a, index_t first, bool whole)
{
    Survey s;
    offset_t slice_width = 0;
    for (index_t i = first; i < std::min(a.rows, first + slice); ++i) {
        const offset_t begin = a.row_begin[i], end = a.row_begin[i + 1];
        if (begin < 0 || end < begin || end > a.nonzeros) {
            s.sound = false;
            continue;
        }
        slice_width = std::max(slice_width, end - begin);
        s.row.widest = std::max(s.row.widest, width_of(a, begin, end));
        s.row.steady += i > 0 && end - begin == begin - a.row_begin[i - 1];
        s.row.repeats += looks_like(a, i, 0);
        s.row.shifts += looks_like(a, i, 1);
    }
    if (whole && s.sound)
        s.sound = columns_are_sound(columns_of(a), a.row_begin, first, std::min(a.rows, first + slice));
    s.row.longest = slice_width;
    s.row.padded = slice_width * slice;
    return s;
}

// Lengths of rows and nothing else of them; for products that are done once, where more would cost more than it gains.
template <class View>
Survey lengths_of(const View& a, index_t first, index_t last)
{
    Survey s;
    const auto* const row_begin = a.row_begin;
    offset_t before = -1, longest = 0;
    index_t steady = 0;
    for (index_t i = first; i < last; ++i) {
        const auto length = static_cast<offset_t>(static_cast<std::uint64_t>(row_begin[i + 1]) -
                                                  static_cast<std::uint64_t>(row_begin[i]));  // whatever is there
        longest = std::max(longest, length);
        steady += length == before;
        before = length;
    }
    s.row.longest = longest;
    s.row.steady = steady;
    return s;
}

template <class M>
Survey glance_at(const CsrView<M>& a, index_t first, index_t last, bool whole)
{
    Survey s = lengths_of(a, first, last);
    s.sound = offsets_are_sound(a.row_begin, first, last, a.nonzeros) &&
              (!whole || columns_are_sound(columns_of(a), a.row_begin, first, last));
    return s;
}

void add(Survey& to, const Survey& from)
{
    to.row.rows += from.row.rows;
    to.row.longest = std::max(to.row.longest, from.row.longest);
    to.row.widest = std::max(to.row.widest, from.row.widest);
    to.row.steady += from.row.steady;
    to.row.repeats += from.row.repeats;
    to.row.shifts += from.row.shifts;
    to.row.padded += from.row.padded;
    to.sound = to.sound && from.sound;
}

// What takes no look at the rows.
template <class View>
Survey survey_ends(const View& a)
{
    Survey s;
    s.row = {.rows = a.rows,
             .cols = a.cols,
             .nonzeros = a.nonzeros,
             .mean = a.rows > 0 ? static_cast<double>(a.nonzeros) / a.rows : 0,
             .value_bytes = sizeof(*a.value)};
    s.sound = a.rows == 0 || (a.row_begin[0] == 0 && a.row_begin[a.rows] == a.nonzeros);
    return s;
}

// Lengths of some rows at one of so many places on the merge path, and how many they are.
template <class View>
Survey sample_at(const View& a, int place, int places)
{
    constexpr index_t rows_at_place = 16;
    const offset_t at = (a.rows + a.nonzeros) / places * place;
    const auto row =
        static_cast<index_t>(std::min<offset_t>(a.rows - 1, prim::merge_row(a.row_begin, a.rows, a.nonzeros, at)));
    const index_t last = std::min(a.rows, row + rows_at_place);
    Survey s = lengths_of(a, row, last);
    s.row.rows = last - row;
    return s;
}

#pragma omp declare reduction(sampled:Survey : add(omp_out, omp_in))

// look(first, last) for ranges of rows, added up.
template <class M, class Look>
Survey survey_rows(const CpuQueue& q, const CsrView<M>& a, index_t rows_at_once, const Look& look)
{
    Survey all = survey_ends(a);
#pragma omp parallel num_threads(threads_for(q, a.rows + a.nonzeros))
    {
        Survey mine;
#pragma omp for schedule(static)
        for (index_t s = 0; s < ceil_div(a.rows, rows_at_once); ++s)
            add(mine, look(s * rows_at_once, std::min(a.rows, s * rows_at_once + rows_at_once)));
#pragma omp critical(tulle_spmv_survey)
        add(all, mine);
    }
    if (!a.sorted) all.row.widest = a.cols;
    return all;
}

}  // namespace

template <class M>
Survey survey(const CpuQueue& q, const CsrView<M>& a, bool whole)
{
    return survey_rows(q, a, slice, [&](index_t first, index_t) { return survey_slice(a, first, whole); });
}

template <class M>
Survey glance(const CpuQueue& q, const CsrView<M>& a, bool whole)
{
    constexpr index_t rows_at_once = 256;
    return survey_rows(q, a, rows_at_once,
                       [&](index_t first, index_t last) { return glance_at(a, first, last, whole); });
}

// A row longer than the distance of two places on the merge path lies at one of them. Offsets need not be sound.
template <class View>
Survey sample(const CpuQueue& q, const View& a)
{
    constexpr int places_per_thread = 4;
    Survey s = survey_ends(a);
    if (!s.sound || a.rows == 0) return s;
    const int places = places_per_thread * q.threads;
    Survey seen;
    if (q.threads == 1) {  // a region would take longer
        for (int p = 0; p < places; ++p) add(seen, sample_at(a, p, places));
    } else {
#pragma omp parallel for num_threads(q.threads) schedule(static) reduction(sampled : seen)
        for (int p = 0; p < places; ++p) add(seen, sample_at(a, p, places));
    }
    s.row.longest = seen.row.longest;
    s.row.steady = static_cast<index_t>(static_cast<double>(seen.row.steady) / seen.row.rows * a.rows);
    if (!a.sorted) s.row.widest = a.cols;
    return s;
}

template Survey sample(const CpuQueue&, const CsrView<float>&);
template Survey sample(const CpuQueue&, const CsrView<double>&);
template Survey sample(const CpuQueue&, const Csr32View<float>&);
template Survey sample(const CpuQueue&, const Csr32View<double>&);
template Survey glance(const CpuQueue&, const CsrView<float>&, bool);
template Survey glance(const CpuQueue&, const CsrView<double>&, bool);
template Survey survey(const CpuQueue&, const CsrView<float>&, bool);
template Survey survey(const CpuQueue&, const CsrView<double>&, bool);

}  // namespace tulle::inline TULLE_ABI::spmv
