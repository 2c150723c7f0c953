// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Sets of vertices as trees: every vertex names another of its set, the first one itself.
#pragma once

#include <vector>

#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::graph {

using Vertices = std::vector<index_t>;

// The first vertex of v's tree; paths are halved on the way.
inline index_t root_of(Vertices& tree, index_t v)
{
    const auto at = [&](index_t u) -> index_t& { return tree[static_cast<std::size_t>(u)]; };
    while (at(v) != v) v = at(v) = at(at(v));
    return v;
}

}  // namespace tulle::inline TULLE_ABI::graph
