// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "graph/arguments.hpp"
#include "graph/steps.hpp"
#include "prim/reduce.hpp"

namespace tulle::inline TULLE_ABI::graph {

void require_weights(const Context& ctx, const CsrView<double>& a, bool finite)
{
    ctx.for_work(a.nonzeros).run([&](const auto& q) {
        Buffer<offset_t> first(q, a.rows);
        run_pass(q, a.rows, FindBadValue{a, finite, first.data()}, {});
        const offset_t bad = prim::minimum(q, first.data(), a.rows, no_entry);
        if (bad == no_entry) return;
        throw ValueError(concat("the weight of nonzero ", bad, ", an edge to vertex ", read_value(q, a.col + bad),
                                " (both counted from 0), is ", read_value(q, a.value + bad), ", but must be ",
                                finite ? "finite and " : "", "not negative"));
    });
}

}  // namespace tulle::inline TULLE_ABI::graph
