// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What is seen of a matrix before a method is chosen: one pass over its rows.
#include <algorithm>
#include <cmath>

#include "base/plural.hpp"
#include "solve/state.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"
#include "tulle/trace.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::solve {
namespace {

// ValueError that names the first of so many rows with values that are not finite.
template <class V>
[[noreturn]] void refuse_values(const Context& ctx, const CsrView<V>& a, offset_t rows)
{
    const Csr<V> here = to_host(ctx, a);
    offset_t at = 0;
    while (at < here.nonzeros() && std::isfinite(here.value.data()[at])) ++at;
    const offset_t* begin = here.row_begin.data();
    const auto row = std::upper_bound(begin, begin + a.rows + 1, at) - begin - 1;
    throw ValueError(concat(rows, plural(rows, " row", " rows"), " of the matrix ", plural(rows, "has", "have"),
                            " values that are not finite, first row ", row, " (counted from 0)"),
                     "look at the matrix with tulle validate --finite");
}

}  // namespace

template <class V>
Features inspect(const Context& ctx, const CsrView<V>& a)
{
    const trace::Phase phase{"inspect"};
    double found[5];
    ctx.run([&](const auto& q) {
        vector::PassBuffer buffer(q, a.rows);
        Buffer<double> result(q, 5);
        const double tolerance = sizeof(V) == 4 ? 1e-5 : 1e-10;
        run_pass(q, a.rows, InspectRows<V>{a, tolerance, result.data()}, buffer.space());
        download(q, result.data(), found, 5);
    });
    if (found[0] > 0) refuse_values(ctx, a, static_cast<offset_t>(found[0]));
    return {.rows = a.rows,
            .nonzeros = a.nonzeros,
            .symmetric = found[4] == 0,
            .empty_rows = static_cast<offset_t>(found[1]),
            .missing_diagonal = static_cast<offset_t>(found[2]),
            .negative_diagonal = static_cast<offset_t>(found[3])};
}

template Features inspect(const Context&, const CsrView<float>&);
template Features inspect(const Context&, const CsrView<double>&);

}  // namespace tulle::inline TULLE_ABI::solve
