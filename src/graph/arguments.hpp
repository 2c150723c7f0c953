// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What all graph functions check before they touch an array.
#pragma once

#include <type_traits>

#include "matrix/dense_checks.hpp"
#include "tulle/error.hpp"
#include "tulle/graph.hpp"
#include "tulle/outline.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::graph {

// gpu(q) on a GPU, cpu(q) with threads for so much work on a CPU.
template <class Gpu, class Cpu>
auto run_on(const Context& ctx, offset_t work, Gpu&& gpu, Cpu&& cpu)
{
    return ctx.for_work(work).run([&](const auto& q) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(q)>, CudaQueue>) return gpu(q);
        else return cpu(q);
    });
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
void require_graph(const Context& ctx, const CsrView<V>& a)
{
    require_matrix(ctx, a);
    require(a.rows == a.cols,
            [&] { return concat("a graph needs a square matrix, and this one is ", a.rows, " x ", a.cols); });
}

// ValueError if a weight is negative or NaN, or infinite where that is not allowed; tells where.
void require_weights(const Context& ctx, const CsrView<double>& a, bool finite);

inline void require_vertex(index_t vertex, index_t rows)
{
    require<ValueError>(vertex >= 0 && vertex < rows, [&] {
        return concat("there is no vertex ", vertex, ": the graph has ",
                      rows == 0 ? "none" : concat("those from 0 to ", rows - 1));
    });
}

}  // namespace tulle::inline TULLE_ABI::graph
