// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// tulle spy --reorder: what an order of the rows does to a matrix, for the picture and in numbers.
#pragma once

#include <vector>

#include "apps/cli/picture/plot.hpp"
#include "apps/cli/support/json.hpp"
#include "apps/cli/support/layout.hpp"
#include "apps/cli/support/session.hpp"
#include "apps/cli/verbs.hpp"
#include "tulle/spmm.hpp"

namespace tulle::cli {

// The matrix in one order: its panels of 64 rows, and where its dense tiles are.
struct OrderedMatrix {
    std::vector<index_t> row;
    spmm::PanelCost cost;
    offset_t dense_tiles = 0, in_tiles = 0;
    std::vector<offset_t> row_begin;  // nonzeros in dense tiles, in this order
    std::vector<index_t> col;

    picture::Pattern dense(index_t cols) const
    {
        return {static_cast<index_t>(row.size()), cols, row_begin.data(), col.data()};
    }
    double share_in_tiles() const
    {
        return cost.nonzeros == 0 ? 0 : static_cast<double>(in_tiles) / static_cast<double>(cost.nonzeros);
    }
    double reuse() const
    {
        return cost.pairs == 0 ? 0 : static_cast<double>(cost.nonzeros) / static_cast<double>(cost.pairs);
    }
};

struct Reordering {
    index_t cols = 0;
    OrderedMatrix before, after;
    index_t clusters = 0;
    double seconds = 0;  // to make the order
};

Reordering reorder(const Session& session, const Context& ctx, const CsrView<double>& a, const SpyOptions& options);

// Dense tiles into the first map, and a second map with the rows in their new order. The plot refers to the reordering.
void show(const Reordering& r, const SpyOptions& options, picture::Plot& plot);
std::string text_of(const Reordering& r, const SpyOptions& options, const Console& console);
Json to_json(const Reordering& r, const SpyOptions& options);

}  // namespace tulle::cli
