// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Two passes over what is stored, count and fill, with a scan between them. Rows that come out in another order than
// ascending are sorted.
#include "sptrsv/analysis.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "prim/scan.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {
namespace {

// Where an entry stands in the order of solving.
struct Spot {
    index_t row, col;
};

Spot spot_of(const TriangleSource& s, index_t i, index_t j)
{
    if (s.transpose) std::swap(i, j);
    return s.upper ? Spot{s.rows - 1 - i, s.rows - 1 - j} : Spot{i, j};
}

// f(spot, position) for every entry of a row of what is stored.
template <class F>
void each_entry(const TriangleSource& s, index_t i, F&& f)
{
    for (offset_t k = s.row_begin[i]; k < s.row_begin[i + 1]; ++k) f(spot_of(s, i, s.col[k]), k);
}

// Rows of what is stored are rows of the triangle, and can be looked at by several threads at once, unless it is
// transposed.
int threads_for(const CpuQueue& host, const TriangleSource& s) { return s.transpose ? 1 : host.threads; }

[[noreturn]] void refuse_other_side(const TriangleSource& s, index_t stored_row)
{
    each_entry(s, stored_row, [&](Spot spot, offset_t) {
        if (spot.col <= spot.row) return;
        const index_t i = s.upper ? s.rows - 1 - spot.row : spot.row, j = s.upper ? s.rows - 1 - spot.col : spot.col;
        throw ValueError(concat("row ", i, ", column ", j, " (counted from 0): an entry ", s.upper ? "below" : "above",
                                " the diagonal of ", s.upper ? "an upper" : "a lower", " triangle"),
                         "set Options::other_side to ignore to solve with one triangle of a general matrix");
    });
    throw ValueError("an entry on the wrong side of the diagonal");
}

void count(const CpuQueue& host, const TriangleSource& s, Triangle& t)
{
    std::fill_n(t.row_begin.data(), t.rows + offset_t{1}, offset_t{0});
    index_t wrong = s.rows, twice = s.rows;  // first rows with an entry on the other side, with a diagonal stored twice
#pragma omp parallel for num_threads(threads_for(host, s)) schedule(static) reduction(min : wrong, twice)
    for (index_t i = 0; i < s.rows; ++i)
        each_entry(s, i, [&](Spot spot, offset_t k) {
            if (spot.col < spot.row) {
                ++t.row_begin.data()[spot.row];
            } else if (spot.col > spot.row) {
                if (!s.ignore_other_side) wrong = std::min(wrong, i);
            } else if (!s.unit_diagonal) {
                offset_t& diagonal = t.diagonal.data()[spot.row];
                if (diagonal >= 0) twice = std::min(twice, i);
                diagonal = k;
            }
        });
    if (wrong < s.rows) refuse_other_side(s, wrong);
    require<ValueError>(
        twice == s.rows, [&] { return concat("row ", twice, " (counted from 0): the diagonal is stored twice"); },
        "add duplicates with tulle::sum_duplicates");
}

// Ascending columns, with their sources. `entries` has room for the row.
void sort_row(Triangle& t, index_t row, std::vector<std::pair<index_t, offset_t>>& entries)
{
    const offset_t begin = t.row_begin.data()[row], end = t.row_begin.data()[row + 1];
    index_t* col = t.col.data();
    if (std::is_sorted(col + begin, col + end)) return;
    entries.clear();
    for (offset_t k = begin; k < end; ++k) entries.emplace_back(col[k], t.source.data()[k]);
    std::sort(entries.begin(), entries.end());
    for (offset_t k = begin; k < end; ++k)
        std::tie(col[k], t.source.data()[k]) = entries[static_cast<std::size_t>(k - begin)];
}

// Columns of a reversed row come out descending.
void turn_row(Triangle& t, index_t row)
{
    const offset_t begin = t.row_begin.data()[row], end = t.row_begin.data()[row + 1];
    if (end - begin < 2 || t.col.data()[begin] < t.col.data()[begin + 1]) return;
    std::reverse(t.col.data() + begin, t.col.data() + end);
    std::reverse(t.source.data() + begin, t.source.data() + end);
}

void refuse_twice(const Triangle& t, index_t row)
{
    const index_t *first = t.col.data() + t.row_begin.data()[row], *last = t.col.data() + t.row_begin.data()[row + 1];
    const index_t* twice = std::adjacent_find(first, last);
    require<ValueError>(
        twice == last,
        [&] { return concat("row ", t.row_of(row), ", column ", t.row_of(*twice), " (counted from 0): stored twice"); },
        "add duplicates with tulle::sum_duplicates");
}

void fill(const CpuQueue& host, const TriangleSource& s, Triangle& t)
{
    Buffer<offset_t> next(host, t.rows);
    std::copy_n(t.row_begin.data(), t.rows, next.data());
    bool sorted = true;
    index_t twice = t.rows;
#pragma omp parallel for num_threads(threads_for(host, s)) schedule(static)
    for (index_t i = 0; i < s.rows; ++i)
        each_entry(s, i, [&](Spot spot, offset_t k) {
            if (spot.col >= spot.row) return;
            const offset_t at = next.data()[spot.row]++;
            t.col.data()[at] = spot.col;
            t.source.data()[at] = k;
        });
#pragma omp parallel for num_threads(host.threads) schedule(static) reduction(&& : sorted) reduction(min : twice)
    for (index_t i = 0; i < t.rows; ++i) {
        turn_row(t, i);
        const index_t *first = t.col.data() + t.row_begin.data()[i], *last = t.col.data() + t.row_begin.data()[i + 1];
        sorted = sorted && std::is_sorted(first, last);
        if (std::adjacent_find(first, last) != last) twice = std::min(twice, i);
    }
    if (!sorted) {
        std::vector<std::pair<index_t, offset_t>> entries;
        for (index_t i = 0; i < t.rows; ++i) {
            sort_row(t, i, entries);
            refuse_twice(t, i);
        }
    }
    if (twice < t.rows) refuse_twice(t, twice);
}

}  // namespace

