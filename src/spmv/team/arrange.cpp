// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// op(A) on the host, made ready to be cut.
//
//   by rows     CSR, and coordinates in row order, as they are; everything else copied by rows once, unless columns are
//               asked for
//   fixed       deterministic: rows longer than a segment become several lines. Every line is added up by itself and
//               the lines of a row
//               from left to right, so the bits depend on the matrix alone. Cuts then fall between lines only
#include <algorithm>

#include "base/math.hpp"
#include "matrix/convert_steps.hpp"
#include "spmv/team/member.hpp"
#include "tulle/convert.hpp"

namespace tulle::inline TULLE_ABI::spmv::team {
namespace {

// A segment is a 4096th of the nonzeros, which cuts eight parts to within half a percent, but never so long that one
// slice of lanes is seen to work on it, nor so short that its sum costs more than its products.
constexpr offset_t segments_of_a_matrix = 4096, shortest_segment = 256, longest_segment = 4096;

template <class V>
Lines<V> lines_of(const CsrView<V>& a)
{
    return {a.rows, a.cols, a.nonzeros, a.row_begin, nullptr, a.col, a.value, a.sorted, a.unique};
}

template <class V>
Lines<V> lines_of(const CooView<V>& a)
{
    return {a.rows, a.cols, a.nonzeros, nullptr, a.row, a.col, a.value, a.order == CooOrder::by_row, a.unique};
}

template <class V>
void copy_by_rows(const Context& host, const CscView<V>& a, Arranged<V>& to)
{
    to.copy = transpose(host, transposed(a), &to.source);
    to.lines = lines_of(to.copy.view());
}

template <class V>
void copy_by_rows(const Context& host, const CooView<V>& a, Arranged<V>& to)
{
    const CpuQueue q = host.host();
    matrix::Groups by_row = matrix::group(q, a.row, a.nonzeros, a.rows);
    to.copy = Csr<V>::make(q, a.rows, a.cols, a.nonzeros);
    to.copy.row_begin = std::move(by_row.begin);
    to.copy.sorted = false;
    to.copy.unique = a.unique;
    matrix::gather(q, a.col, by_row.source.data(), a.nonzeros, to.copy.col.data());
    matrix::gather(q, a.value, by_row.source.data(), a.nonzeros, to.copy.value.data());
    to.source = std::move(by_row.source);
    to.lines = lines_of(to.copy.view());
}

template <class V>
void arrange_view(const Context&, const CsrView<V>& a, bool, Arranged<V>& to)
{
    to.lines = lines_of(a);
}

template <class V>
void arrange_view(const Context& host, const CscView<V>& a, bool columns, Arranged<V>& to)
{
    if (!columns) return copy_by_rows(host, a, to);
    to.axis = Axis::columns;
    to.lines = lines_of(transposed(a));
}

template <class V>
void arrange_view(const Context& host, const CooView<V>& a, bool columns, Arranged<V>& to)
{
    if (a.order != CooOrder::by_row && !columns) return copy_by_rows(host, a, to);
    to.axis = a.order == CooOrder::by_row ? Axis::rows : a.order == CooOrder::by_col ? Axis::columns : Axis::none;
    to.lines = lines_of(to.axis == Axis::columns ? transposed(a) : a);
}

template <class V>
const index_t* other_of(const CsrView<V>& a, Axis)
{
    return a.col;
}
template <class V>
const index_t* other_of(const CscView<V>& a, Axis)
{
    return a.row;
}
template <class V>
const index_t* other_of(const CooView<V>& a, Axis axis)
{
    return axis == Axis::columns ? a.row : a.col;
}

offset_t segment_for(offset_t nonzeros)
{
    return std::clamp(power_of_two_from(std::max(offset_t{1}, nonzeros / segments_of_a_matrix)), shortest_segment,
                      longest_segment);
}

offset_t segments_of(offset_t length, offset_t segment) { return std::max(offset_t{1}, ceil_div(length, segment)); }

// Rows as lines of at most `segment` nonzeros; nothing changes where no row is longer.
template <class V>
void cut_long_rows(const CpuQueue& q, Arranged<V>& a)
{
    const offset_t* begin = a.lines.begin;
    const offset_t segment = segment_for(a.lines.nonzeros);
    offset_t lines = 0;
    for (index_t i = 0; i < a.rows; ++i) lines += segments_of(begin[i + 1] - begin[i], segment);
    if (lines == a.rows) return;
    require<ValueError>(lines <= max_index, [&] {
        return concat("long rows cut into segments of ", segment, " make ", lines, " lines, more than ", max_index);
    });
    Buffer<offset_t> cut(q, lines + 1);
    a.row_line = Buffer<offset_t>(q, offset_t{a.rows} + 1);
    offset_t line = 0;
    for (index_t i = 0; i < a.rows; ++i) {
        a.row_line.data()[i] = line;
        const offset_t count = segments_of(begin[i + 1] - begin[i], segment);
        for (offset_t s = 0; s < count; ++s) cut.data()[line++] = begin[i] + s * segment;
    }
    a.row_line.data()[a.rows] = line;
    cut.data()[line] = a.lines.nonzeros;
    a.line_begin = std::move(cut);
    a.lines.begin = a.line_begin.data();
    a.lines.lines = static_cast<index_t>(lines);
}

template <class V>
void fix_order(const CpuQueue& q, Arranged<V>& a)
{
    a.fixed = true;
    if (!a.lines.begin) {
        a.line_begin = Buffer<offset_t>(q, offset_t{a.rows} + 1);
        matrix::compress_rows(q, a.lines.line, a.lines.nonzeros, a.rows, a.line_begin.data());
        a.lines.begin = a.line_begin.data();
        a.lines.line = nullptr;
    }
    const double mean = static_cast<double>(a.lines.nonzeros) / std::max(1, a.rows);
    a.lanes = mean <= 8 ? 2 : mean <= 64 ? 8 : 32;
    cut_long_rows(q, a);
}

}  // namespace

template <class V>
Arranged<V> arrange(const Context& host, const WideView<V>& a, bool columns, bool deterministic)
{
    Arranged<V> to;
    std::visit(
        [&](const auto& m) {
            to.rows = m.rows;
            to.cols = m.cols;
            arrange_view(host, m, columns, to);
        },
        a);
    if (deterministic) fix_order(host.host(), to);
    return to;
}

template <class V>
void arrange_values(const Context& host, const WideView<V>& a, Arranged<V>& to)
{
    const V* value = std::visit([](const auto& m) { return m.value; }, a);
    if (!to.source.empty())
        return matrix::gather(host.host(), value, to.source.data(), to.source.size(), to.copy.value.data());
    to.lines.value = value;  // the pattern may have moved too
    to.lines.other = std::visit([&](const auto& m) { return other_of(m, to.axis); }, a);
}

template Arranged<float> arrange(const Context&, const WideView<float>&, bool, bool);
template Arranged<double> arrange(const Context&, const WideView<double>&, bool, bool);
template void arrange_values(const Context&, const WideView<float>&, Arranged<float>&);
template void arrange_values(const Context&, const WideView<double>&, Arranged<double>&);

}  // namespace tulle::inline TULLE_ABI::spmv::team
