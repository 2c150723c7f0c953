// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// From a matrix to its parts and back.
//
//   cut        fair positions, and a binary search for the line at each (split.hpp): O(parts log lines)
//   point      the local pointer of every part, written where the matrix lies: O(lines)
//   merge      every part puts the lines it owns and its nonzeros where they were
//
// MSREP: papers/004, sections "pCSR", "pCSC", "pCOO". The paper's code misses empty lines between parts and overflows
// in nnz * parts; ownership (tulle/partition.hpp) and fair_position() are why that cannot happen here.
#include "tulle/partition.hpp"

#include "partition/split_steps.hpp"
#include "tulle/error.hpp"
#include "tulle/outline.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::partition {
namespace {

// A matrix stored by lines: the arrays of CSR, or of CSC seen as CSR of the transposed matrix.
template <class V>
Parts<PartialCsr<V>> partition_lines(const Context& ctx, const CsrView<V>& a, std::span<const Cut> cuts)
{
    return ctx.run([&](const auto& q) {
        const std::vector<Part> windows = parts_of(cuts);
        offset_t entries = 0;
        for (const Part& part : windows) entries += offset_t{part.lines()} + 1;
        Parts<PartialCsr<V>> parts{{}, Buffer<offset_t>(q, entries)};
        offset_t* local = parts.pointer.data();
        write_pointers(q, a.row_begin, windows, local);
        for (const Part& part : windows) {
            parts.part.push_back(
                {part, a.rows, a.cols, local, a.col + part.begin, a.value + part.begin, a.sorted, a.unique});
            local += part.lines() + 1;
        }
        return parts;
    });
}

template <class V>
PartialCsc<V> by_columns(const PartialCsr<V>& p)
{
    return {p.part, p.cols, p.rows, p.row_begin, p.col, p.value, p.sorted, p.unique};
}

template <class V>
PartialCsr<V> by_rows(const PartialCsc<V>& p)
{
    return {p.part, p.cols, p.rows, p.col_begin, p.row, p.value, p.sorted, p.unique};
}

template <class V>
Parts<PartialCsc<V>> by_columns(Parts<PartialCsr<V>>&& rows)
{
    Parts<PartialCsc<V>> parts{{}, std::move(rows.pointer)};
    for (const auto& p : rows.part) parts.part.push_back(by_columns(p));
    return parts;
}

// The numbers coordinates are sorted by, or null.
template <class V>
const index_t* lines_of(const CooView<V>& a)
{
    return a.order == CooOrder::by_row ? a.row : a.order == CooOrder::by_col ? a.col : nullptr;
}

template <class Partial>
void require_whole(std::span<const Partial> parts, index_t lines)
{
    require<ValueError>(!parts.empty(), "nothing cannot be merged");
    offset_t at = 0;
    index_t line = 0;
    for (std::size_t p = 0; p < parts.size(); ++p) {
        const Part& part = parts[p].part;
        require<ValueError>(part.begin == at && (lines < 0 || part.first_owned() == line), [&] {
            return concat("part ", p, " begins at nonzero ", part.begin, ", line ", part.first_owned(),
                          ", but the parts before it end at ", at, ", line ", line);
        });
        require<ValueError>(parts[p].rows == parts[0].rows && parts[p].cols == parts[0].cols,
                            [&] { return concat("part ", p, " is of another matrix than part 0"); });
        at = part.end;
        line = part.last_line;
    }
    require<ValueError>(lines < 0 || line == lines,
                        [&] { return concat("the parts end at line ", line, " of ", lines); });
}

// Every part, before anything of it is read.
template <class Partial>
void check_parts(const Context& ctx, std::span<const Partial> parts)
{
    for (const Partial& p : parts) check_arrays(ctx, p.view());
}

template <class Queue, class V>
Csr<V> merge_lines(const Queue& q, std::span<const PartialCsr<V>> parts)
{
    const auto& first = parts.front();
    const offset_t nonzeros = parts.back().part.end;
    Csr<V> whole = Csr<V>::make(q, first.rows, first.cols, nonzeros);
    whole.sorted = first.sorted;
    whole.unique = first.unique;
    for (const auto& p : parts) {
        restore_pointer(q, p.row_begin, p.part, whole.row_begin.data() + p.part.first_owned());
        copy(q, p.col, whole.col.data() + p.part.begin, p.part.nonzeros());
        copy(q, p.value, whole.value.data() + p.part.begin, p.part.nonzeros());
    }
    upload(q, &nonzeros, whole.row_begin.data() + first.rows, 1);
    return whole;
}

}  // namespace

