// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Markov clustering: graphs whose clusters are plain, and a small one whose clusters the program mcl gave.
#include <gtest/gtest.h>

#include <algorithm>

#include "graph/order.hpp"
#include "support/backends.hpp"
#include "support/battery.hpp"
#include "tulle/graph.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::graph {
namespace {

using namespace tulle::test;

class ClusterOn : public OnBackend {};

HostCsr<double> undirected(index_t n, const std::vector<std::pair<index_t, index_t>>& edges)
{
    std::vector<std::tuple<index_t, index_t, double>> all;
    for (const auto& [i, j] : edges) all.emplace_back(i, j, 1.0), all.emplace_back(j, i, 1.0);
    std::sort(all.begin(), all.end());
    return csr_of<double>(n, n, all);
}

// Zachary's karate club (1977), counted from 0.
HostCsr<double> karate()
{
    return undirected(34, {{0, 1},   {0, 2},   {0, 3},   {0, 4},   {0, 5},   {0, 6},   {0, 7},   {0, 8},   {0, 10},
                           {0, 11},  {0, 12},  {0, 13},  {0, 17},  {0, 19},  {0, 21},  {0, 31},  {1, 2},   {1, 3},
                           {1, 7},   {1, 13},  {1, 17},  {1, 19},  {1, 21},  {1, 30},  {2, 3},   {2, 7},   {2, 8},
                           {2, 9},   {2, 13},  {2, 27},  {2, 28},  {2, 32},  {3, 7},   {3, 12},  {3, 13},  {4, 6},
                           {4, 10},  {5, 6},   {5, 10},  {5, 16},  {6, 16},  {8, 30},  {8, 32},  {8, 33},  {9, 33},
                           {13, 33}, {14, 32}, {14, 33}, {15, 32}, {15, 33}, {18, 32}, {18, 33}, {19, 33}, {20, 32},
                           {20, 33}, {22, 32}, {22, 33}, {23, 25}, {23, 27}, {23, 29}, {23, 32}, {23, 33}, {24, 25},
                           {24, 27}, {24, 31}, {25, 31}, {26, 29}, {26, 33}, {27, 33}, {28, 31}, {28, 33}, {29, 32},
                           {29, 33}, {30, 32}, {30, 33}, {31, 32}, {31, 33}, {32, 33}});
}

Clusters clusters_of(const Context& c, const HostCsr<double>& a, const ClusterOptions& options = {})
{
    const Csr<double> there = to_device(c, a.view());
    return cluster(c, there.view(), options);
}

// The clusters as lists of vertices, in the order of their numbers.
std::vector<std::vector<index_t>> lists_of(const Clusters& r)
{
    std::vector<std::vector<index_t>> all(static_cast<std::size_t>(r.count));
    for (std::size_t v = 0; v < r.cluster.size(); ++v)
        all[static_cast<std::size_t>(r.cluster[v])].push_back(static_cast<index_t>(v));
    return all;
}

TEST_P(ClusterOn, FindsWhatIsApart)
{
    // A square with diagonals, a triangle, an isolated vertex with a self loop and one without.
    auto edges = undirected(9, {{0, 2}, {0, 4}, {0, 6}, {2, 4}, {2, 6}, {4, 6}, {1, 3}, {3, 5}, {1, 5}}).entries();
    edges.emplace_back(7, 7, 3.0);
    std::sort(edges.begin(), edges.end());
    const Clusters r = clusters_of(ctx(), csr_of<double>(9, 9, edges));
    EXPECT_TRUE(r.converged);
    EXPECT_EQ(lists_of(r), (std::vector<std::vector<index_t>>{{0, 2, 4, 6}, {1, 3, 5}, {7}, {8}}));
    EXPECT_EQ(clusters_of(ctx(), csr_of<double>(0, 0, {})).count, 0);
}

// mcl karate.abc --abc -I X (22-282), clusters from the largest on.
TEST_P(ClusterOn, AreThoseOfMcl)
{
    const Context c = ctx();
    EXPECT_EQ(lists_of(clusters_of(c, karate(),
                                   {.inflation = 2, .prune = 0.05, .select = 4, .recover = 6, .recover_share = 0.7})),
              (std::vector<std::vector<index_t>>{{0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12, 13, 16, 17, 19, 21},
                                                 {8, 9, 14, 15, 18, 20, 22, 23, 26, 27, 28, 29, 30, 32, 33},
                                                 {24, 25, 31}}));
    if (c.backend() == Backend::cuda) return;  // iterations take long on a simulated GPU
    EXPECT_EQ(lists_of(clusters_of(c, karate(), {.inflation = 2})),
              (std::vector<std::vector<index_t>>{{2, 8, 9, 14, 15, 18, 20, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32,
                                                  33},
                                                 {0, 1, 3, 4, 5, 6, 7, 10, 11, 12, 13, 16, 17, 19, 21}}));
    EXPECT_EQ(lists_of(clusters_of(c, karate(), {.inflation = 1.4})),
              (std::vector<std::vector<index_t>>{{0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11,
                                                  12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23,
                                                  24, 25, 26, 27, 28, 29, 30, 31, 32, 33}}));
    EXPECT_EQ(lists_of(clusters_of(c, karate(), {.inflation = 3})),
              (std::vector<std::vector<index_t>>{{0, 1, 3, 4, 5, 6, 7, 10, 11, 12, 13, 16, 17, 19, 21},
                                                 {2, 8, 9, 14, 15, 18, 20, 22, 23, 26, 28, 29, 30, 32, 33},
                                                 {24, 25, 31},
                                                 {27}}));
    EXPECT_EQ(lists_of(clusters_of(c, karate(), {.inflation = 2, .prune = 0.02, .select = 5, .recover = 0})),
              (std::vector<std::vector<index_t>>{{0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12, 13, 16, 17, 19, 21},
                                                 {8, 9, 14, 15, 18, 20, 22, 23, 26, 27, 28, 29, 30, 32, 33},
                                                 {24, 25, 31}}));
}

// A path of nine vertices: the one in the middle is as near to one half as to the other. Sums that depend on the order
// of their products let it lean to one side, which takes 24 iterations or more. mcl (22-282) gives it to the half of
// the smaller attractor too.
TEST(Cluster, EqualWeightsStayEqual)
{
    const auto path = undirected(12, {{2, 4}, {4, 10}, {10, 6}, {6, 11}, {11, 7}, {7, 0}, {0, 9}, {9, 3}});
    const std::vector<std::vector<index_t>> of_mcl{{2, 4, 6, 10, 11}, {0, 3, 7, 9}, {1}, {5}, {8}};
    EXPECT_EQ(lists_of(clusters_of(Context::cpu(1), path)), of_mcl);
    EXPECT_LT(clusters_of(Context::cpu(1), path).iterations, 24);
    EXPECT_EQ(lists_of(clusters_of(Context::cpu(1), path, {.negligible = 1e-4})), of_mcl);
}

// Communities far apart in the numbering come together, and every vertex has one place.
TEST(Order, PutsCommunitiesTogether)
{
    std::vector<std::pair<index_t, index_t>> edges{{0, 3}};  // three cliques of the vertices that are equal modulo 3
    for (index_t i = 0; i < 30; ++i)
        for (index_t j = i + 3; j < 30; j += 3) edges.emplace_back(i, j);
    std::vector<std::tuple<index_t, index_t, float>> all;
    for (const auto& [i, j, w] : undirected(31, edges).entries()) all.emplace_back(i, j, static_cast<float>(w));
    const std::vector<index_t> order = order_by_community(csr_of<float>(31, 31, all).view());
    ASSERT_EQ(order.size(), 31u);
    int changes = 0;
    for (std::size_t k = 1; k < 31; ++k)
        changes += order[k] == 30 || order[k - 1] == 30 || order[k] % 3 != order[k - 1] % 3;
    EXPECT_LE(changes, 4);
    std::vector<index_t> sorted = order;
    std::sort(sorted.begin(), sorted.end());
    for (index_t v = 0; v < 31; ++v) EXPECT_EQ(sorted[static_cast<std::size_t>(v)], v);
    EXPECT_TRUE(order_by_community(csr_of<float>(0, 0, {}).view()).empty());
}

// A graph of communities gives the same clusters on any number of threads, at every step.
TEST(Cluster, DoesNotDependOnThreads)
{
    std::vector<std::pair<index_t, index_t>> edges;
    for (index_t i = 0; i < 240; ++i)
        for (index_t j = i + 1; j < 240; ++j)
            if (i % 6 == j % 6 ? (i * j) % 3 != 0 : (i * 7 + j * 5) % 61 == 0) edges.emplace_back(i, j);
    const auto a = undirected(240, edges);
    const auto run = [&](int threads) {
        std::vector<std::pair<double, offset_t>> steps;
        const Clusters r =
            clusters_of(Context::cpu(threads), a,
                        {.progress = [&](const ClusterStep& s) { steps.emplace_back(s.chaos, s.nonzeros); }});
        return std::pair{r.cluster, steps};
    };
    const auto want = run(1);
    EXPECT_EQ(run(2), want);
    EXPECT_EQ(run(3), want);
}

// Rows longer than a warp, with their largest entries beyond it: every iteration is that of the CPU.
TEST_P(ClusterOn, RowsLongerThanAWarp)
{
    std::vector<std::tuple<index_t, index_t, double>> edges;
    for (index_t i = 0; i < 90; ++i)
        for (index_t j = 0; j < 90; ++j)
            if (i != j && (i / 45 == j / 45 || (i + j) % 29 == 0))
                edges.emplace_back(i, j, 1 + (i * j) % 7 + (j > 60) * 9);
    const auto a = csr_of<double>(90, 90, edges);
    const auto steps_of = [&](const Context& c) {
        std::vector<ClusterStep> steps;
        clusters_of(c, a, {.iterations = 5, .budget = std::size_t{1} << 22, .progress = [&](const ClusterStep& s) {
                               steps.push_back(s);
                           }});
        return steps;
    };
    const auto want = steps_of(Context::cpu(1)), got = steps_of(ctx());
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t k = 0; k < want.size(); ++k) {
        EXPECT_NEAR(got[k].chaos, want[k].chaos, 1e-3 * (1 + want[k].chaos)) << k;
        EXPECT_EQ(got[k].nonzeros, want[k].nonzeros) << k;
    }
    EXPECT_GT(want[0].nonzeros, 90 * 40) << "the rows are short";
}

