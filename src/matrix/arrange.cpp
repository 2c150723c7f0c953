// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Reordering: every entry gets its new row and column, the entries are put in order (entries.hpp), and entries at the
// same position become runs, which one thread each adds up.
#include "tulle/convert.hpp"

#include <string_view>

#include "matrix/entries.hpp"
#include "tulle/validate.hpp"

namespace tulle::inline TULLE_ABI {
namespace matrix {
namespace {

// Where every row (column) goes when new row i is old row from[i].
template <class Queue>
Buffer<index_t> places(const Queue& q, std::span<const index_t> from, std::string_view name)
{
    const auto n = static_cast<index_t>(from.size());
    Buffer<index_t> inverse(q, n), problem(q, 1);
    invert(q, from.data(), n, inverse.data(), problem.data());
    const index_t first = read_value(q, problem.data());
    if (first == n) return inverse;
    const index_t entry = read_value(q, from.data() + first);
    if (entry < 0 || entry >= n) throw ValueError(concat(name, "[", first, "] = ", entry, " is outside 0 … ", n - 1));
    throw ValueError(concat(name, "[", first, "] = ", entry, " stands at ", read_value(q, inverse.data() + entry),
                            " already"),
                     "a permutation names every row (column) exactly once");
}

// to[k] = the new number of from[k].
template <class Queue>
Buffer<index_t> renumber(const Queue& q, Buffer<index_t> from, std::span<const index_t> permutation,
                         std::string_view name)
{
    if (permutation.empty()) return from;
    const Buffer<index_t> place = places(q, permutation, name);
    Buffer<index_t> to(q, from.size());
    gather(q, place.data(), from.data(), from.size(), to.data());
    return to;
}

template <class Queue, class V>
Csr<V> permute_on(const Queue& q, const CsrView<V>& a, std::span<const index_t> row_from,
                  std::span<const index_t> col_from)
{
    const Buffer<index_t> row = renumber(q, rows_of(q, a), row_from, "row_from");
    const Buffer<index_t> col = renumber(q, copy_of(q, a.col, a.nonzeros), col_from, "col_from");
    const bool cols_ascend = a.sorted && col_from.empty();
    Groups groups = cols_ascend ? group(q, row.data(), a.nonzeros, a.rows)
                                : order_entries(q, row.data(), col.data(), a.nonzeros, a.rows, a.cols);
    return csr_of_groups(q, a.rows, a.cols, groups, col.data(), a.value, a.unique);
}

template <class Queue, class V>
Csr<V> sort_on(const Queue& q, const CsrView<V>& a)
{
    if (a.sorted) return copy_of(q, a);
    const Buffer<index_t> row = rows_of(q, a);
    Groups groups = order_entries(q, row.data(), a.col, a.nonzeros, a.rows, a.cols);
    return csr_of_groups(q, a.rows, a.cols, groups, a.col, a.value, a.unique);
}

template <class Queue, class V>
Csr<V> sum_on(const Queue& q, const CsrView<V>& a)
{
    const Buffer<index_t> row = rows_of(q, a);
    const Buffer<offset_t> number = number_runs(q, row.data(), a.col, a.nonzeros);
    Csr<V> c = Csr<V>::make(q, a.rows, a.cols, read_value(q, number.data() + a.nonzeros));
    gather(q, number.data(), a.row_begin, offset_t{a.rows} + 1, c.row_begin.data());
    sum_runs(q, a.col, a.value, number.data(), a.nonzeros, c.col.data(), c.value.data());
    return c;
}

void require_size(std::span<const index_t> permutation, index_t size, std::string_view name)
{
    require(permutation.empty() || std::ssize(permutation) == size,
            [&] { return concat(name, " has ", permutation.size(), " entries, but the matrix needs ", size); });
    require<ValueError>(permutation.empty() || permutation.data(), [&] {
        return concat(name, " is null, but must have ", size, size == 1 ? " entry" : " entries");
    });
}

}  // namespace
}  // namespace matrix

template <class V>
Csr<V> permute(const Context& ctx, const CsrView<V>& a, std::span<const index_t> row_from,
               std::span<const index_t> col_from)
{
    check(ctx, a);
    matrix::require_size(row_from, a.rows, "row_from");
    matrix::require_size(col_from, a.cols, "col_from");
    return ctx.run([&](const auto& q) { return matrix::permute_on(q, a, row_from, col_from); });
}

template <class V>
Csr<V> sort_rows(const Context& ctx, const CsrView<V>& a)
{
    check(ctx, a);
    return ctx.run([&](const auto& q) { return matrix::sort_on(q, a); });
}

template <class V>
Csr<V> sum_duplicates(const Context& ctx, const CsrView<V>& a)
{
    Csr<V> sorted = sort_rows(ctx, a);
    if (a.unique) return sorted;
    return ctx.run([&](const auto& q) { return matrix::sum_on(q, sorted.view()); });
}

template Csr<float> permute(const Context&, const CsrView<float>&, std::span<const index_t>, std::span<const index_t>);
template Csr<double> permute(const Context&, const CsrView<double>&, std::span<const index_t>,
                             std::span<const index_t>);
template Csr<float> sort_rows(const Context&, const CsrView<float>&);
template Csr<double> sort_rows(const Context&, const CsrView<double>&);
template Csr<float> sum_duplicates(const Context&, const CsrView<float>&);
template Csr<double> sum_duplicates(const Context&, const CsrView<double>&);

}  // namespace tulle::inline TULLE_ABI
