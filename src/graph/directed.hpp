// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Directed graphs where an undirected one is needed.
#pragma once

#include "graph/ops.hpp"
#include "tulle/error.hpp"
#include "tulle/memory.hpp"
#include "tulle/text.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::graph {

[[noreturn]] inline void refuse_directed(offset_t from, index_t to)
{
    throw ValueError(concat("the graph is directed: there is an edge ", from, " to ", to,
                            " (counted from 0), none back"),
                     "this is for undirected graphs: add the transposed matrix first");
}

// ValueError if an edge has none back; columns of the pattern ascend.
void require_undirected(const CpuQueue& q, const Edges& edges, index_t rows);

}  // namespace tulle::inline TULLE_ABI::graph
