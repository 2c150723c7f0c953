// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A matrix in slices: order of the rows, width of the slices, then for each column of a slice the shortest form of its
// matrix columns. Where rows have entries at the same distances from the diagonal, but some of them not all, as at the
// boundary of a grid, the columns of a slice are its diagonals: x is then read in one piece for each.
#include <algorithm>
#include <array>
#include <numeric>

#include "base/math.hpp"
#include "prim/scan.hpp"
#include "prim/sort.hpp"
#include "spmv/sell.hpp"

namespace tulle::inline TULLE_ABI::spmv {
namespace {

Buffer<index_t> sort_rows(const CpuQueue& q, const offset_t* row_begin, index_t rows)
{
    const offset_t places = ceil_div(rows, slice_rows) * offset_t{slice_rows};
    Buffer<std::uint64_t> key(q, rows);
    Buffer<offset_t> row(q, rows);
    Buffer<index_t> list(q, places);
    for (index_t i = 0; i < rows; ++i) {
        key.data()[i] = window_key(i, row_begin[i + 1] - row_begin[i]);
        row.data()[i] = i;
    }
    prim::sort_pairs(q, key.data(), row.data(), rows,
                     32 + prim::bits_for(static_cast<std::uint64_t>(rows / window_rows) + 1));
    for (offset_t i = 0; i < places; ++i) list.data()[i] = i < rows ? static_cast<index_t>(row.data()[i]) : -1;
    return list;
}

// One slice of the matrix: where its rows begin, and how long they are.
struct Slice {
    std::array<offset_t, slice_rows> begin, length;

