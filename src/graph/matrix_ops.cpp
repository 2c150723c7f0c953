// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Element-wise operations, parts of matrices, reductions and Kronecker products: rows are counted and filled by passes
// that are the same on both backends.
#include "graph/matrix_ops.hpp"

#include <limits>
#include <utility>
#include <vector>

#include "device/placed.hpp"
#include "graph/arguments.hpp"
#include "graph/functions.hpp"
#include "graph/steps.hpp"
#include "prim/scan.hpp"
#include "tulle/convert.hpp"

namespace tulle::inline TULLE_ABI::graph {
namespace {

using List = std::span<const index_t>;

template <class V>
V identity_of(Monoid monoid)
{
    switch (monoid) {
    case Monoid::times: return 1;
    case Monoid::min: return infinity<V>;
    case Monoid::max: return -infinity<V>;
    default: return 0;
    }
}

template <class V>
Edges edges_of(const CsrView<V>& a)
{
    return {a.row_begin, a.col};
}

// The matrix itself if its rows are sorted, else a sorted copy.
template <class V>
class Sorted {
public:
    Sorted(const Context& ctx, const CsrView<V>& a)
        : copy_(a.sorted ? Csr<V>{} : sort_rows(ctx, a)),
          view_(a.sorted ? a : copy_.view())
    {}
    const CsrView<V>& view() const { return view_; }

private:
    Csr<V> copy_;
    CsrView<V> view_;
};

// A matrix from count(begin) and fill(c): lengths of the rows become their offsets.
template <class V, class Queue, class Count, class Fill>
Csr<V> count_and_fill(const Queue& q, index_t rows, index_t cols, Count&& count, Fill&& fill)
{
    Buffer<offset_t> begin(q, offset_t{rows} + 1);
    count(begin.data());
    prim::exclusive_scan(q, begin.data(), begin.data(), rows);
    Csr<V> c = Csr<V>::make(q, rows, cols, read_value(q, begin.data() + rows));
    c.row_begin = std::move(begin);
    fill(c);
    return c;
}

// The entries of a FillRow, to the rows of c.
template <class Queue, class Fill, class V>
void fill_rows(const Queue& q, Fill op, Csr<V>& c)
{
    op.begin = c.row_begin.data();
    op.col = c.col.data();
    op.value = c.value.data();
    run_pass(q, c.rows, op, {});
}

template <class V>
Csr<V> merge(const Context& ctx, const CsrView<V>& a, const CsrView<V>& b, bool either, Binary f)
{
    const Merged rows{edges_of(a), edges_of(b), either};
    return ctx.for_work(a.nonzeros + b.nonzeros).run([&](const auto& q) {
        return count_and_fill<V>(
            q, a.rows, a.cols,
            [&](offset_t* count) {
                run_pass(q, a.rows, CountMerged{rows, count}, {});
            },
            [&](Csr<V>& c) {
                fill_rows(q, FillMerged<V>{rows, {a.value, b.value, f}}, c);
            });
    });
}

template <class V>
void require_unique(const CsrView<V>& a, const CsrView<V>& b)
{
    require<ValueError>(a.unique && b.unique, "a matrix stores a position twice", "call tulle::sum_duplicates() first");
}

template <class V>
void require_same_shape(const Context& ctx, const CsrView<V>& a, const CsrView<V>& b)
{
    require_matrix(ctx, a);
    require_matrix(ctx, b);
    require(a.rows == b.rows && a.cols == b.cols,
            [&] { return concat("A is ", a.rows, " x ", a.cols, ", but B is ", b.rows, " x ", b.cols); });
    require_unique(a, b);
}

void require_list(List list, index_t n, const char* name)
{
    for (std::size_t k = 0; k < list.size(); ++k)
        require<ValueError>(list[k] >= 0 && list[k] < n,
                            [&] { return concat(name, "[", k, "] = ", list[k], " is outside 0 … ", n - 1); });
}

// For every number below n its place in the list; -1: none.
std::vector<index_t> places_in(List list, index_t n, const char* name)
{
    std::vector<index_t> place(static_cast<std::size_t>(n), -1);
    for (std::size_t k = 0; k < list.size(); ++k) {
        index_t& at = place[static_cast<std::size_t>(list[k])];
        require<ValueError>(at < 0, [&] { return concat(name, "[", k, "] = ", list[k], " is named twice"); });
        at = static_cast<index_t>(k);
    }
    return place;
}

// A list in the memory of the queue; null if it is empty, which stands for all.
template <class Queue>
class ListThere {
public:
    ListThere(const Queue& q, List list, bool is_all)
        : there_(is_all ? Buffer<index_t>{} : to_queue(q, list.data(), std::ssize(list))),
          is_all_(is_all)
    {}
    const index_t* data() const { return is_all_ ? nullptr : there_.data(); }

private:
    Buffer<index_t> there_;
    bool is_all_;
};

// The rows of a part, in a matrix of this shape.
template <class V, class Queue>
Csr<V> take(const Queue& q, const CsrView<V>& a, const Part& part, index_t rows, index_t cols)
{
    Csr<V> c = count_and_fill<V>(
        q, rows, cols,
        [&](offset_t* count) {
            run_pass(q, rows, CountPart{part, count}, {});
        },
        [&](Csr<V>& to) {
            fill_rows(q, FillPart<V>{part, {a.value}}, to);
        });
    c.sorted = a.sorted && !part.to_col;
    c.unique = a.unique;
    return c;
}

template <class V>
Csr<V> sorted(const Context& ctx, Csr<V> a)
{
    return a.sorted ? std::move(a) : sort_rows(ctx, a.view());
}

index_t count_of(List list, index_t all) { return list.empty() ? all : static_cast<index_t>(list.size()); }

// C(rows[i], cols[j]) = A(i, j) in a matrix of the shape of C, and C without those positions.
template <class V, class Queue>
std::pair<Csr<V>, Csr<V>> split_for_assign(const Queue& q, const CsrView<V>& c, List rows, List cols,
                                           const CsrView<V>& a)
{
    const std::vector<index_t> row_place = places_in(rows, c.rows, "rows"), col_place = places_in(cols, c.cols, "cols");
    std::vector<index_t> is_named(row_place.size(), 1);
    for (std::size_t i = 0; i < is_named.size() && !rows.empty(); ++i) is_named[i] = row_place[i] >= 0;
    const ListThere from_row(q, row_place, rows.empty()), to_col(q, cols, cols.empty()),
        col_of_c(q, col_place, cols.empty()), outside(q, is_named, false);
    return {take(q, a, {edges_of(a), from_row.data(), to_col.data(), nullptr}, c.rows, c.cols),
            take(q, c, {edges_of(c), nullptr, col_of_c.data(), outside.data()}, c.rows, c.cols)};
}

template <class V>
void require_vector(const Context& ctx, std::span<V> y, index_t n, const char* what)
{
    require(std::ssize(y) == n, [&] { return concat("y has ", y.size(), " entries, A ", n, " ", what); });
    const void* known = nullptr;
    require_placed(ctx, y.data(), y.size(), known, "y");
}

template <class V>
void reduce_on(const Context& ctx, Monoid monoid, const CsrView<V>& a, V* y)
{
    ctx.for_work(a.nonzeros + a.rows).run([&](const auto& q) {
        run_pass(q, a.rows, ReduceRow<V>{a, addition_of(monoid), identity_of<V>(monoid), y}, {});
    });
}

index_t product_of_sizes(index_t a, index_t b, const char* what)
{
    const offset_t n = offset_t{a} * b;
    require(n <= max_index, [&] { return concat("the Kronecker product has ", n, " ", what, ", above ", max_index); });
    return static_cast<index_t>(n);
}

}  // namespace

template <class V>
Csr<V> entries_without(const Context& ctx, const CsrView<V>& a, const Edges& b)
{
    const Without rows{edges_of(a), b};
    return ctx.for_work(a.nonzeros + a.rows).run([&](const auto& q) {
        return count_and_fill<V>(
            q, a.rows, a.cols,
            [&](offset_t* count) {
                run_pass(q, a.rows, CountWithout{rows, count}, {});
            },
            [&](Csr<V>& c) {
                fill_rows(q, FillWithout<V>{rows, {a.value}}, c);
            });
    });
}

template <class V>
Csr<V> add(const Context& ctx, Monoid monoid, const CsrView<V>& a, const CsrView<V>& b)
{
    require_same_shape(ctx, a, b);
    const Sorted<V> left(ctx, a), right(ctx, b);
    return merge(ctx, left.view(), right.view(), true, addition_of(monoid));
}

template <class V>
Csr<V> multiply_entries(const Context& ctx, Semiring semiring, const CsrView<V>& a, const CsrView<V>& b)
{
    require_same_shape(ctx, a, b);
    const Sorted<V> left(ctx, a), right(ctx, b);
    return merge(ctx, left.view(), right.view(), false, functions_of(semiring).times);
}

template <class V>
Csr<V> extract(const Context& ctx, const CsrView<V>& a, List rows, List cols)
{
    require_matrix(ctx, a);
    require_list(rows, a.rows, "rows");
    require_list(cols, a.cols, "cols");
    const std::vector<index_t> place = places_in(cols, a.cols, "cols");
    return sorted(ctx, ctx.for_work(a.nonzeros).run([&](const auto& q) {
        const ListThere from_row(q, rows, rows.empty()), to_col(q, place, cols.empty());
        return take(q, a, {edges_of(a), from_row.data(), to_col.data(), nullptr}, count_of(rows, a.rows),
                    count_of(cols, a.cols));
    }));
}

template <class V>
Csr<V> assign(const Context& ctx, const CsrView<V>& c, List rows, List cols, const CsrView<V>& a)
{
    require_matrix(ctx, c);
    require_matrix(ctx, a);
    require_unique(c, a);
    require_list(rows, c.rows, "rows");
    require_list(cols, c.cols, "cols");
    const index_t named_rows = count_of(rows, c.rows), named_cols = count_of(cols, c.cols);
    require(a.rows == named_rows && a.cols == named_cols, [&] {
        return concat("A is ", a.rows, " x ", a.cols, ", but ", named_rows, " rows and ", named_cols,
                      " columns are named");
    });
    auto [inside, outside] =
        ctx.for_work(c.nonzeros + a.nonzeros).run([&](const auto& q) { return split_for_assign(q, c, rows, cols, a); });
    const Csr<V> left = sorted(ctx, std::move(inside)), right = sorted(ctx, std::move(outside));
    return merge(ctx, left.view(), right.view(), true, Binary::first);
}

template <class V>
void reduce_rows(const Context& ctx, Monoid monoid, const CsrView<V>& a, std::type_identity_t<std::span<V>> y)
{
    require_matrix(ctx, a);
    require_vector(ctx, y, a.rows, "rows");
    reduce_on(ctx, monoid, a, y.data());
}

template <class V>
void reduce_cols(const Context& ctx, Monoid monoid, const CsrView<V>& a, std::type_identity_t<std::span<V>> y)
{
    require_matrix(ctx, a);
    require_vector(ctx, y, a.cols, "columns");
    const Csr<V> turned = transpose(ctx, a);
    reduce_on(ctx, monoid, turned.view(), y.data());
}

template <class V>
V reduce(const Context& ctx, Monoid monoid, const CsrView<V>& a)
{
    require_matrix(ctx, a);
    return ctx.run([&](const auto& q) {
        Buffer<V> rows(q, a.rows);
        reduce_on(ctx, monoid, a, rows.data());
        std::vector<V> here(static_cast<std::size_t>(a.rows));
        download(q, rows.data(), here.data(), a.rows);
        V sum = identity_of<V>(monoid);
        for (const V v : here) sum = apply(addition_of(monoid), sum, v);
        return sum;
    });
}

template <class V>
Csr<V> kron(const Context& ctx, Semiring semiring, const CsrView<V>& a, const CsrView<V>& b)
{
    require_matrix(ctx, a);
    require_matrix(ctx, b);
    const index_t rows = product_of_sizes(a.rows, b.rows, "rows"), cols = product_of_sizes(a.cols, b.cols, "columns");
    require(b.nonzeros == 0 || a.nonzeros <= std::numeric_limits<offset_t>::max() / b.nonzeros,
            "the Kronecker product has more nonzeros than 64 bits count");
    Csr<V> c = ctx.for_work(a.nonzeros * b.nonzeros).run([&](const auto& q) {
        return count_and_fill<V>(
            q, rows, cols,
            [&](offset_t* count) {
                run_pass(q, rows, CountKron{a.row_begin, b.row_begin, b.rows, count}, {});
            },
            [&](Csr<V>& to) {
                fill_rows(q,
                          FillKron<V>{{edges_of(a), edges_of(b), b.rows, b.cols},
                                      {a.value, b.value, functions_of(semiring).times}},
                          to);
            });
    });
    c.sorted = a.sorted && b.sorted;
    c.unique = a.unique && b.unique;
    return c;
}

#define TULLE_GRAPH_OPS(V)                                                                                      \
    template Csr<V> entries_without(const Context&, const CsrView<V>&, const Edges&);                           \
    template TULLE_API Csr<V> add(const Context&, Monoid, const CsrView<V>&, const CsrView<V>&);                \
    template TULLE_API Csr<V> multiply_entries(const Context&, Semiring, const CsrView<V>&, const CsrView<V>&); \
    template TULLE_API Csr<V> extract(const Context&, const CsrView<V>&, List, List);                           \
    template TULLE_API Csr<V> assign(const Context&, const CsrView<V>&, List, List, const CsrView<V>&);         \
    template TULLE_API void reduce_rows(const Context&, Monoid, const CsrView<V>&, std::span<V>);               \
    template TULLE_API void reduce_cols(const Context&, Monoid, const CsrView<V>&, std::span<V>);               \
    template TULLE_API V reduce(const Context&, Monoid, const CsrView<V>&);                                     \
    template TULLE_API Csr<V> kron(const Context&, Semiring, const CsrView<V>&, const CsrView<V>&);
TULLE_GRAPH_OPS(float)
TULLE_GRAPH_OPS(double)
#undef TULLE_GRAPH_OPS

}  // namespace tulle::inline TULLE_ABI::graph