std::vector<Part> parts_of(std::span<const Cut> cuts)
{
    require<ValueError>(cuts.size() >= 2, "parts lie between two cuts at least");
    std::vector<Part> parts;
    for (std::size_t p = 0; p + 1 < cuts.size(); ++p) {
        const Cut &from = cuts[p], &to = cuts[p + 1];
        require<ValueError>(from.at <= to.at && from.item <= to.item,
                            [&] { return concat("cut ", p + 1, " lies before cut ", p); });
        const bool head = from.inside && from.at < to.at;
        parts.push_back(
            {from.at, to.at, static_cast<index_t>(from.item) - (head ? 1 : 0), static_cast<index_t>(to.item), head});
    }
    return parts;
}

template <class V>
Parts<PartialCsr<V>> partition(const Context& ctx, const CsrView<V>& a, std::span<const Cut> cuts)
{
    check_arrays(ctx, a);
    require(!cuts.empty() && cuts.front() == Cut{} && cuts.back() == Cut{a.nonzeros, a.rows, false},
            "cuts must lead from the first row to the last");
    return partition_lines(ctx, a, cuts);
}

template <class V>
Parts<PartialCsc<V>> partition(const Context& ctx, const CscView<V>& a, std::span<const Cut> cuts)
{
    check_arrays(ctx, a);
    require(!cuts.empty() && cuts.front() == Cut{} && cuts.back() == Cut{a.nonzeros, a.cols, false},
            "cuts must lead from the first column to the last");
    return by_columns(partition_lines(ctx, transposed(a), cuts));
}

template <class V>
Parts<PartialCsr<V>> partition(const Context& ctx, const CsrView<V>& a, int parts, const SplitOptions& options)
{
    check_arrays(ctx, a);
    return partition_lines(ctx, a, split(ctx, a.row_begin, a.rows, parts, options));
}

template <class V>
Parts<PartialCsc<V>> partition(const Context& ctx, const CscView<V>& a, int parts, const SplitOptions& options)
{
    check_arrays(ctx, a);
    return by_columns(partition(ctx, transposed(a), parts, options));
}

template <class V>
std::vector<Cut> cuts_of(const Context& ctx, const CooView<V>& a, int parts, const SplitOptions& options)
{
    check_arrays(ctx, a);
    const index_t* line = lines_of(a);
    require<ValueError>(line, "coordinates in no order have no lines to cut at");
    return choose_cuts(ctx.run([&](const auto& q) { return find_all_candidates(q, line, a.nonzeros, parts, options); }),
                       a.order == CooOrder::by_row ? a.rows : a.cols, options);
}

template <class V>
Parts<PartialCoo<V>> partition(const Context& ctx, const CooView<V>& a, int parts, const SplitOptions& options)
{
    check_arrays(ctx, a);
    std::vector<Part> windows;
    if (a.order == CooOrder::none) {
        const std::vector<offset_t> at = fair_positions(a.nonzeros, parts, options);
        for (std::size_t p = 0; p + 1 < at.size(); ++p) windows.push_back({.begin = at[p], .end = at[p + 1]});
    } else windows = parts_of(cuts_of(ctx, a, parts, options));
    Parts<PartialCoo<V>> all;
    for (const Part& part : windows)
        all.part.push_back(
            {part, a.rows, a.cols, a.row + part.begin, a.col + part.begin, a.value + part.begin, a.order, a.unique});
    return all;
}

