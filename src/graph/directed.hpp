// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "tulle/error.hpp"
#include "tulle/text.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::graph {

[[noreturn]] inline void refuse_directed(offset_t from, index_t to)
{
    throw ValueError(concat("the graph is directed: there is an edge ", from, " to ", to, ", none back"),
                     "triangles are of undirected graphs: add the transposed matrix first");
}

}  // namespace tulle::inline TULLE_ABI::graph
