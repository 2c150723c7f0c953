// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "sptrsv/steps.hpp"

#include <algorithm>

#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {
namespace {

// What the three hierarchies of the paper are decided on.
struct Nodes {
    std::vector<index_t> begin;  // rows
    std::vector<offset_t> entries;
};

Nodes nodes_of(const Rows& rows, const Graph& graph)
{
    Nodes nodes{std::vector<index_t>(static_cast<std::size_t>(graph.nodes) + 1, rows.rows),
                std::vector<offset_t>(static_cast<std::size_t>(graph.nodes), 0)};
    for (index_t i = rows.rows; i-- > 0;) {
        const auto node = static_cast<std::size_t>(graph.node_of.data()[i]);
        nodes.begin[node] = i;
        nodes.entries[node] += rows.begin.data()[i + 1] - rows.begin.data()[i] + 1;
    }
    return nodes;
}

struct Made {
    std::vector<index_t> node;   // subwarps for each group
    std::vector<index_t> level;  // of each group
    std::vector<offset_t> entries;
    std::vector<bool> inner;  // whether rows of a node may need each other
};

// First hierarchy: up to n_g nodes of a level, in the order of rows or by falling size.
Made group_nodes(const CpuQueue& host, const Graph& graph, const Nodes& nodes, const Policy& scheme)
{
    const Bins by_level = sort_into(host, graph.level.data(), graph.nodes, graph.levels + 1);
    Made made;
    std::vector<index_t> level_nodes;
    for (index_t level = 1; level <= graph.levels; ++level) {
        level_nodes.assign(by_level.item.data() + by_level.begin.data()[level],
                           by_level.item.data() + by_level.begin.data()[level + 1]);
        if (scheme.grouping == Grouping::balance)
            std::stable_sort(level_nodes.begin(), level_nodes.end(), [&](index_t x, index_t y) {
                return nodes.entries[static_cast<std::size_t>(x)] > nodes.entries[static_cast<std::size_t>(y)];
            });
        for (std::size_t k = 0; k < level_nodes.size(); ++k) {
            if (k % static_cast<std::size_t>(scheme.subwarps) == 0) {
                made.node.resize(made.node.size() + static_cast<std::size_t>(scheme.subwarps), -1);
                made.level.push_back(level);
                made.entries.push_back(0);
                made.inner.push_back(false);
            }
            const auto node = static_cast<std::size_t>(level_nodes[k]);
            if (nodes.begin[node + 1] - nodes.begin[node] > 1) made.inner.back() = true;
            made.node[(made.level.size() - 1) * static_cast<std::size_t>(scheme.subwarps) +
                      k % static_cast<std::size_t>(scheme.subwarps)] = level_nodes[k];
            made.entries.back() += nodes.entries[node];
        }
    }
    return made;
}

// Third hierarchy: a level with more groups than alpha times the resident warps has a launch of its own; its smaller
// neighbours share one.
std::vector<Segment> cut_levels(const Made& made, int alpha, int multiprocessors)
{
    std::vector<Segment> segments;
    const auto n = static_cast<index_t>(made.level.size());
    bool open = false;
    for (index_t first = 0; first < n;) {
        index_t last = first;
        bool inner = false;
        for (; last < n && made.level[static_cast<std::size_t>(last)] == made.level[static_cast<std::size_t>(first)];
             ++last)
            inner = inner || made.inner[static_cast<std::size_t>(last)];
        const bool alone = alpha != unlimited && last - first > offset_t{alpha} * multiprocessors * resident_warps;
        if (alone || !open) segments.push_back({first, last, inner, false, 0});
        else segments.back().last = last, segments.back().waits = true;
        open = !alone;
        first = last;
    }
    bool tells = false;
    for (auto segment = segments.rbegin(); segment != segments.rend(); ++segment)
        segment->tells = tells = tells || segment->waits;
    return segments;
}

// Second hierarchy: which warp takes a group.
class Dealer {
public:
    Dealer(const Rows& rows, const Graph& graph, const Nodes& nodes, const Made& made, const Policy& scheme, int warps)
        : rows_(rows),
          graph_(graph),
          nodes_(nodes),
          made_(made),
          scheme_(scheme),
          load_(static_cast<std::size_t>(warps), 0),
          warp_of_node_(nodes.entries.size(), -1)
    {}

