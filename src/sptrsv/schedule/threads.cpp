// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "sptrsv/steps.hpp"

#include <algorithm>
#include <utility>

namespace tulle::inline TULLE_ABI::sptrsv {
namespace {

offset_t entries_of(const Pattern& t, index_t row) { return t.row_begin.data()[row + 1] - t.row_begin.data()[row] + 1; }

struct Owners {
    std::vector<int> thread;                  // of each row
    std::vector<std::vector<index_t>> known;  // known[t][u]: the level of u that t has waited for already
};

// The waits of a range: for each other thread the highest level of a row needed from it, unless waited for before.
void add_waits(const Pattern& t, const Graph& graph, int thread, ThreadPlan::RowRange& range, ThreadPlan& plan,
               Owners& owners)
{
    std::vector<ThreadPlan::Wait>& waits = plan.waits[static_cast<std::size_t>(thread)];
    std::vector<index_t>& known = owners.known[static_cast<std::size_t>(thread)];
    std::vector<index_t> needed(known.size(), 0);
    for (index_t r = range.begin; r < range.end; ++r) {
        const index_t row = plan.order[static_cast<std::size_t>(r)];
        for (offset_t k = t.row_begin.data()[row]; k < t.row_begin.data()[row + 1]; ++k) {
            const index_t col = t.col.data()[k];
            index_t& level = needed[static_cast<std::size_t>(owners.thread[static_cast<std::size_t>(col)])];
            level = std::max(level, graph.level_of(col));
        }
    }
    range.wait_begin = static_cast<index_t>(waits.size());
    for (std::size_t u = 0; u < needed.size(); ++u)
        if (static_cast<int>(u) != thread && needed[u] > known[u]) {
            waits.push_back({static_cast<int>(u), needed[u]});
            known[u] = needed[u];
        }
    range.wait_end = static_cast<index_t>(waits.size());
}

// Rows in the order of their nodes' levels, those of a node together; units[n] is where the n-th node begins, and
// level_begin[l] the first node of level l.
struct Line {
    std::vector<index_t> order, units;
    Buffer<index_t> level_begin;
};

Line line_up(const CpuQueue& host, const Pattern& t, const Graph& graph)
{
    const Bins rows_of = rows_of_nodes(host, graph);
    Bins by_level = sort_into(host, graph.level.data(), graph.nodes, graph.levels + 1);
    Line line{{}, {}, std::move(by_level.begin)};
    line.order.reserve(static_cast<std::size_t>(t.rows));
    for (index_t n = 0; n < graph.nodes; ++n) {
        const index_t node = by_level.item.data()[n];
        line.units.push_back(static_cast<index_t>(line.order.size()));
        line.order.insert(line.order.end(), rows_of.item.data() + rows_of.begin.data()[node],
                          rows_of.item.data() + rows_of.begin.data()[node + 1]);
    }
    line.units.push_back(t.rows);
    return line;
}

// Cuts the nodes first … last-1 into one range of rows for each of the threads that share them, with about the same
// number of entries.
std::vector<index_t> cut(const Pattern& t, const Line& line, index_t first, index_t last, int threads,
                         int worth_sharing)
{
    const auto entries = [&](index_t n) {
        offset_t sum = 0;
        for (index_t r = line.units[static_cast<std::size_t>(n)]; r < line.units[static_cast<std::size_t>(n) + 1]; ++r)
            sum += entries_of(t, line.order[static_cast<std::size_t>(r)]);
        return sum;
    };
    offset_t total = 0;
    for (index_t n = first; n < last; ++n) total += entries(n);
    std::vector<index_t> cuts{line.units[static_cast<std::size_t>(first)]};
    threads = sharers_of(total, threads, worth_sharing);
    offset_t sum = 0;
    for (index_t n = first; n < last; ++n) {
        sum += entries(n);
        while (static_cast<int>(cuts.size()) < threads && sum * threads >= total * static_cast<offset_t>(cuts.size()))
            cuts.push_back(line.units[static_cast<std::size_t>(n) + 1]);
    }
    const index_t end = line.units[static_cast<std::size_t>(last)];
    while (static_cast<int>(cuts.size()) < threads) cuts.push_back(end);
    cuts.push_back(end);
    return cuts;
}

}  // namespace

ThreadPlan plan_threads(const CpuQueue& host, const Pattern& t, const Graph& graph, int threads, int worth_sharing)
{
    ThreadPlan plan;
    const Line line = line_up(host, t, graph);
    plan.order = line.order;
    plan.of_thread.resize(static_cast<std::size_t>(threads));
    plan.waits.resize(static_cast<std::size_t>(threads));
    Owners owners{std::vector<int>(static_cast<std::size_t>(t.rows), 0),
                  std::vector(static_cast<std::size_t>(threads),
                              std::vector<index_t>(static_cast<std::size_t>(threads), 0))};
    for (index_t l = 1; l <= graph.levels; ++l) {
        const std::vector<index_t> cuts =
            cut(t, line, line.level_begin.data()[l], line.level_begin.data()[l + 1], threads, worth_sharing);
        const std::size_t sharers = cuts.size() - 1;
        for (std::size_t u = 0; u < sharers; ++u) {
            if (cuts[u] == cuts[u + 1]) continue;
            const std::size_t thread = u * static_cast<std::size_t>(threads) / sharers;
            ThreadPlan::RowRange range{l, cuts[u], cuts[u + 1], 0, 0};
            for (index_t r = cuts[u]; r < cuts[u + 1]; ++r)
                owners.thread[static_cast<std::size_t>(plan.order[static_cast<std::size_t>(r)])] =
                    static_cast<int>(thread);
            add_waits(t, graph, static_cast<int>(thread), range, plan, owners);
            plan.of_thread[thread].push_back(range);
        }
    }
    return plan;
}

}  // namespace tulle::inline TULLE_ABI::sptrsv