    Slice(const offset_t* row_begin, const index_t* list, index_t rows, offset_t slice)
    {
        for (int lane = 0; lane < slice_rows; ++lane) {
            const index_t row = row_of(list, rows, slice, lane);
            begin[static_cast<std::size_t>(lane)] = row < 0 ? 0 : row_begin[row];
            length[static_cast<std::size_t>(lane)] = length_of(row_begin, row);
        }
    }
};

struct Form {
    index_t base;
    SellKind kind;
};

// The k-th entries of the rows of a slice, at least one of which is there.
Form form_of(const Slice& slice, const index_t* col, offset_t k, index_t cols)
{
    index_t low = max_index, high = 0, start = -1;
    bool follows = true;
    for (std::size_t lane = 0; lane < slice_rows; ++lane) {
        if (k >= slice.length[lane]) continue;
        const index_t c = col[slice.begin[lane] + k], mine = c - static_cast<index_t>(lane);
        if (low == max_index) start = mine;
        follows = follows && mine == start;
        low = std::min(low, c);
        high = std::max(high, c);
    }
    if (follows && may_follow(start, cols)) return {start, SellKind::follow};
    return {low, kind_for(high - low)};
}

template <class T>
void put_distances(const Slice& slice, const index_t* col, offset_t k, index_t base, std::uint8_t* to)
{
    for (std::size_t lane = 0; lane < slice_rows; ++lane)
        reinterpret_cast<T*>(to)[lane] =
            k < slice.length[lane] ? static_cast<T>(col[slice.begin[lane] + k] - base) : T(0);
}

// As many diagonals as leave a fifth of their places empty.
constexpr std::size_t most_diagonals(offset_t entries)
{
    return static_cast<std::size_t>(entries * 5 / (4 * slice_rows));
}

// Diagonals of a slice: columns of the matrix less the lane, in ascending order.
struct Diagonals {
    static constexpr offset_t most_entries = 1024;  // of a slice: 32 a row
    std::array<index_t, most_diagonals(most_entries)> start;
    std::size_t count = 0;
};

// None where all rows have all of them, which are then the columns anyhow; where more of the places would be empty;
// where x ends before the 32 entries of a diagonal; and where a row does not ascend.
Diagonals diagonals_of(const Slice& slice, const index_t* col, index_t cols)
{
    const offset_t entries = std::accumulate(slice.length.begin(), slice.length.end(), offset_t{0});
    if (entries > Diagonals::most_entries) return {};
    Diagonals d;
    for (std::size_t lane = 0; lane < slice_rows; ++lane) {
        std::size_t at = 0;
        for (offset_t k = 0; k < slice.length[lane]; ++k) {
            const index_t* const c = col + slice.begin[lane] + k;
            if (k > 0 && c[0] <= c[-1]) return {};
            const index_t start = *c - static_cast<index_t>(lane);
            while (at < d.count && d.start[at] < start) ++at;
            if (at < d.count && d.start[at] == start) continue;
            if (d.count == most_diagonals(entries)) return {};
            std::copy_backward(d.start.begin() + at, d.start.begin() + d.count, d.start.begin() + d.count + 1);
            d.start[at] = start;
            ++d.count;
        }
    }
    const bool is_full = static_cast<offset_t>(d.count) * slice_rows == entries;
    return d.count > 0 && !is_full && may_follow(d.start[0], cols) && may_follow(d.start[d.count - 1], cols)
               ? d
               : Diagonals{};
}

// The columns of a slice are diagonals where rows do not have as many entries, and it is not for their length.
bool has_diagonals(const Slice& slice, const SliceSpan& span)
{
    return !span.ragged && std::any_of(slice.length.begin(), slice.length.end(),
                                       [&](offset_t length) { return length != span.end - span.begin; });
}

void put_starts(const Diagonals& d, SellColumn* column)
{
    for (std::size_t j = 0; j < d.count; ++j) column[j].base = d.start[j];
}

// Values at their places; returns the lanes that have an entry. Columns take the entries of every row in their order.
template <class M>
std::uint32_t put_diagonal(const CsrView<M>& a, const Slice& slice, index_t start,
                           std::array<offset_t, slice_rows>& next, M* to)
{
    std::uint32_t lanes = 0;
    for (std::size_t lane = 0; lane < slice_rows; ++lane) {
        const offset_t k = slice.begin[lane] + next[lane];
        const bool here = next[lane] < slice.length[lane] && a.col[k] == start + static_cast<index_t>(lane);
        to[lane] = here ? a.value[k] : M(0);
        lanes |= std::uint32_t{here} << lane;
        next[lane] += here;
    }
    return lanes;
}

// Lengths of all lanes, none where every slice has rows of one length.
Buffer<std::int32_t> lane_lengths(const CpuQueue& q, const offset_t* row_begin, index_t rows, const index_t* list,
                                  const Buffer<offset_t>& slice_begin)
{
    const offset_t slices = slice_begin.size() - 1;
    if (std::none_of(slice_begin.data(), slice_begin.data() + slices, [](offset_t s) { return s % 2 != 0; })) return {};
    Buffer<std::int32_t> length(q, slices * slice_rows);
#pragma omp parallel for num_threads(q.threads) schedule(static)
    for (offset_t s = 0; s < slices; ++s)
        for (int lane = 0; lane < slice_rows; ++lane)
            length.data()[s * slice_rows + lane] =
                static_cast<std::int32_t>(length_of(row_begin, row_of(list, rows, s, lane)));
    return length;
}

// Slices as wide as their longest row, see SliceSpan; how many columns they have together.
template <class M>
offset_t measure_slices(const CpuQueue& q, const CsrView<M>& a, const index_t* list, Buffer<offset_t>& slice_begin)
{
    const offset_t slices = ceil_div(a.rows, slice_rows);
    slice_begin = Buffer<offset_t>(q, slices + 1);
    Buffer<std::uint8_t> ragged(q, slices);
#pragma omp parallel for num_threads(q.threads) schedule(static)
    for (offset_t s = 0; s < slices; ++s) {
        const Slice slice(a.row_begin, list, a.rows, s);
        const auto [shortest, longest] = std::minmax_element(slice.length.begin(), slice.length.end());
        const auto diagonals = static_cast<offset_t>(list == nullptr ? diagonals_of(slice, a.col, a.cols).count : 0);
        slice_begin.data()[s] = diagonals > 0 ? diagonals : *longest;
        ragged.data()[s] = diagonals == 0 && *shortest != *longest;
    }
    prim::exclusive_scan(q, slice_begin.data(), slice_begin.data(), slices);
    const offset_t columns = slice_begin.data()[slices];
    for (offset_t s = 0; s <= slices; ++s)
        slice_begin.data()[s] = slice_begin.data()[s] * 2 + (s < slices ? ragged.data()[s] : 0);
    return columns;
}

}  // namespace

template <class M>
void fill_sell(const CpuQueue& q, const CsrView<M>& a, Sell<M>& s)
{
    const offset_t slices = s.slice_begin.size() - 1;
#pragma omp parallel for num_threads(q.threads) schedule(static)
    for (offset_t number = 0; number < slices; ++number) {
        const SliceSpan span = span_of(s.slice_begin.data(), number);
        const Slice slice(a.row_begin, s.row.data(), a.rows, number);
        if (has_diagonals(slice, span)) {
            std::array<offset_t, slice_rows> next{};
            for (offset_t j = span.begin; j < span.end; ++j)
                put_diagonal(a, slice, s.column.data()[j].base, next, s.value.data() + j * slice_rows);
            continue;
        }
        for (offset_t j = span.begin; j < span.end; ++j)
            for (std::size_t lane = 0; lane < slice_rows; ++lane)
                s.value.data()[j * slice_rows + static_cast<offset_t>(lane)] =
                    j - span.begin < slice.length[lane] ? a.value[slice.begin[lane] + j - span.begin] : M(0);
    }
}

template <class M>
Sell<M> make_sell(const CpuQueue& q, const CsrView<M>& a, bool sort,
                  offset_t)  // counting the places again costs nothing here
{
    Sell<M> s;
    if (sort) s.row = sort_rows(q, a.row_begin, a.rows);
    const offset_t columns = measure_slices(q, a, s.row.data(), s.slice_begin), slices = s.slice_begin.size() - 1;
    s.length = lane_lengths(q, a.row_begin, a.rows, s.row.data(), s.slice_begin);
    Buffer<offset_t> unit(q, columns + 1), diagonal(q, columns + 1);
    s.column = Buffer<SellColumn>(q, columns);
#pragma omp parallel for num_threads(q.threads) schedule(static)
    for (offset_t number = 0; number < slices; ++number) {
        const SliceSpan span = span_of(s.slice_begin.data(), number);
        const Slice slice(a.row_begin, s.row.data(), a.rows, number);
        const bool by_diagonals = has_diagonals(slice, span);
        if (by_diagonals) put_starts(diagonals_of(slice, a.col, a.cols), s.column.data() + span.begin);
        for (offset_t j = span.begin; j < span.end; ++j) {
            diagonal.data()[j] = by_diagonals;
            unit.data()[j] = 0;
            if (by_diagonals) continue;
            const Form form = form_of(slice, a.col, j - span.begin, a.cols);
            s.column.data()[j] = column_of(form.base, form.kind, 0);
            unit.data()[j] = bytes_of(form.kind);
        }
    }
    prim::exclusive_scan(q, unit.data(), unit.data(), columns);
    prim::exclusive_scan(q, diagonal.data(), diagonal.data(), columns);
    require_units(std::max(unit.data()[columns], diagonal.data()[columns] + 1));
    s.lanes = Buffer<std::uint32_t>(q, diagonal.data()[columns]);
    s.distance = Buffer<std::uint8_t>(q, unit.data()[columns] * slice_rows);
    s.value = Buffer<M>(q, columns * slice_rows);
#pragma omp parallel for num_threads(q.threads) schedule(static)
    for (offset_t number = 0; number < slices; ++number) {
        const SliceSpan span = span_of(s.slice_begin.data(), number);
        const Slice slice(a.row_begin, s.row.data(), a.rows, number);
        if (has_diagonals(slice, span)) {
            std::array<offset_t, slice_rows> next{};
            for (offset_t j = span.begin; j < span.end; ++j) {
                SellColumn& column = s.column.data()[j];
                const offset_t place = diagonal.data()[j];
                column = column_of(column.base, SellKind::follow, place + 1);
                s.lanes.data()[place] = put_diagonal(a, slice, column.base, next, s.value.data() + j * slice_rows);
            }
            continue;
        }
        for (offset_t j = span.begin; j < span.end; ++j) {
            SellColumn& column = s.column.data()[j];
            const auto kind = static_cast<SellKind>(column.at % 4);
            column = column_of(column.base, kind, kind == SellKind::follow ? 0 : unit.data()[j]);
            std::uint8_t* const to = s.distance.data() + unit.data()[j] * slice_rows;
            if (kind == SellKind::bytes1) put_distances<std::uint8_t>(slice, a.col, j - span.begin, column.base, to);
            if (kind == SellKind::bytes2) put_distances<std::uint16_t>(slice, a.col, j - span.begin, column.base, to);
            if (kind == SellKind::bytes4) put_distances<std::uint32_t>(slice, a.col, j - span.begin, column.base, to);
        }
    }
    fill_sell(q, a, s);
    return s;
}

template void fill_sell(const CpuQueue&, const CsrView<float>&, Sell<float>&);
template void fill_sell(const CpuQueue&, const CsrView<double>&, Sell<double>&);
template Sell<float> make_sell(const CpuQueue&, const CsrView<float>&, bool, offset_t);
template Sell<double> make_sell(const CpuQueue&, const CsrView<double>&, bool, offset_t);
template void fill_sell(const CpuQueue&, const CsrView<Float16>&, Sell<Float16>&);
template void fill_sell(const CpuQueue&, const CsrView<Bfloat16>&, Sell<Bfloat16>&);
template Sell<Float16> make_sell(const CpuQueue&, const CsrView<Float16>&, bool, offset_t);
template Sell<Bfloat16> make_sell(const CpuQueue&, const CsrView<Bfloat16>&, bool, offset_t);

}  // namespace tulle::inline TULLE_ABI::spmv