template <class V>
Csr<V> merge(const Context& ctx, std::span<const PartialCsr<V>> parts)
{
    check_parts(ctx, parts);
    require_whole(parts, parts.empty() ? 0 : parts.front().rows);
    return ctx.run([&](const auto& q) { return merge_lines(q, parts); });
}

template <class V>
Csc<V> merge(const Context& ctx, std::span<const PartialCsc<V>> parts)
{
    check_parts(ctx, parts);
    require_whole(parts, parts.empty() ? 0 : parts.front().cols);
    std::vector<PartialCsr<V>> rows;
    for (const auto& p : parts) rows.push_back(by_rows(p));
    Csr<V> whole = ctx.run([&](const auto& q) { return merge_lines(q, std::span<const PartialCsr<V>>(rows)); });
    return {whole.cols,   whole.rows,  std::move(whole.row_begin), std::move(whole.col), std::move(whole.value),
            whole.sorted, whole.unique};
}

template <class V>
Coo<V> merge(const Context& ctx, std::span<const PartialCoo<V>> parts)
{
    check_parts(ctx, parts);
    require_whole(parts, parts.empty() || parts.front().order == CooOrder::none ? -1
                         : parts.front().order == CooOrder::by_row              ? parts.front().rows
                                                                                : parts.front().cols);
    return ctx.run([&](const auto& q) {
        const auto& first = parts.front();
        Coo<V> whole = Coo<V>::make(q, first.rows, first.cols, parts.back().part.end);
        whole.order = first.order;
        whole.unique = first.unique;
        for (const auto& p : parts) {
            copy(q, p.row, whole.row.data() + p.part.begin, p.part.nonzeros());
            copy(q, p.col, whole.col.data() + p.part.begin, p.part.nonzeros());
            copy(q, p.value, whole.value.data() + p.part.begin, p.part.nonzeros());
        }
        return whole;
    });
}

template Parts<PartialCsr<float>> partition(const Context&, const CsrView<float>&, int, const SplitOptions&);
template Parts<PartialCsc<float>> partition(const Context&, const CscView<float>&, int, const SplitOptions&);
template Parts<PartialCoo<float>> partition(const Context&, const CooView<float>&, int, const SplitOptions&);
template Parts<PartialCsr<float>> partition(const Context&, const CsrView<float>&, std::span<const Cut>);
template Parts<PartialCsc<float>> partition(const Context&, const CscView<float>&, std::span<const Cut>);
template std::vector<Cut> cuts_of(const Context&, const CooView<float>&, int, const SplitOptions&);
template Csr<float> merge(const Context&, std::span<const PartialCsr<float>>);
template Csc<float> merge(const Context&, std::span<const PartialCsc<float>>);
template Coo<float> merge(const Context&, std::span<const PartialCoo<float>>);
template Parts<PartialCsr<double>> partition(const Context&, const CsrView<double>&, int, const SplitOptions&);
template Parts<PartialCsc<double>> partition(const Context&, const CscView<double>&, int, const SplitOptions&);
template Parts<PartialCoo<double>> partition(const Context&, const CooView<double>&, int, const SplitOptions&);
template Parts<PartialCsr<double>> partition(const Context&, const CsrView<double>&, std::span<const Cut>);
template Parts<PartialCsc<double>> partition(const Context&, const CscView<double>&, std::span<const Cut>);
template std::vector<Cut> cuts_of(const Context&, const CooView<double>&, int, const SplitOptions&);
template Csr<double> merge(const Context&, std::span<const PartialCsr<double>>);
template Csc<double> merge(const Context&, std::span<const PartialCsc<double>>);
template Coo<double> merge(const Context&, std::span<const PartialCoo<double>>);

}  // namespace tulle::inline TULLE_ABI::partition
