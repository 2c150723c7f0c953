// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "partition/split_steps.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "base/enumerators.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::partition {
namespace {

std::vector<int> shares_of(int parts, const SplitOptions& options)
{
    require<ValueError>(parts > 0, [&] { return concat("nothing can be split into ", parts, " parts"); });
    if (options.shares.empty()) return std::vector<int>(static_cast<std::size_t>(parts), 1);
    require(std::ssize(options.shares) == parts,
            [&] { return concat(options.shares.size(), " shares were given for ", parts, " parts"); });
    for (const int share : options.shares)
        require<ValueError>(share >= 0, [&] { return concat("a share of ", share, " cannot be given out"); });
    const offset_t all = std::accumulate(options.shares.begin(), options.shares.end(), offset_t{0});
    require<ValueError>(all > 0 && all <= max_index,
                        [&] { return concat("shares must add up to 1 … ", max_index, ", not to ", all); });
    return options.shares;
}

// A cut at the border on this side or that.
Cut below(const SplitCandidate& a) { return {a.below, a.item - 1, false}; }
Cut above(const SplitCandidate& a) { return {a.above, a.item, false}; }

Cut nearest_border(const SplitCandidate& a)
{
    if (a.item == 0 || a.above - a.at <= a.at - a.below) return above(a);
    return below(a);
}

}  // namespace

std::vector<offset_t> fair_positions(offset_t total, int parts, const SplitOptions& options)
{
    require_enumerator(options.rule, Rule::tolerant, "rule");
    require<ValueError>(total >= 0, [&] { return concat("weights add up to ", total, ", below zero"); });
    const std::vector<int> shares = shares_of(parts, options);
    const offset_t all = std::accumulate(shares.begin(), shares.end(), offset_t{0});
    std::vector<offset_t> fair{0};
    offset_t before = 0;
    for (const int share : shares) fair.push_back(fair_position(total, before += share, all));
    return fair;
}

// A part that both its cuts make larger by half the tolerance each exceeds its share by the tolerance.
std::vector<Cut> choose_cuts(std::span<const SplitCandidate> around, offset_t items, const SplitOptions& options)
{
    require<ValueError>(options.tolerance >= 0 && options.tolerance <= 1,
                        [&] { return concat("the tolerance must be within 0 … 1, not ", options.tolerance); });
    std::vector<Cut> cuts{Cut{}};
    for (std::size_t p = 1; p + 1 < around.size(); ++p) {
        const offset_t fair = around[p].at;
        const Cut border = nearest_border(around[p]), exact{fair, around[p].item, fair < around[p].above};
        const offset_t smaller = std::min(fair - around[p - 1].at, around[p + 1].at - fair),
                       off = std::max(border.at - fair, fair - border.at);
        const bool close = border.at >= cuts.back().at &&
                           static_cast<double>(off) <= options.tolerance / 2 * static_cast<double>(smaller);
        cuts.push_back(options.rule == Rule::exact || (options.rule == Rule::tolerant && !close) ? exact : border);
    }
    cuts.push_back({around.back().at, items, false});
    return cuts;
}

std::vector<Cut> split(const Context& ctx, const offset_t* prefix, offset_t items, int parts,
                       const SplitOptions& options)
{
    require<ValueError>(items >= 0, [&] { return concat("a prefix cannot be of ", items, " items"); });
    require<ValueError>(prefix != nullptr, [&] {
        return concat("prefix is null, but must have ", items + 1, items == 0 ? " entry" : " entries");
    });
    return ctx.run([&](const auto& q) { return split(q, prefix, items, parts, options); });
}

std::vector<Cut> split_evenly(offset_t items, int parts, const SplitOptions& options)
{
    std::vector<Cut> cuts;
    for (const offset_t at : fair_positions(items, parts, options)) cuts.push_back({at, at, false});
    return cuts;
}

std::vector<Cut> map_cuts(const Context& ctx, std::span<const Cut> cuts, const offset_t* prefix)
{
    require<ValueError>(prefix != nullptr || cuts.empty(), "prefix is null");
    std::vector<Cut> there;
    for (const Cut& cut : cuts) {
        require<ValueError>(
            !cut.inside,
            [&] { return concat("item ", cut.item - 1, " is cut, so the cut has no place in another prefix"); },
            "split by Rule::whole");
        there.push_back({ctx.run([&](const auto& q) { return read_value(q, prefix + cut.item); }), cut.item, false});
    }
    return there;
}

double imbalance(std::span<const Cut> cuts)
{
    if (cuts.size() < 2 || cuts.back().at == cuts.front().at) return 1;
    offset_t largest = 0;
    for (std::size_t p = 0; p + 1 < cuts.size(); ++p) largest = std::max(largest, cuts[p + 1].at - cuts[p].at);
    return static_cast<double>(largest) * static_cast<double>(cuts.size() - 1) /
           static_cast<double>(cuts.back().at - cuts.front().at);
}

std::string_view to_text(Rule rule)
{
    constexpr std::array<std::string_view, 3> names{"exact", "whole", "tolerant"};
    const auto at = static_cast<std::size_t>(rule);
    return at < names.size() ? names[at] : "unknown";
}

}  // namespace tulle::inline TULLE_ABI::partition