TEST_P(ClusterOn, SaysWhereItIsAndStops)
{
    int steps = 0;
    ClusterOptions o{.iterations = 3, .progress = [&](const ClusterStep& s) {
                         EXPECT_EQ(s.iteration, ++steps);
                         EXPECT_GT(s.nonzeros, 0);
                     }};
    const Clusters r = clusters_of(ctx(), karate(), o);
    EXPECT_FALSE(r.converged);
    EXPECT_EQ(r.iterations, 3);
    EXPECT_EQ(steps, 3);
    EXPECT_EQ(r.cluster.size(), 34u);
}

TEST_P(ClusterOn, RefusesWhatDoesNotFit)
{
    const Context c = ctx();
    EXPECT_THROW(clusters_of(c, karate(), {.inflation = 1}), ValueError);
    EXPECT_THROW(clusters_of(c, karate(), {.prune = -1}), ValueError);
    EXPECT_THROW(clusters_of(c, karate(), {.negligible = -1}), ValueError);
    EXPECT_THROW(clusters_of(c, karate(), {.negligible = 1}), ValueError);
    EXPECT_THROW(clusters_of(c, karate(), {.select = -1}), ValueError);
    EXPECT_THROW(clusters_of(c, csr_of<double>(2, 3, {})), ShapeError);
    EXPECT_THROW(clusters_of(c, csr_of<double>(2, 2, {{0, 1, -1.0}})), ValueError);
    EXPECT_THROW(clusters_of(c, csr_of<double>(2, 2, {{0, 1, INFINITY}})), ValueError);
}

TULLE_ON_BACKENDS(ClusterOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI::graph
