// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What some panels of an order cost, for all: counting every panel of every order takes longer than some of them save.
#include <algorithm>
#include <vector>

#include "base/hash.hpp"
#include "base/math.hpp"
#include "spmm/order/choose.hpp"
#include "spmm/order/steps.hpp"
#include "tulle/trace.hpp"

namespace tulle::inline TULLE_ABI::spmm {
namespace {

// One panel out of every `step`, which one as chance has it: meshes repeat themselves.
std::vector<index_t> sampled_panels(index_t all, index_t panels)
{
    const index_t step = all / panels;
    std::vector<index_t> panel;
    for (index_t k = 0; k < panels; ++k)
        panel.push_back(static_cast<index_t>(
            offset_t{k} * step + static_cast<offset_t>(below(hash_of(1, k), static_cast<std::uint64_t>(step)))));
    return panel;
}

}  // namespace

PanelCost sample_cost(const Context& ctx, const Pattern& a, const RowOrder& order, index_t height, index_t panels)
{
    const index_t all = ceil_div(a.rows, height);
    if (panels == 0 || all <= panels) return panel_cost(ctx, a, order, height);
    const trace::Phase phase{"count some panels"};
    const std::vector<index_t> panel = sampled_panels(all, panels);
    const PanelCounts found = ctx.run([&](const auto& q) {
        return count_panels(q, a, order.row.data(), height, {panels, panel.data()});
    });
    if (found.entries == 0) return panel_cost(ctx, a, order, height);
    const auto grown = [](offset_t part, double times) {
        return static_cast<offset_t>(static_cast<double>(part) * times + 0.5);
    };
    const double by_entries = static_cast<double>(a.nonzeros) / static_cast<double>(found.entries),
                 by_panels = static_cast<double>(all) / panels;
    return {grown(found.cost.pairs, by_entries), grown(found.cost.tiles, by_entries),
            grown(found.cost.panels, by_panels), grown(found.cost.nonzeros, by_entries)};
}

}  // namespace tulle::inline TULLE_ABI::spmm
