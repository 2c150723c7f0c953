// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Selections, of a matrix and of a product that is never whole.
#include "graph/select.hpp"

#include <utility>

#include "base/enumerators.hpp"
#include "graph/arguments.hpp"
#include "graph/chunks.hpp"
#include "graph/steps.hpp"
#include "prim/scan.hpp"
#include "tulle/convert.hpp"

namespace tulle::inline TULLE_ABI::graph {
namespace {

void require_selection(const Select& s)
{
    require_enumerator(s.triangle, Triangle::upper, "triangle");
    require<ValueError>(s.threshold >= 0 && s.most_per_row >= 0 && s.recover >= 0,
                        "threshold, most_per_row and recover of a selection must not be negative");
    require<ValueError>(s.negligible >= 0, "negligible of a selection must not be negative");
    require<ValueError>(s.recover_share >= 0 && s.recover_share <= 1,
                        [&] { return concat("recover_share must be in 0 … 1, and is ", s.recover_share); });
}

template <class Queue, class V>
Csr<V> select_on(const Queue& q, const CsrView<V>& a, const Rule<V>& rule)
{
    Buffer<KeyOf<V>> cutoff(q, a.rows);
    Buffer<offset_t> begin(q, offset_t{a.rows} + 1);
    count_selected(q, a, rule, cutoff.data(), begin.data());
    prim::exclusive_scan(q, begin.data(), begin.data(), a.rows);
    const offset_t nonzeros = read_value(q, begin.data() + a.rows);
    Csr<V> c{.rows = a.rows,
             .cols = a.cols,
             .row_begin = std::move(begin),
             .col = Buffer<index_t>(q, nonzeros),
             .value = Buffer<V>(q, nonzeros),
             .sorted = a.sorted,
             .unique = a.unique};
    fill_selected(q, a, rule, cutoff.data(), c.row_begin.data(), c.col.data(), c.value.data());
    return c;
}

// The rows of A B that a selection keeps, by ranges of rows. Over another semiring than plus_times the product gives
// the pattern, at whose positions the values are computed then.
template <class V>
Csr<V> multiply_select_in_chunks(const Context& ctx, Semiring semiring, const CsrView<V>& a, const CsrView<V>& b,
                                 const Select& selection, std::size_t budget)
{
    const SemiringChunks<V> chunks(ctx, semiring, a, b);
    return chunks.multiply(budget, [&](const auto& q, index_t first, Csr<V> rows) {
        Rule<V> rule = rule_of<V>(selection);
        rule.first_row = first;
        const Csr<V> over = chunks.values(q, first, std::move(rows));
        return select_on(q, over.view(), rule);
    });
}

}  // namespace

template <class V>
Csr<V> select(const Context& ctx, const CsrView<V>& a, const Select& selection)
{
    require_matrix(ctx, a);
    require_selection(selection);
    const Context some = ctx.for_work(a.nonzeros + a.rows);
    return some.run([&](const auto& q) { return select_on(q, a, rule_of<V>(selection)); });
}

template <class V>
Csr<V> multiply_select(const Context& ctx, Semiring semiring, const CsrView<V>& a, const CsrView<V>& b,
                       const Select& selection, std::size_t budget)
{
    require_product(ctx, a, b);
    require_selection(selection);
    if (ctx.backend() == Backend::cpu)
        return multiply_select_rows(ctx.for_work(a.nonzeros + b.nonzeros).host(), semiring, a, b, rule_of<V>(selection),
                                    selection.negligible);
    return multiply_select_in_chunks(ctx, semiring, a, b, selection, budget);
}

template TULLE_API Csr<float> select(const Context&, const CsrView<float>&, const Select&);
template TULLE_API Csr<double> select(const Context&, const CsrView<double>&, const Select&);
template TULLE_API Csr<float> multiply_select(const Context&, Semiring, const CsrView<float>&, const CsrView<float>&,
                                              const Select&, std::size_t);
template TULLE_API Csr<double> multiply_select(const Context&, Semiring, const CsrView<double>&, const CsrView<double>&,
                                               const Select&, std::size_t);

}  // namespace tulle::inline TULLE_ABI::graph
