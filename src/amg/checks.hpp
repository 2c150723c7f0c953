// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What is checked of nodes and of a near null space.
#pragma once

#include "base/plural.hpp"
#include "device/placed.hpp"
#include "tulle/dense.hpp"
#include "tulle/error.hpp"
#include "tulle/outline.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::amg {

inline void check_nodes(index_t rows, index_t unknowns_per_node)
{
    require<ValueError>(
        unknowns_per_node >= 1 && rows % unknowns_per_node == 0,
        [&] {
            return concat("nodes of ", unknowns_per_node, plural(unknowns_per_node, " unknown", " unknowns"),
                          " do not divide a matrix of ", rows, plural(rows, " row", " rows"));
        },
        "unknowns_per_node is the number of neighbouring rows that belong to one node");
}

template <class V>
void check_near_null(const Context& ctx, index_t rows, const DenseView<const V>& given)
{
    require(given.rows == rows,
            [&] { return concat("the near null space has ", given.rows, " rows, but the matrix has ", rows); });
    require<ValueError>(given.layout == Layout::row_major && given.leading == given.cols,
                        "the near null space must be row-major without gaps");
    check_dense(given, "the near null space");
    const void* unknown = nullptr;
    require_placed(ctx, given.data, static_cast<std::size_t>(rows) * static_cast<std::size_t>(given.cols), unknown,
                   "the near null space");
}

}  // namespace tulle::inline TULLE_ABI::amg
