// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A caller's matrix in any format as a plan keeps it, seen by rows or as coordinates, and its copy by rows.
#pragma once

#include <utility>
#include <variant>

#include "matrix/convert_steps.hpp"
#include "matrix/plan_checks.hpp"
#include "tulle/convert.hpp"
#include "tulle/spmv.hpp"

namespace tulle::inline TULLE_ABI::spmv {

// AnyView once its offsets have 64 bits.
template <class V>
using StoredView = std::variant<CsrView<V>, CscView<V>, CooView<V>, BlockedEllView<V>>;

template <class... F>
struct Overloaded : F... {
    using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

template <class V>
Format format_of(const StoredView<V>& a)
{
    return static_cast<Format>(a.index());
}

template <class V>
std::pair<index_t, index_t> shape_of(const StoredView<V>& a)
{
    return std::visit([](const auto& m) { return std::pair{m.rows, m.cols}; }, a);
}

template <class V>
offset_t nonzeros_of(const StoredView<V>& a)
{
    return std::visit(Overloaded{[](const BlockedEllView<V>& m) { return m.slots() * m.block * m.block; },
                                 [](const auto& m) { return m.nonzeros; }},
                      a);
}

template <class V>
matrix::MatrixSize size_of(const StoredView<V>& a)
{
    const auto [rows, cols] = shape_of(a);
    return {rows, cols, nonzeros_of(a)};
}

// A matrix stored by rows or columns as CSR of what is stored: op(A) itself, or op(A) transposed.
template <class V>
CsrView<V> as_rows(const StoredView<V>& a)
{
    if (const auto* csc = std::get_if<CscView<V>>(&a)) return transposed(*csc);
    return std::get<CsrView<V>>(a);
}

// Coordinates of op(A).
template <class V>
CooView<V> as_entries(const StoredView<V>& a, bool transpose)
{
    const auto& coo = std::get<CooView<V>>(a);
    return transpose ? transposed(coo) : coo;
}

// Coordinates by row: nothing but row_begin where they are in that order already, a copy with its sources otherwise.
template <class V>
Csr<V> rows_of_entries(const Context& ctx, const CooView<V>& a, Buffer<offset_t>& source)
{
    return ctx.run([&](const auto& q) {
        Csr<V> csr{.rows = a.rows,
                   .cols = a.cols,
                   .row_begin = {},
                   .col = {},
                   .value = {},
                   .sorted = false,
                   .unique = a.unique};
        if (a.order == CooOrder::by_row) {
            csr.row_begin = Buffer<offset_t>(q, offset_t{a.rows} + 1);
            matrix::compress_rows(q, a.row, a.nonzeros, a.rows, csr.row_begin.data());
            return csr;
        }
        matrix::Groups by_row = matrix::group(q, a.row, a.nonzeros, a.rows);
        csr.row_begin = std::move(by_row.begin);
        csr.col = Buffer<index_t>(q, a.nonzeros);
        csr.value = Buffer<V>(q, a.nonzeros);
        matrix::gather(q, a.col, by_row.source.data(), a.nonzeros, csr.col.data());
        matrix::gather(q, a.value, by_row.source.data(), a.nonzeros, csr.value.data());
        source = std::move(by_row.source);
        return csr;
    });
}

// op(A) by rows, in memory of our own, and where its values come from (not for blocks, whose zeros are left out).
template <class V>
Csr<V> copy_by_rows(const Context& ctx, const StoredView<V>& a, bool transpose, Buffer<offset_t>& source)
{
    if (std::holds_alternative<CooView<V>>(a)) return rows_of_entries(ctx, as_entries(a, transpose), source);
    if (const auto* bell = std::get_if<BlockedEllView<V>>(&a)) {
        Csr<V> csr = to_csr(ctx, *bell);
        return transpose ? tulle::transpose(ctx, csr.view()) : std::move(csr);
    }
    return tulle::transpose(ctx, as_rows(a), &source);
}

}  // namespace tulle::inline TULLE_ABI::spmv
