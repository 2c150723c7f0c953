// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What a matrix looks like: row lengths, then the entries, then the mirrored entries (against the transposed matrix),
// then the dependency levels of the lower triangle. Everything is counted in integers and divided at the end, so all
// backends and thread counts give the same bits, and choose() the same answer.
#include "tulle/features.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "matrix/inspect_steps.hpp"
#include "prim/histogram.hpp"
#include "prim/reduce.hpp"
#include "prim/sort.hpp"
#include "tulle/convert.hpp"
#include "tulle/memory.hpp"
#include "tulle/trace.hpp"
#include "tulle/validate.hpp"

namespace tulle::inline TULLE_ABI {
namespace {

using namespace inspect;

// From the squared distances to a whole number near the mean to those from the mean itself.
double deviation_of(const LengthSums& sums, index_t rows, double mean_above_middle)
{
    const double squares = static_cast<double>(sums.squares_high) * 0x1p32 + static_cast<double>(sums.squares_low);
    return std::sqrt(std::max(0.0, squares / rows - mean_above_middle * mean_above_middle));
}

template <class Queue>
RowStatistics row_statistics_on(const Queue& q, index_t rows, index_t cols, const offset_t* row_begin)
{
    RowStatistics row{.rows = rows, .cols = cols};
    if (rows == 0) return row;
    row.nonzeros = read_value(q, row_begin + rows) - read_value(q, row_begin);
    const offset_t middle = row.nonzeros / rows;
    const LengthSums sums = add_lengths(q, row_begin, rows, middle);
    row.shortest = sums.shortest;
    row.longest = sums.longest;
    row.longest_row = static_cast<index_t>(first_where(q, HasLength{row_begin, sums.longest}, rows));
    row.mean = static_cast<double>(row.nonzeros) / rows;
    row.deviation = deviation_of(sums, rows, static_cast<double>(row.nonzeros - middle * rows) / rows);
    row.empty_rows = static_cast<index_t>(sums.by_bits[0]);
    for (std::size_t bits = 0; bits < sums.by_bits.size(); ++bits)
        row.rows_by_length[bits] = static_cast<index_t>(sums.by_bits[bits]);
    return row;
}

// By the columns that there are, in order: a matrix with few entries may have more columns than there is memory for
// counts.
template <class Queue, class V>
index_t count_empty_cols_of_few(const Queue& q, const CsrView<V>& a)
{
    Buffer<std::uint32_t> key(q, a.nonzeros);
    Buffer<offset_t> unused(q, a.nonzeros);
    copy_bytes(q, a.col, key.data(), key.bytes());
    fill_zero(q, unused.data(), a.nonzeros);
    prim::sort_pairs(q, key.data(), unused.data(), a.nonzeros, prim::bits_for(static_cast<std::uint64_t>(a.cols)));
    std::vector<std::uint32_t> col(static_cast<std::size_t>(a.nonzeros));
    download(q, key.data(), col.data(), a.nonzeros);
    return a.cols - static_cast<index_t>(std::unique(col.begin(), col.end()) - col.begin());
}

template <class Queue, class V>
index_t count_empty_cols(const Queue& q, const CsrView<V>& a)
{
    constexpr offset_t few = 4;  // columns an entry: sorting takes some 24 bytes an entry, counting 8 a column
    if (a.cols > few * a.nonzeros) return count_empty_cols_of_few(q, a);
    Buffer<offset_t> entries(q, a.cols);
    prim::histogram(q, a.col, a.nonzeros, entries.data(), a.cols);
    return static_cast<index_t>(count_where(q, IsZero{entries.data()}, a.cols));
}

template <class V>
MirrorSums compare_with_mirror(const Context& ctx, const CsrView<V>& a)
{
    const Csr<V> mirror = transpose(ctx, a);
    const Csr<V> sorted = a.sorted ? Csr<V>{} : sort_rows(ctx, a);
    return ctx.run([&](const auto& q) { return count_mirrored(q, a.sorted ? a : sorted.view(), mirror.view()); });
}

template <class Queue, class V>
index_t count_levels(const Queue& q, const CsrView<V>& a)
{
    Buffer<index_t> level(q, a.rows);
    find_levels(q, a.row_begin, a.col, a.rows, level.data());
    return prim::maximum(q, level.data(), a.rows, index_t{0});
}

}  // namespace

RowStatistics row_statistics(const Context& ctx, index_t rows, index_t cols, const offset_t* row_begin)
{
    require<ValueError>(rows >= 0 && cols >= 0,
                        [&] { return concat("a matrix cannot have ", rows, " rows and ", cols, " columns"); });
    require<ValueError>(rows == 0 || row_begin != nullptr, "row_begin is null");
    return ctx.run([&](const auto& q) { return row_statistics_on(q, rows, cols, row_begin); });
}

template <class V>
Features features(const Context& ctx, const CsrView<V>& a)
{
    check(ctx, a);
    const trace::Phase phase{"features"};
    Features f{.row = row_statistics(ctx, a.rows, a.cols, a.row_begin)};
    const bool square = a.rows == a.cols;
    if (a.rows > 0 && a.cols > 0) f.density = static_cast<double>(a.nonzeros) / a.rows / a.cols;

    const EntrySums entries =
        ctx.run([&](const auto& q) { return add_entries(q, a.row_begin, a.col, a.rows, a.cols); });
    f.empty_cols = ctx.run([&](const auto& q) { return count_empty_cols(q, a); });
    f.lower_bandwidth = static_cast<index_t>(entries.below);
    f.upper_bandwidth = static_cast<index_t>(entries.above);
    f.diagonal = entries.diagonal;
    if (!square) return f;

    const offset_t beside = a.nonzeros - entries.diagonal;
    const MirrorSums mirrored = beside > 0 ? compare_with_mirror(ctx, a) : MirrorSums{};
    f.pattern_symmetry = beside > 0 ? static_cast<double>(mirrored.found) / static_cast<double>(beside) : 1;
    f.value_symmetry = beside > 0 ? static_cast<double>(mirrored.equal) / static_cast<double>(beside) : 1;
    f.lower_levels = ctx.run([&](const auto& q) { return count_levels(q, a); });
    f.products = entries.products;
    return f;
}

template Features features(const Context&, const CsrView<float>&);
template Features features(const Context&, const CsrView<double>&);

}  // namespace tulle::inline TULLE_ABI
