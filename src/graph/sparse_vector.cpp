// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Products of a matrix and a sparse vector. Push: all products are written down, sorted by their rows and added up;
// the sort is stable, so products of a row are in the order of the columns. Pull: every row looks which of its columns
// have an entry in x. Both give the same bits.
#include <cstdint>

#include "base/enumerators.hpp"
#include "device/placed.hpp"
#include "graph/arguments.hpp"
#include "graph/functions.hpp"
#include "graph/steps.hpp"
#include "prim/reduce.hpp"
#include "prim/scan.hpp"
#include "prim/sort.hpp"

namespace tulle::inline TULLE_ABI::graph {
namespace {

// Push if so many times the products are fewer than the nonzeros (as searches, cuda/search.cu).
constexpr offset_t pull_share = 16;

template <class Queue, class V>
SparseVector<V> empty_vector(const Queue& q, index_t size, offset_t entries)
{
    return {size, Buffer<index_t>(q, entries), Buffer<V>(q, entries)};
}

template <class Queue, class V>
SparseVector<V> push(const Queue& q, const Functions& f, const CsrView<V>& transposed, const SparseVector<V>& x,
                     const offset_t* begin, offset_t products)
{
    Buffer<std::uint32_t> row(q, products);
    Buffer<offset_t> number(q, products), place(q, products + 1);
    Buffer<V> product(q, products);
    run_pass(q, products,
             PushProduct<V>{transposed, x.index.data(), x.value.data(), begin, x.entries(), f.times, row.data(),
                            number.data(), product.data()},
             {});
    prim::sort_pairs(q, row.data(), number.data(), products,
                     prim::bits_for(static_cast<std::uint64_t>(transposed.cols)));
    run_pass(q, products, FlagFirst{row.data(), place.data()}, {});
    prim::exclusive_scan(q, place.data(), place.data(), products);
    SparseVector<V> y = empty_vector<Queue, V>(q, transposed.cols, read_value(q, place.data() + products));
    run_pass(q, products,
             SumPushed<V>{row.data(), number.data(), product.data(), products, place.data(), f.plus, y.index.data(),
                          y.value.data()},
             {});
    return y;
}

template <class Queue, class V>
SparseVector<V> pull(const Queue& q, const Functions& f, const CsrView<V>& a, const SparseVector<V>& x)
{
    Buffer<index_t> place_of(q, a.cols);
    Buffer<V> sum(q, a.rows);
    Buffer<offset_t> place(q, offset_t{a.rows} + 1);
    run_pass(q, a.cols, PlaceEntry{x.index.data(), x.entries(), place_of.data()}, {});
    run_pass(q, a.rows, PullRow<V>{a, x.value.data(), place_of.data(), f.times, f.plus, sum.data(), place.data()}, {});
    prim::exclusive_scan(q, place.data(), place.data(), a.rows);
    SparseVector<V> y = empty_vector<Queue, V>(q, a.rows, read_value(q, place.data() + a.rows));
    run_pass(q, a.rows, PackEntry<V>{sum.data(), place.data(), y.index.data(), y.value.data()}, {});
    return y;
}

template <class V>
void require_sparse_vector(const Context& ctx, const SparseVector<V>& x)
{
    require(x.index.size() == x.value.size(),
            [&] { return concat("x has ", x.index.size(), " indices, but ", x.value.size(), " values"); });
    const void* known = nullptr;
    require_placed(ctx, x.index.data(), static_cast<std::size_t>(x.index.size()), known, "the indices of x");
    known = nullptr;
    require_placed(ctx, x.value.data(), static_cast<std::size_t>(x.value.size()), known, "the values of x");
    ctx.for_work(x.entries()).run([&](const auto& q) {
        Buffer<offset_t> first(q, x.entries());
        run_pass(q, x.entries(), FindBadIndex{x.index.data(), x.size, first.data()}, {});
        const offset_t bad = prim::minimum(q, first.data(), x.entries(), no_entry);
        require<ValueError>(bad == no_entry, [&] {
            return concat("index ", bad, " of x is ", read_value(q, x.index.data() + bad),
                          ", but indices must ascend and be in 0 … ", x.size - 1);
        });
    });
}

}  // namespace

template <class V>
SparseVector<V> multiply_sparse(const Context& ctx, Semiring semiring, const CsrView<V>& a,
                                const CsrView<V>& transposed, const SparseVector<V>& x, Direction direction)
{
    require_enumerator(direction, Direction::pull, "direction");
    require_matrix(ctx, a);
    require_matrix(ctx, transposed);
    require(transposed.rows == a.cols && transposed.cols == a.rows && transposed.nonzeros == a.nonzeros, [&] {
        return concat("A is ", a.rows, " x ", a.cols, " with ", a.nonzeros, " nonzeros, but its transposed matrix is ",
                      transposed.rows, " x ", transposed.cols, " with ", transposed.nonzeros);
    });
    require<ValueError>(a.sorted && transposed.sorted, "rows of A and of its transposed matrix must be sorted",
                        "call tulle::sort_rows() first");
    require(x.size == a.cols, [&] { return concat("x has ", x.size, " entries, A ", a.cols, " columns"); });
    require_sparse_vector(ctx, x);
    const Functions f = functions_of(semiring);
    return ctx.for_work(a.nonzeros + a.rows).run([&](const auto& q) {
        Buffer<offset_t> begin(q, x.entries() + 1);
        run_pass(q, x.entries(), CountPushed{transposed.row_begin, x.index.data(), begin.data()}, {});
        prim::exclusive_scan(q, begin.data(), begin.data(), x.entries());
        const offset_t products = read_value(q, begin.data() + x.entries());
        const bool is_push =
            direction == Direction::push || (direction == Direction::automatic && products * pull_share < a.nonzeros);
        return is_push ? push(q, f, transposed, x, begin.data(), products) : pull(q, f, a, x);
    });
}

template TULLE_API SparseVector<float> multiply_sparse(const Context&, Semiring, const CsrView<float>&,
                                                       const CsrView<float>&, const SparseVector<float>&, Direction);
template TULLE_API SparseVector<double> multiply_sparse(const Context&, Semiring, const CsrView<double>&,
                                                        const CsrView<double>&, const SparseVector<double>&, Direction);

}  // namespace tulle::inline TULLE_ABI::graph
