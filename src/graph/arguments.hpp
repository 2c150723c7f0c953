// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What all graph functions check before they touch an array.
#pragma once

#include <algorithm>
#include <cmath>

#include "matrix/dense_checks.hpp"
#include "tulle/error.hpp"
#include "tulle/graph.hpp"
#include "tulle/outline.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::graph {

// The CPU that works; NotBuilt on a GPU.
inline CpuQueue cpu_of(const Context& ctx, offset_t work)
{
    require<NotBuilt>(ctx.backend() == Backend::cpu, "graph functions run on the CPU only",
                      "use Context::cpu() and matrices in host memory");
    return ctx.for_work(work).host();
}

template <class V>
void require_matrix(const Context& ctx, const CsrView<V>& a)
{
    check_arrays(ctx, a);
    matrix::check_matrix(ctx, a);
}

template <class V>
void require_product(const Context& ctx, const CsrView<V>& a, const CsrView<V>& b)
{
    require_matrix(ctx, a);
    require_matrix(ctx, b);
    require(a.cols == b.rows, [&] { return concat("A has ", a.cols, " columns, but B has ", b.rows, " rows"); });
}

template <class V>
CpuQueue require_graph(const Context& ctx, const CsrView<V>& a)
{
    const CpuQueue q = cpu_of(ctx, a.nonzeros);
    require_matrix(ctx, a);
    require(a.rows == a.cols,
            [&] { return concat("a graph needs a square matrix, and this one is ", a.rows, " x ", a.cols); });
    return q;
}

inline void require_weights(const CsrView<double>& a)
{
    const auto* bad = std::find_if(a.value, a.value + a.nonzeros, [](double w) { return !(w >= 0) || std::isinf(w); });
    require<ValueError>(bad == a.value + a.nonzeros, [&] {
        return concat("the weight of nonzero ", bad - a.value, " is ", *bad, ", but must be finite and not negative");
    });
}

inline void require_vertex(index_t vertex, index_t rows)
{
    require<ValueError>(vertex >= 0 && vertex < rows, [&] {
        return concat("there is no vertex ", vertex, ": the graph has ", rows, ", counted from 0");
    });
}

}  // namespace tulle::inline TULLE_ABI::graph
