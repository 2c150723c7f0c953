// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// METIS (Karypis, Kumar, doi:10.1137/S1064827595287997), or SCOTCH by the same functions. Loaded when it is first
// wanted: the library is not linked with it. All on the host, the same result every time.
#pragma once

#include <vector>

#include "partition/neighbours.hpp"

namespace tulle::inline TULLE_ABI::partition {

// Whether it can be loaded.
bool has_metis();

// The part of each row: about equal weights, and few neighbours in other parts. NotBuilt if METIS cannot be loaded,
// ValueError if it cannot take the graph.
std::vector<index_t> metis_parts(const Neighbours& graph, const std::vector<offset_t>& weight, int parts);

// Nested dissection: entry i is the row that comes to place i. Rows without neighbours come first. Throws as above.
std::vector<index_t> nested_dissection(const Neighbours& graph);

}  // namespace tulle::inline TULLE_ABI::partition
