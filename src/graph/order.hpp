// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "tulle/csr.hpp"

namespace tulle::inline TULLE_ABI::graph {

// An order of the vertices in which those of a community are together, so that rows near each other have columns near
// each other; entry k is the vertex at place k. The graph is on the host; weights are not read. The same for every run.
std::vector<index_t> order_by_community(const CsrView<float>& a);

}  // namespace tulle::inline TULLE_ABI::graph
