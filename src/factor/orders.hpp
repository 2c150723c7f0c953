// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Orders of the unknowns, on the pattern of B + B^T, on the host.
//
//   rcm                reverse Cuthill-McKee (Cuthill, McKee 1969)
//   colour             rows of one colour are no neighbours: greedy, the smallest colour that no neighbour has
//   nested_dissection  by METIS or SCOTCH, where one of them can be loaded (partition/metis.hpp)
#pragma once

#include "partition/neighbours.hpp"
#include "tulle/factor.hpp"

namespace tulle::inline TULLE_ABI::factor {

using partition::Neighbours;

// The graph of B, whose column place[j] is column j of A. A's own arrays where they list every neighbour; they must
// stay in place then.
template <class V>
Neighbours graph_of(const CpuQueue& q, const CsrView<V>& a, const Buffer<index_t>& place, bool match);

// Entry i is the row that comes to place i. Not for natural and automatic. NotBuilt where nested dissection cannot be
// found.
Buffer<index_t> find_order(const CpuQueue& q, const Neighbours& graph, Order order);

}  // namespace tulle::inline TULLE_ABI::factor
