// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Triangles of graphs with sorted rows and no duplicates; others are made so first.
#include "graph/arguments.hpp"
#include "graph/steps.hpp"
#include "tulle/convert.hpp"

namespace tulle::inline TULLE_ABI::graph {

offset_t count_triangles(const Context& ctx, const AnyCsr<double>& given)
{
    Buffer<offset_t> wide;
    const auto a = matrix::widened<CsrView<double>>(ctx, given, wide);
    require_graph(ctx, a);
    const bool is_tidy = a.sorted && a.unique;
    const Csr<double> tidy = is_tidy ? Csr<double>{} : sum_duplicates(ctx, a);
    const CsrView<double> graph = is_tidy ? a : tidy.view();
    return ctx.for_work(a.nonzeros).run([&](const auto& q) { return count_triangles_on(q, graph); });
}

}  // namespace tulle::inline TULLE_ABI::graph
