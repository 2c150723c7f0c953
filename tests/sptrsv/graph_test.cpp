// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Triangles, merging, tasks and thread schedules on the host: every row once, every wait for something earlier.
#include "sptrsv/analysis.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "sptrsv/on_host.hpp"
#include "sptrsv/steps.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {
namespace {

using namespace tulle::test;

struct Way {
    Merge how;
    int rows, limit;
};
const std::vector<Way> ways{{Merge::none, 1, 0},       {Merge::critical, 4, 0}, {Merge::critical, 32, 0},
                            {Merge::fixed, 8, 0},      {Merge::fixed, 32, 0},   {Merge::average, 32, 4},
                            {Merge::threshold, 32, 3}, {Merge::chains, 4, 0},   {Merge::chains, 32, 0}};

TEST(SptrsvGraph, LevelsRiseAlongEveryEdgeBetweenNodes)
{
    for (const auto& [name, a] : triangles<double>(1)) {
        const Triangle t = triangle_of(a);
        for (const Way& way : ways) {
            SCOPED_TRACE(name + ": " + to_text(way.how));
            const Graph g = merge(host_queue, t, way.how, way.rows, way.limit);
            std::map<index_t, int> size;
            for (index_t i = 0; i < t.rows; ++i) {
                const index_t node = g.node_of.data()[i];
                ASSERT_LE(++size[node], way.rows);
                for (offset_t k = t.row_begin.data()[i]; k < t.row_begin.data()[i + 1]; ++k)
                    ASSERT_TRUE(g.node_of.data()[t.col.data()[k]] == node ||
                                g.level_of(t.col.data()[k]) < g.level_of(i))
                        << "row " << i;
            }
            ASSERT_EQ(static_cast<index_t>(size.size()), g.nodes);
        }
    }
}

TEST(SptrsvGraph, ClustersCutAChain)
{
    const Triangle t = triangle_of(triangle_where<double>(320, 3, [](index_t i, index_t j) { return j == i - 1; }));
    EXPECT_EQ(merge(host_queue, t, Merge::none).levels, 320);
    EXPECT_EQ(merge(host_queue, t, Merge::critical, 32).levels, 10);
    EXPECT_EQ(merge(host_queue, t, Merge::fixed, 32).levels, 10);
    EXPECT_EQ(merge(host_queue, t, Merge::critical, 8).levels, 40);
    EXPECT_EQ(merge(host_queue, t, Merge::chains, 32).levels, 10);
}

// Row 0 is needed by all others: the first of them follows it, and each of the others begins a chain.
TEST(SptrsvGraph, OnlyTheFirstRowFollowsInAChain)
{
    const Triangle t =
        triangle_of(triangle_where<double>(6, 3, [](index_t i, index_t j) { return j == 0 || (i == 5 && j == 1); }));
    const Graph chains = merge(host_queue, t, Merge::chains, 4), clusters = merge(host_queue, t, Merge::critical, 4);
    EXPECT_EQ(std::vector<index_t>(chains.node_of.data(), chains.node_of.data() + 6),
              (std::vector<index_t>{0, 0, 1, 2, 3, 0}));
    EXPECT_EQ(std::vector<index_t>(clusters.node_of.data(), clusters.node_of.data() + 6),
              (std::vector<index_t>{0, 0, 0, 0, 1, 2}));
}

// Rows of each node, and where each row stands among them; nobody joins a row of more than 256 entries.
TEST(SptrsvGraph, KnowsTheRowsOfEachNode)
{
    const Triangle t = triangle_of(triangle_where<double>(400, 2, [](index_t i, index_t j) {
        return i == 270 || (i > 270 && j == i - 1) || (i < 40 && j == i - 2);
    }));
    for (const Merge how : {Merge::none, Merge::critical, Merge::fixed, Merge::chains}) {
        const Graph g = merge(host_queue, t, how, 8);
        const Bins got = rows_of_nodes(host_queue, g), want = sort_into(host_queue, g.node_of.data(), t.rows, g.nodes);
        EXPECT_TRUE(std::ranges::equal(got.begin.span(), want.begin.span()));
        EXPECT_TRUE(std::ranges::equal(got.item.span(), want.item.span()));
    }
    const Graph g = merge(host_queue, t, Merge::critical, 8);
    EXPECT_EQ(std::ranges::count(g.node_of.span(), g.node_of.data()[270]), 1);
    EXPECT_EQ(std::ranges::count(g.node_of.span(), g.node_of.data()[271]), 8);
    const Graph none =
        merge(host_queue, triangle_of(triangle_where<double>(0, 2, [](index_t, index_t) { return false; })),
              Merge::critical, 8);
    EXPECT_EQ(rows_of_nodes(host_queue, none).begin.data()[0], 0);
}

TEST(SptrsvGraph, MergesAsThePaperSays)
{
    // lengths, diagonal included: 1 2 3 4 … by rows
    const Triangle t = triangle_of(triangle_where<double>(40, 3, [](index_t, index_t j) { return j < 20; }));
    const Graph average = merge(host_queue, t, Merge::average, 4, 3);  // rows 0-3: mean 2.5; from then on single
    EXPECT_EQ(average.node_of.data()[3], 0);
    EXPECT_EQ(average.node_of.data()[4], 1);
    EXPECT_EQ(average.nodes, 37);
    const Graph threshold = merge(host_queue, t, Merge::threshold, 32, 5);  // rows of up to five entries: 0-4
    EXPECT_EQ(threshold.node_of.data()[4], 0);
    EXPECT_EQ(threshold.nodes, 36);
}

TEST(SptrsvGraph, FeaturesAreThePapers)
{
    const Triangle t = triangle_of(
        csr_of<double>(4, 4,
                       {{0, 0, 1.0}, {1, 1, 1.0}, {2, 0, 1.0}, {2, 2, 1.0}, {3, 0, 1.0}, {3, 2, 1.0}, {3, 3, 1.0}}));
    const Features f = features_of(t, merge(host_queue, t, Merge::none));
    EXPECT_EQ(f.rows, 4);
    EXPECT_EQ(f.nonzeros, 7);
    EXPECT_EQ(f.levels, 3);
    EXPECT_DOUBLE_EQ(f.row_mean, 7.0 / 4);
    EXPECT_DOUBLE_EQ(f.row_longest, 3);
    EXPECT_DOUBLE_EQ(f.level_mean, 7.0 / 3);
    EXPECT_DOUBLE_EQ(f.level_longest, 3);
    EXPECT_DOUBLE_EQ(f.dependency_nearness, (0.0 + 0.0 + 0.5 + 1.0) / 4);
    EXPECT_NEAR(f.row_variation, std::sqrt((1 + 1 + 4 + 9) / 4.0 - 49.0 / 16) / (7.0 / 4), 1e-12);
}

// Every entry of the triangle is in exactly one place of the tasks, and what a task waits for is solved by an earlier
// one.
TEST(SptrsvTasks, HoldEveryEntryOnceAndWaitForEarlierTasksOnly)
{
    for (const auto& [name, a] : triangles<double>(1)) {
        const Triangle t = triangle_of(a);
        for (const Way& way : ways)
            for (const auto& packed : {std::pair{true, 1}, {false, 1}, {false, 4}}) {
                const bool reorder = packed.first;
                const int team = packed.second;
                SCOPED_TRACE(name + ": " + to_text(way.how) + ", " + std::to_string(team) + " warps");
                const Tasks tasks = make_tasks(host_queue, t, t, merge(host_queue, t, way.how, way.rows, way.limit),
                                               {reorder, team, 8});
                std::multiset<offset_t> sources;
                std::vector<offset_t> task_of(static_cast<std::size_t>(t.rows), -1);  // by row of the triangle
                index_t rows = 0;
                for (offset_t p = 0; p < tasks.task.size(); ++p) {
                    const Task& task = tasks.task.data()[p];
                    ASSERT_EQ(task.first, rows);
                    ASSERT_TRUE(task.rows >= 1 && task.rows <= task.width && task.width <= 32);
                    const auto check_column = [&](index_t col) {
                        const index_t row = reorder ? tasks.row.data()[col] : col;
                        ASSERT_GE(task_of[static_cast<std::size_t>(row)], 0) << "waits for a later task";
                    };
                    const offset_t units = offset_t{task.steps} * team + (task.cluster == 0 && task.late > 0 ? 1 : 0);
                    for (offset_t at = task.step * lanes; at < (task.step + units) * lanes; ++at) {
                        if (tasks.col.data()[at] < 0) continue;
                        sources.insert(tasks.source.data()[at]);
                        check_column(tasks.col.data()[at]);
                    }
                    for (index_t j = 0; task.cluster != 0 && j < task.late; ++j)
                        check_column(tasks.late_col.data()[task.late_first + j]);
                    for (index_t i = 0; i < task.rows; ++i, ++rows)
                        task_of[static_cast<std::size_t>(tasks.row.data()[rows])] = p;
                }
                ASSERT_EQ(rows, t.rows);
                std::set<offset_t> places;
                for (offset_t k = 0; k < tasks.dense_at.size(); ++k) {
                    sources.insert(tasks.dense_source.data()[k]);
                    ASSERT_TRUE(places.insert(tasks.dense_at.data()[k]).second) << "two entries in one place";
                    ASSERT_LT(tasks.dense_at.data()[k], tasks.dense_size);
                }
                ASSERT_EQ(sources, std::multiset<offset_t>(t.source.data(), t.source.data() + t.nonzeros()));
            }
    }
}

// Following the waits alone, in the worst order threads may run in, every row finds its parents solved.
// Every row is solved once, after those it needs: earlier by the same thread, or by one whose level was waited for.
void check_threads(const Triangle& t, const Graph& g, const ThreadPlan& plan)
{
    const auto threads = static_cast<std::size_t>(plan.threads());
    std::vector<int> owner(static_cast<std::size_t>(t.rows), -1);
    std::vector<index_t> place(owner.size());
    for (std::size_t u = 0; u < threads; ++u)
        for (const auto& range : plan.of_thread[u])
            for (index_t r = range.begin; r < range.end; ++r) {
                const auto row = static_cast<std::size_t>(plan.order[static_cast<std::size_t>(r)]);
                ASSERT_EQ(owner[row], -1) << "row " << row << " is solved twice";
                owner[row] = static_cast<int>(u);
                place[row] = r;
            }
    ASSERT_EQ(std::count(owner.begin(), owner.end(), -1), 0);
    for (std::size_t u = 0; u < threads; ++u) {
        std::vector<index_t> known(threads, 0);
        for (const auto& range : plan.of_thread[u]) {
            for (index_t w = range.wait_begin; w < range.wait_end; ++w) {
                const auto& wait = plan.waits[u][static_cast<std::size_t>(w)];
                known[static_cast<std::size_t>(wait.thread)] =
                    std::max(known[static_cast<std::size_t>(wait.thread)], wait.level);
                ASSERT_LT(wait.level, range.level);
            }
            for (index_t r = range.begin; r < range.end; ++r) {
                const index_t row = plan.order[static_cast<std::size_t>(r)];
                for (offset_t k = t.row_begin.data()[row]; k < t.row_begin.data()[row + 1]; ++k) {
                    const index_t col = t.col.data()[k];
                    const int other = owner[static_cast<std::size_t>(col)];
                    const bool ready = other == static_cast<int>(u)
                                           ? place[static_cast<std::size_t>(col)] < r
                                           : known[static_cast<std::size_t>(other)] >= g.level_of(col);
                    ASSERT_TRUE(ready) << "row " << row << " does not wait for row " << col;
                }
            }
        }
    }
}

std::size_t waits_in(const ThreadPlan& plan)
{
    std::size_t sum = 0;
    for (const auto& waits : plan.waits) sum += waits.size();
    return sum;
}

TEST(SptrsvThreads, WaitForAllTheyNeed)
{
    const Triangle t = triangle_of(triangle_where<double>(900, 3, [](index_t i, index_t j) {
        return unit(hash_of(5, i, j)) < 0.05 && i - j > 150;
    }));
    const Graph g = merge(host_queue, t, Merge::none);
    const ThreadPlan plan = plan_threads(host_queue, t, g, 3, 20);
    check_threads(t, g, plan);
    for (const auto& ranges : plan.of_thread)
        EXPECT_FALSE(ranges.empty()) << "the levels are large enough for three threads";
}

// Chains of 3 to 14 rows, each of which begins after another: row by row their rows change threads as others end, as
// clusters they do not.
TEST(SptrsvThreads, WaitLessForClusters)
{
    std::vector<index_t> needs(1200, -1), first;
    for (index_t i = 0; i < 1200; first.push_back(i), i += 3 + static_cast<index_t>(below(hash_of(9, i), 12))) {
        for (index_t k = i + 1; k < std::min(i + 14, 1200); ++k) needs[static_cast<std::size_t>(k)] = k - 1;
        needs[static_cast<std::size_t>(i)] = first.size() < 25 ? -1 : first[first.size() - 25];
    }
    const Triangle t = triangle_of(
        triangle_where<double>(1200, 3, [&](index_t i, index_t j) { return j == needs[static_cast<std::size_t>(i)]; }));
    const Graph alone = merge(host_queue, t, Merge::none);
    const std::size_t before = waits_in(plan_threads(host_queue, t, alone, 3, 1));
    for (const auto& [how, rows] : {std::pair{Merge::critical, 64}, {Merge::critical, 5}, {Merge::fixed, 16}}) {
        SCOPED_TRACE(to_text(how) + " " + std::to_string(rows));
        const Graph g = merge(host_queue, t, how, rows);
        const ThreadPlan plan = plan_threads(host_queue, t, g, 3, 1);
        check_threads(t, g, plan);
        EXPECT_TRUE(how == Merge::fixed || waits_in(plan) < before) << waits_in(plan) << " of " << before;
    }
    check_threads(t, alone, plan_threads(host_queue, t, alone, 3, 1));
    const Triangle none = triangle_of(csr_of<double>(0, 0, {}));
    const Graph empty = merge(host_queue, none, Merge::critical, 64);
    EXPECT_EQ(waits_in(plan_threads(host_queue, none, empty, 3, 1)), 0u);
}

}  // namespace
}  // namespace tulle::inline TULLE_ABI::sptrsv
