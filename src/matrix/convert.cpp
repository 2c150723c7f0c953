// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Conversions with CSR as the hub.
//
//     CSC         is the transposed matrix in CSR: grouping the nonzeros by column, stably, leaves rows ascending in
//                 every column
//     COO         by row: the row of every nonzero is written out, or pressed together again; any other order is sorted
//                 first
//     Blocked-ELL entries are ordered by block; entries in the same block are a run, and each run gets the next slot of
//     its block row
//     dense       entries go to their places; back, each row counts what is not zero, then writes it
//
// Where two entries cannot stand at one position (Blocked-ELL, dense) they are added first, in the order found.
// Column-major matrices are read as the transposed row-major ones, so that neighbours in memory are read together.
#include "tulle/convert.hpp"

#include "base/math.hpp"
#include "device/placed.hpp"
#include "matrix/entries.hpp"
#include "tulle/features.hpp"
#include "tulle/validate.hpp"

namespace tulle::inline TULLE_ABI {
namespace matrix {
namespace {

template <class Queue, class V>
Csr<V> transpose_on(const Queue& q, const CsrView<V>& a, Buffer<offset_t>* source)
{
    const Buffer<index_t> row = rows_of(q, a);
    Groups groups = group(q, a.col, a.nonzeros, a.cols);
    Csr<V> t = csr_of_groups(q, a.cols, a.rows, groups, row.data(), a.value, a.unique);
    if (source) *source = std::move(groups.source);
    return t;
}

template <class V>
Csr<V> transpose_on(const CpuQueue& q, const CsrView<V>& a, Buffer<offset_t>* source)
{
    Csr<V> t{.rows = a.cols,
             .cols = a.rows,
             .row_begin = Buffer<offset_t>(q, offset_t{a.cols} + 1),
             .col = Buffer<index_t>(q, a.nonzeros),
             .value = Buffer<V>(q, a.nonzeros),
             .sorted = true,
             .unique = a.unique};
    Buffer<offset_t> from(q, source ? a.nonzeros : 0);
    transpose_entries(q, a, t.row_begin.data(), t.col.data(), t.value.data(), source ? from.data() : nullptr);
    if (source) *source = std::move(from);
    return t;
}

template <class Queue, class V>
Csr<V> to_csr_on(const Queue& q, const CooView<V>& a)
{
    if (a.order != CooOrder::by_row) {
        Groups groups = a.order == CooOrder::by_col ? group(q, a.row, a.nonzeros, a.rows)
                                                    : order_entries(q, a.row, a.col, a.nonzeros, a.rows, a.cols);
        return csr_of_groups(q, a.rows, a.cols, groups, a.col, a.value, a.unique);
    }
    Csr<V> c{.rows = a.rows,
             .cols = a.cols,
             .row_begin = Buffer<offset_t>(q, offset_t{a.rows} + 1),
             .col = copy_of(q, a.col, a.nonzeros),
             .value = copy_of(q, a.value, a.nonzeros),
             .sorted = true,
             .unique = a.unique};
    compress_rows(q, a.row, a.nonzeros, a.rows, c.row_begin.data());
    return c;
}

// From formats that store zeros: whatever is not zero, row by row, in the order the row has it.
template <class V, class Queue, class View>
Csr<V> pick_on(const Queue& q, const View& a)
{
    Buffer<offset_t> row_begin(q, offset_t{a.rows} + 1);
    count_entries(q, a, row_begin.data());
    prim::exclusive_scan(q, row_begin.data(), row_begin.data(), a.rows);
    const offset_t nonzeros = read_value(q, row_begin.data() + a.rows);
    Csr<V> c{.rows = a.rows,
             .cols = a.cols,
             .row_begin = std::move(row_begin),
             .col = Buffer<index_t>(q, nonzeros),
             .value = Buffer<V>(q, nonzeros)};
    fill_entries(q, a, c.row_begin.data(), c.col.data(), c.value.data());
    return c;
}

template <class Queue, class V>
Coo<V> to_coo_on(const Queue& q, const CsrView<V>& a)
{
    return {.rows = a.rows,
            .cols = a.cols,
            .row = rows_of(q, a),
            .col = copy_of(q, a.col, a.nonzeros),
            .value = copy_of(q, a.value, a.nonzeros),
            .order = a.sorted ? CooOrder::by_row : CooOrder::none,
            .unique = a.unique};
}

template <class V>
CooView<V> entries_of(const CsrView<V>& a, const Buffer<index_t>& row)
{
    return {a.rows, a.cols, a.nonzeros, row.data(), a.col, a.value};
}

template <class Queue, class V>
Dense<V> to_dense_on(const Queue& q, const CsrView<V>& a, Layout layout)
{
    Dense<V> d = Dense<V>::make(q, a.rows, a.cols, layout);
    fill_zero(q, d.data.data(), d.data.size());
    const Buffer<index_t> row = rows_of(q, a);
    scatter_dense(q, entries_of(a, row), d.view());
    return d;
}

// The blocks of the matrix in order: owns what BlockNumbers shows.
struct Blocks {
    Buffer<offset_t> source, number, begin;
    BlockNumbers view() const { return {source.data(), number.data(), begin.data()}; }
};

template <class Queue, class V>
Blocks find_blocks(const Queue& q, const CooView<V>& a, const BlockedEll<V>& e)
{
    const offset_t n = a.nonzeros;
    const index_t block_rows = e.view().block_rows(), block_cols = e.view().block_cols();
    Buffer<index_t> row(q, n), col(q, n);
    divide(q, a.row, n, e.block, row.data());
    divide(q, a.col, n, e.block, col.data());
    Groups groups = order_entries(q, row.data(), col.data(), n, block_rows, block_cols);
    row = fetch(q, row.data(), groups.source);
    col = fetch(q, col.data(), groups.source);
    Blocks blocks{.source = std::move(groups.source), .number = number_runs(q, row.data(), col.data(), n), .begin = {}};
    blocks.begin = fetch(q, blocks.number.data(), groups.begin);
    return blocks;
}

template <class Queue, class V>
BlockedEll<V> to_blocked_ell_on(const Context& ctx, const Queue& q, const CsrView<V>& a, index_t block)
{
    BlockedEll<V> e{.rows = a.rows, .cols = a.cols, .block = block, .width = 0, .block_col = {}, .value = {}};
    const Buffer<index_t> row = rows_of(q, a);
    const CooView<V> entries = entries_of(a, row);
    const Blocks blocks = find_blocks(q, entries, e);
    e.width = static_cast<index_t>(
        row_statistics(ctx, e.view().block_rows(), e.view().block_cols(), blocks.begin.data()).longest);
    const offset_t numbers =
        checked_product(checked_product(e.view().slots(), block, "Blocked-ELL values"), block, "Blocked-ELL values");
    e.block_col = Buffer<index_t>(q, e.view().slots());
    e.value = Buffer<V>(q, numbers);
    fill_bytes(q, e.block_col.data(), 0xFF, e.block_col.bytes());  // -1: padding
    fill_zero(q, e.value.data(), numbers);
    scatter_blocks(q, entries, blocks.view(), block, e.width, e.block_col.data(), e.value.data());
    return e;
}

}  // namespace
}  // namespace matrix

template <class V>
Csr<V> to_csr(const Context& ctx, const CsrView<V>& a)
{
    check(ctx, a);
    return ctx.run([&](const auto& q) { return matrix::copy_of(q, a); });
}

template <class V>
Csr<V> to_csr(const Context& ctx, const CscView<V>& a)
{
    check(ctx, a);
    return ctx.run([&](const auto& q) { return matrix::transpose_on(q, transposed(a), nullptr); });
}

template <class V>
Csr<V> to_csr(const Context& ctx, const CooView<V>& a)
{
    check(ctx, a);
    return ctx.run([&](const auto& q) { return matrix::to_csr_on(q, a); });
}

// Blocks may stand in any order in a block row, and a block column may be there twice: what came out is looked at.
template <class V>
Csr<V> to_csr(const Context& ctx, const BlockedEllView<V>& a)
{
    check(ctx, a);
    Csr<V> c = ctx.run([&](const auto& q) { return matrix::pick_on<V>(q, a); });
    c.sorted = c.unique = false;
    const Findings found = validate(ctx, c.view());
    c.sorted = found.sorted;
    c.unique = found.unique;
    return c.sorted ? std::move(c) : sort_rows(ctx, c.view());
}

template <class V>
Csr<V> to_csr(const Context& ctx, const DenseView<const V>& a)
{
    check_dense(a, "the matrix");
    const void* unknown = nullptr;
    require_placed(ctx, a.data, std::size_t(a.rows > 0 && a.cols > 0), unknown, "the matrix");
    const bool by_row = a.layout == Layout::row_major;
    const matrix::DenseRows<V> lines{by_row ? a.rows : a.cols, by_row ? a.cols : a.rows, a.leading, a.data};
    Csr<V> c = ctx.run([&](const auto& q) { return matrix::pick_on<V>(q, lines); });
    return by_row ? std::move(c) : transpose(ctx, c.view());
}

template <class V>
Csr<V> to_csr(const Context& ctx, const Csr32View<V>& a)
{
    Buffer<offset_t> wide;
    check(ctx, matrix::widened<CsrView<V>>(ctx, a, wide));
    return ctx.run([&](const auto& q) {
        return Csr<V>{.rows = a.rows,
                      .cols = a.cols,
                      .row_begin = std::move(wide),
                      .col = matrix::copy_of(q, a.col, a.nonzeros),
                      .value = matrix::copy_of(q, a.value, a.nonzeros),
                      .sorted = a.sorted,
                      .unique = a.unique};
    });
}

template <class V>
Csr<V> to_csr(const Context& ctx, const Csc32View<V>& a)
{
    Buffer<offset_t> wide;
    return to_csr(ctx, matrix::widened<CscView<V>>(ctx, a, wide));
}

template <class V>
Csc<V> to_csc(const Context& ctx, const CsrView<V>& a)
{
    Csr<V> t = transpose(ctx, a);
    return {.rows = a.rows,
            .cols = a.cols,
            .col_begin = std::move(t.row_begin),
            .row = std::move(t.col),
            .value = std::move(t.value),
            .sorted = t.sorted,
            .unique = t.unique};
}

template <class V>
Coo<V> to_coo(const Context& ctx, const CsrView<V>& a)
{
    check(ctx, a);
    return ctx.run([&](const auto& q) { return matrix::to_coo_on(q, a); });
}

template <class V>
BlockedEll<V> to_blocked_ell(const Context& ctx, const CsrView<V>& a, index_t block)
{
    require<ValueError>(block >= 1, [&] { return concat("blocks of ", block, " rows and columns cannot exist"); });
    check(ctx, a);
    if (!a.unique) {
        const Csr<V> summed = sum_duplicates(ctx, a);
        return to_blocked_ell(ctx, summed.view(), block);
    }
    return ctx.run([&](const auto& q) { return matrix::to_blocked_ell_on(ctx, q, a, block); });
}

template <class V>
Dense<V> to_dense(const Context& ctx, const CsrView<V>& a, Layout layout)
{
    check(ctx, a);
    if (!a.unique) {
        const Csr<V> summed = sum_duplicates(ctx, a);
        return to_dense(ctx, summed.view(), layout);
    }
    return ctx.run([&](const auto& q) { return matrix::to_dense_on(q, a, layout); });
}

template <class V>
Csr<V> transpose(const Context& ctx, const CsrView<V>& a, Buffer<offset_t>* source)
{
    check(ctx, a);
    return ctx.run([&](const auto& q) { return matrix::transpose_on(q, a, source); });
}

template Csr<float> to_csr(const Context&, const CsrView<float>&);
template Csr<double> to_csr(const Context&, const CsrView<double>&);
template Csr<float> to_csr(const Context&, const CscView<float>&);
template Csr<double> to_csr(const Context&, const CscView<double>&);
template Csr<float> to_csr(const Context&, const CooView<float>&);
template Csr<double> to_csr(const Context&, const CooView<double>&);
template Csr<float> to_csr(const Context&, const BlockedEllView<float>&);
template Csr<double> to_csr(const Context&, const BlockedEllView<double>&);
template Csr<float> to_csr(const Context&, const DenseView<const float>&);
template Csr<double> to_csr(const Context&, const DenseView<const double>&);
template Csr<float> to_csr(const Context&, const Csr32View<float>&);
template Csr<double> to_csr(const Context&, const Csr32View<double>&);
template Csr<float> to_csr(const Context&, const Csc32View<float>&);
template Csr<double> to_csr(const Context&, const Csc32View<double>&);
template Csc<float> to_csc(const Context&, const CsrView<float>&);
template Csc<double> to_csc(const Context&, const CsrView<double>&);
template Coo<float> to_coo(const Context&, const CsrView<float>&);
template Coo<double> to_coo(const Context&, const CsrView<double>&);
template BlockedEll<float> to_blocked_ell(const Context&, const CsrView<float>&, index_t);
template BlockedEll<double> to_blocked_ell(const Context&, const CsrView<double>&, index_t);
template Dense<float> to_dense(const Context&, const CsrView<float>&, Layout);
template Dense<double> to_dense(const Context&, const CsrView<double>&, Layout);
template Csr<float> transpose(const Context&, const CsrView<float>&, Buffer<offset_t>*);
template Csr<double> transpose(const Context&, const CsrView<double>&, Buffer<offset_t>*);

}  // namespace tulle::inline TULLE_ABI