void touch(const CpuQueue& host, void* data, std::size_t bytes)
{
    constexpr std::size_t page = 4096,
                          worth_sharing =
                              4096 *
                              page;  // a page takes some 0.2 µs; threads that are woken stop now and then for 2 to 9 ms
    if (bytes <= worth_sharing) return;
    volatile char* at = static_cast<char*>(data);
#pragma omp parallel for num_threads(host.threads) schedule(static)
    for (std::size_t k = 0; k < bytes; k += page) at[k] = 0;
}

Triangle make_triangle(const CpuQueue& host, const TriangleSource& stored)
{
    Triangle t{{.rows = stored.rows,
                .reversed = stored.upper,
                .row_begin = Buffer<offset_t>(host, offset_t{stored.rows} + 1)},
               {}};
    if (!stored.unit_diagonal) {
        t.diagonal = Buffer<offset_t>(host, t.rows);
        std::fill_n(t.diagonal.data(), t.rows, offset_t{-1});
    }
    count(host, stored, t);
    prim::exclusive_scan(host, t.row_begin.data(), t.row_begin.data(), t.rows);
    t.col = Buffer<index_t>(host, t.row_begin.data()[t.rows]);
    t.source = Buffer<offset_t>(host, t.row_begin.data()[t.rows]);
    fill(host, stored, t);
    if (stored.unit_diagonal) return t;
    for (index_t k = 0; k < t.rows; ++k) {
        const index_t i = t.reversed ? t.rows - 1 - k : k;  // the first in the caller's order is named
        require<ValueError>(
            t.diagonal.data()[i] >= 0,
            [&] {
                return concat("row ", t.row_of(i),
                              " (counted from 0): no diagonal entry is stored, the triangle is singular");
            },
            "store it, or set Options::unit_diagonal");
    }
    return t;
}

}  // namespace tulle::inline TULLE_ABI::sptrsv