    index_t deal(index_t group)
    {
        const index_t warp = scheme_.order == WarpSchedule::balance    ? least_loaded()
                             : scheme_.order == WarpSchedule::locality ? beside_parent(group)
                                                                       : next();
        load_[static_cast<std::size_t>(warp)] += made_.entries[static_cast<std::size_t>(group)];
        for (int s = 0; s < scheme_.subwarps; ++s)
            if (const index_t node = node_at(group, s); node >= 0) warp_of_node_[static_cast<std::size_t>(node)] = warp;
        return warp;
    }

private:
    index_t node_at(index_t group, int s) const
    {
        return made_.node[static_cast<std::size_t>(group) * static_cast<std::size_t>(scheme_.subwarps) +
                          static_cast<std::size_t>(s)];
    }
    index_t next() { return turn_++ % static_cast<index_t>(load_.size()); }
    index_t least_loaded() const
    {
        return static_cast<index_t>(std::min_element(load_.begin(), load_.end()) - load_.begin());
    }

    // The warp next to that of the least loaded parent, in the same block; in turn, if there is no parent.
    index_t beside_parent(index_t group)
    {
        index_t best = -1;
        for (int s = 0; s < scheme_.subwarps; ++s) {
            const index_t node = node_at(group, s);
            if (node < 0) continue;
            for (offset_t k = rows_.begin.data()[nodes_.begin[static_cast<std::size_t>(node)]];
                 k < rows_.begin.data()[nodes_.begin[static_cast<std::size_t>(node) + 1]]; ++k) {
                const index_t warp =
                    warp_of_node_[static_cast<std::size_t>(graph_.node_of.data()[rows_.col.data()[k]])];
                if (warp >= 0 &&
                    (best < 0 || load_[static_cast<std::size_t>(warp)] < load_[static_cast<std::size_t>(best)]))
                    best = warp;
            }
        }
        if (best < 0) return next();
        return best / scheme_.warps * scheme_.warps + (best + 1) % scheme_.warps;
    }

    const Rows& rows_;
    const Graph& graph_;
    const Nodes& nodes_;
    const Made& made_;
    const Policy& scheme_;
    std::vector<offset_t> load_;
    std::vector<index_t> warp_of_node_;
    index_t turn_ = 0;
};

// The lists of all warps, launch after launch; each in the order of levels.
void make_lists(const CpuQueue& host, Dealer& dealer, int warps, Groups& to)
{
    std::vector<index_t> begin, list;
    std::vector<std::vector<index_t>> of_warp(static_cast<std::size_t>(warps));
    for (Segment& segment : to.segments) {
        for (auto& one : of_warp) one.clear();
        for (index_t g = segment.first; g < segment.last; ++g)
            of_warp[static_cast<std::size_t>(dealer.deal(g))].push_back(g);
        segment.list = static_cast<offset_t>(begin.size());
        for (const auto& one : of_warp) {
            begin.push_back(static_cast<index_t>(list.size()));
            list.insert(list.end(), one.begin(), one.end());
        }
        begin.push_back(static_cast<index_t>(list.size()));
    }
    to.list = to_queue(host, list.data(), std::ssize(list));
    to.list_begin = to_queue(host, begin.data(), std::ssize(begin));
}

}  // namespace

Groups make_groups(const CpuQueue& host, const Rows& rows, const Graph& graph, const Policy& scheme,
                   int multiprocessors)
{
    const Nodes nodes = nodes_of(rows, graph);
    const Made made = group_nodes(host, graph, nodes, scheme);
    const auto n = static_cast<index_t>(made.level.size());
    const int blocks = std::max(1, std::min<index_t>(multiprocessors, (n + scheme.warps - 1) / scheme.warps));
    Groups groups{.subwarps = scheme.subwarps,
                  .share_above = scheme.share_above,
                  .warps_per_block = scheme.warps,
                  .blocks = blocks,
                  .by_ticket = scheme.order == WarpSchedule::ticket,
                  .node_begin = to_queue(host, nodes.begin.data(), std::ssize(nodes.begin)),
                  .node = to_queue(host, made.node.data(), std::ssize(made.node)),
                  .list = {},
                  .list_begin = {},
                  .segments = cut_levels(made, scheme.alpha, multiprocessors)};
    if (!groups.by_ticket) {
        Dealer dealer(rows, graph, nodes, made, scheme, blocks * scheme.warps);
        make_lists(host, dealer, blocks * scheme.warps, groups);
    }
    return groups;
}

}  // namespace tulle::inline TULLE_ABI::sptrsv
