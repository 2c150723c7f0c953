// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Which memory is near to whom: the NUMA nodes of the machine, as the kernel tells them under /sys. A machine that
// tells nothing has one node, 0.
#pragma once

#include <string>
#include <vector>

#include "tulle/api.hpp"
#include "tulle/team.hpp"

namespace tulle::inline TULLE_ABI::partition {

// The node of every member: the one its GPU hangs on; CPU members are dealt out over the nodes in order.
TULLE_API std::vector<int> nodes_of(const Team& team);

TULLE_API int node_count();

// Keeps the calling thread on the processors of a node, so that what it touches first lies there. Nothing for -1, for a
// node that the machine does not have, or where it is forbidden.
TULLE_API void stay_on_node(int node);

// "0-3,8,10-11" as numbers; nothing for a text that is no such list.
TULLE_API std::vector<int> parse_list(const std::string& text);

namespace cuda {  // defined by the CUDA backend

int node_of(int device);

}  // namespace cuda
}  // namespace tulle::inline TULLE_ABI::partition
