// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "tulle/sptrsv/schedule.hpp"

#include <algorithm>

namespace tulle::sptrsv {
namespace {

offset_t entries_of(const Triangle& t, index_t row) { return t.row_begin.data()[row + 1] - t.row_begin.data()[row] + 1; }

struct Owners {
    std::vector<int> thread;                           // of each row
    std::vector<std::vector<index_t>> known;           // known[t][u]: the level of u that t has waited for already
};

// The waits of a stretch: for each other thread the highest level of a row needed from it, unless waited for before.
void add_waits(const Triangle& t, const Graph& graph, int thread, ThreadPlan::Stretch& stretch, ThreadPlan& plan, Owners& owners)
{
    std::vector<ThreadPlan::Wait>& waits = plan.waits[static_cast<std::size_t>(thread)];
    std::vector<index_t>& known = owners.known[static_cast<std::size_t>(thread)];
    std::vector<index_t> needed(known.size(), 0);
    for (index_t r = stretch.begin; r < stretch.end; ++r) {
        const index_t row = plan.order[static_cast<std::size_t>(r)];
        for (offset_t k = t.row_begin.data()[row]; k < t.row_begin.data()[row + 1]; ++k) {
            const index_t col = t.col.data()[k];
            index_t& level = needed[static_cast<std::size_t>(owners.thread[static_cast<std::size_t>(col)])];
            level = std::max(level, graph.level_of(col));
        }
    }
    stretch.wait_begin = static_cast<index_t>(waits.size());
    for (std::size_t u = 0; u < needed.size(); ++u)
        if (static_cast<int>(u) != thread && needed[u] > known[u]) {
            waits.push_back({static_cast<int>(u), needed[u]});
            known[u] = needed[u];
        }
    stretch.wait_end = static_cast<index_t>(waits.size());
}

// Cuts the rows begin … end-1 into one stretch per thread with about the same number of entries.
std::vector<index_t> cut(const Triangle& t, const ThreadPlan& plan, index_t begin, index_t end, int threads, int worth_sharing)
{
    offset_t total = 0;
    for (index_t r = begin; r < end; ++r) total += entries_of(t, plan.order[static_cast<std::size_t>(r)]);
    std::vector<index_t> cuts{begin};
    if (total < offset_t{worth_sharing} * threads) threads = 1;
    offset_t sum = 0;
    for (index_t r = begin; r < end; ++r) {
        sum += entries_of(t, plan.order[static_cast<std::size_t>(r)]);
        while (static_cast<int>(cuts.size()) < threads && sum * threads >= total * static_cast<offset_t>(cuts.size())) cuts.push_back(r + 1);
    }
    while (static_cast<int>(cuts.size()) < threads) cuts.push_back(end);
    cuts.push_back(end);
    return cuts;
}

}  // namespace

ThreadPlan plan_threads(const CpuQueue& host, const Triangle& t, const Graph& graph, int threads, int worth_sharing)
{
    ThreadPlan plan;
    std::vector<index_t> level(static_cast<std::size_t>(t.rows));
    for (index_t i = 0; i < t.rows; ++i) level[static_cast<std::size_t>(i)] = graph.level_of(i);
    const Bins by_level = sort_into(host, level.data(), t.rows, graph.levels + 1);
    plan.order.assign(by_level.item.data(), by_level.item.data() + t.rows);
    plan.of_thread.resize(static_cast<std::size_t>(threads));
    plan.waits.resize(static_cast<std::size_t>(threads));
    Owners owners{std::vector<int>(static_cast<std::size_t>(t.rows), 0), std::vector(static_cast<std::size_t>(threads), std::vector<index_t>(static_cast<std::size_t>(threads), 0))};
    for (index_t l = 1; l <= graph.levels; ++l) {
        const std::vector<index_t> cuts = cut(t, plan, by_level.begin.data()[l], by_level.begin.data()[l + 1], threads, worth_sharing);
        for (std::size_t u = 0; u + 1 < cuts.size(); ++u) {
            if (cuts[u] == cuts[u + 1]) continue;
            ThreadPlan::Stretch stretch{l, cuts[u], cuts[u + 1], 0, 0};
            for (index_t r = cuts[u]; r < cuts[u + 1]; ++r) owners.thread[static_cast<std::size_t>(plan.order[static_cast<std::size_t>(r)])] = static_cast<int>(u);
            add_waits(t, graph, static_cast<int>(u), stretch, plan, owners);
            plan.of_thread[u].push_back(stretch);
        }
    }
    return plan;
}

}  // namespace tulle::sptrsv
