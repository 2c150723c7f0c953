// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Algorithms on graphs whose answers are known.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "graph/semiring_loops.hpp"
#include "support/battery.hpp"
#include "support/schedule.hpp"
#include "tulle/graph.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::graph {
namespace {

using namespace tulle::test;

HostCsr<double> graph_of(index_t n, const std::vector<std::tuple<index_t, index_t, double>>& edges, bool both)
{
    auto all = edges;
    for (const auto& [i, j, w] : edges)
        if (both) all.emplace_back(j, i, w);
    std::sort(all.begin(), all.end());
    return csr_of<double>(n, n, all);
}

TEST(Triangles, AreCounted)
{
    const Context c = Context::cpu(2);
    const auto complete =
        matrix_where<double>(10, 10, Values::integers, 1, [](index_t i, index_t j) { return i != j; });
    EXPECT_EQ(count_triangles(c, complete.view()), 120);
    EXPECT_EQ(count_triangles(c, graph_of(4, {{0, 1, 1.}, {1, 2, 1.}, {2, 3, 1.}, {3, 0, 1.}}, true).view()), 0);
    EXPECT_EQ(count_triangles(c, graph_of(5, {{0, 1, 1.}, {1, 2, 1.}, {0, 2, 1.}, {2, 3, 1.}}, true).view()), 1);
    EXPECT_EQ(count_triangles(c, csr_of<double>(0, 0, {}).view()), 0);
    // Self loops, an edge stored twice, weights that cancel.
    auto noisy = graph_of(3, {{0, 1, 1.}, {1, 2, 5.}, {0, 2, -5.}, {0, 1, -1.}}, true).entries();
    for (const index_t v : {0, 1, 2}) noisy.emplace_back(v, v, 1.0);
    EXPECT_EQ(count_triangles(c, csr_of<double>(3, 3, noisy).view()), 1);
    EXPECT_THROW(count_triangles(c, graph_of(3, {{0, 1, 1.}}, false).view()), ValueError);
    EXPECT_THROW(count_triangles(c, csr_of<double>(2, 3, {}).view()), ShapeError);
}

TEST(Triangles, AreATraceOfTheCube)
{
    const Context c = Context::cpu(2);
    const auto a = matrix_where<double>(80, 80, Values::integers, 1, [](index_t i, index_t j) {
        return i != j && unit(hash_of(3, std::min(i, j), std::max(i, j))) < 0.2;
    });
    double closed = 0;
    for (const auto& [at, n] : product(Semiring::plus_pair, a, a))
        for (offset_t p = a.row_begin[static_cast<std::size_t>(at.first)];
             p < a.row_begin[static_cast<std::size_t>(at.first) + 1]; ++p)
            if (a.col[static_cast<std::size_t>(p)] == at.second) closed += n;
    EXPECT_EQ(count_triangles(c, a.view()), static_cast<offset_t>(closed) / 6);
}

// One edge without its way back, wherever it is, and self loops, for any number of threads.
TEST(Triangles, OfDirectedGraphsAreRefused)
{
    const auto sound = matrix_where<double>(40, 40, Values::integers, 1, [](index_t i, index_t j) {
        return unit(hash_of(4, std::min(i, j), std::max(i, j))) < 0.2;
    });
    const auto all = sound.entries();
    for (const int threads : {1, 2, 5}) {
        const Context c = Context::cpu(threads);
        EXPECT_GT(count_triangles(c, sound.view()), 0);
        for (std::size_t gone = 0; gone < all.size(); gone += 7) {
            auto rest = all;
            rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(gone));
            const auto [i, j, v] = all[gone];
            const auto a = csr_of<double>(40, 40, rest);
            if (i == j) EXPECT_EQ(count_triangles(c, a.view()), count_triangles(c, sound.view()));
            else EXPECT_THROW(count_triangles(c, a.view()), ValueError) << i << ", " << j;
        }
    }
}

// NetworkX 3: pagerank(nx.DiGraph([(0,1),(0,2),(1,2),(2,0),(3,2)]) with vertex 4 alone, tol=1e-14).
TEST(PageRank, IsThatOfTheDefinition)
{
    const Context c = Context::cpu(2);
    const auto a = graph_of(5, {{0, 1, 1.}, {0, 2, 1.}, {1, 2, 1.}, {2, 0, 1.}, {3, 2, 1.}}, false);
    const Ranking r = pagerank(c, a.view(), {.tolerance = 1e-15, .iterations = 1000});
    EXPECT_TRUE(r.converged);
    // r = 0.85 (P^T r + r[4] / 5) + 0.15 / 5, which the result must satisfy.
    const auto& v = r.value;
    const double base = 0.03 + 0.85 * v[4] / 5;
    EXPECT_NEAR(v[0], base + 0.85 * v[2], 1e-13);
    EXPECT_NEAR(v[1], base + 0.85 * v[0] / 2, 1e-13);
    EXPECT_NEAR(v[2], base + 0.85 * (v[0] / 2 + v[1] + v[3]), 1e-13);
    EXPECT_NEAR(v[3], base, 1e-13);
    EXPECT_NEAR(v[0] + v[1] + v[2] + v[3] + v[4], 1, 1e-13);
    const std::vector<double> personal{0, 0, 0, 2, 0}, dangling{1, 0, 0, 0, 0};
    const Ranking p =
        pagerank(c, a.view(),
                 {.tolerance = 1e-15, .iterations = 1000, .personalization = personal, .dangling = dangling});
    EXPECT_NEAR(p.value[3], 0.15, 1e-13);
    EXPECT_NEAR(p.value[4], 0, 1e-13);
    EXPECT_FALSE(pagerank(c, a.view(), {.tolerance = 0, .iterations = 3}).converged);
    EXPECT_THROW(pagerank(c, a.view(), {.damping = 1.5}), ValueError);
    EXPECT_THROW(pagerank(c, a.view(), {.personalization = std::span(personal).first(3)}), ShapeError);
    EXPECT_THROW(pagerank(c, graph_of(2, {{0, 1, -1.}}, false).view()), ValueError);
}

// Weights that are equal for each vertex do not matter, and are not read; an edge in two unequal parts is the same
// graph.
TEST(PageRank, IsTheSameWithEqualWeightsAndWithEdgesInParts)
{
    auto whole = random_matrix<double>(3000, 3000, 0.002, Values::integers, 5);
    std::vector<std::tuple<index_t, index_t, double>> parts;
    for (std::size_t i = 0; i < 3000; ++i)
        for (auto p = static_cast<std::size_t>(whole.row_begin[i]);
             p < static_cast<std::size_t>(whole.row_begin[i + 1]); ++p) {
            whole.value[p] = i % 3 == 0 ? 0.3 : 4.0;
            parts.emplace_back(i, whole.col[p], 0.25 * whole.value[p]);
            parts.emplace_back(i, whole.col[p], 0.75 * whole.value[p]);
        }
    const auto split = csr_of<double>(3000, 3000, parts);
    const std::vector<double> personal = [] {
        std::vector<double> x(3000, 1.0);
        x[5] = 100;
        return x;
    }();
    const RankOptions options{.tolerance = 1e-15, .iterations = 500, .personalization = personal};
    const Ranking one = pagerank(Context::cpu(1), whole.view(), options),
                  two = pagerank(Context::cpu(3), whole.view(), options),
                  weighted = pagerank(Context::cpu(2), split.view(), options);
    EXPECT_EQ(one.value, two.value);
    EXPECT_EQ(one.iterations, two.iterations);
    for (std::size_t v = 0; v < 3000; ++v) EXPECT_NEAR(one.value[v], weighted.value[v], 1e-13);
}

// The definition, in a plain loop; no distribution: everywhere, or as a jump.
std::vector<double> plain_pagerank(const HostCsr<double>& a, double damping, std::vector<double> jump,
                                   std::vector<double> dangling)
{
    const auto n = static_cast<std::size_t>(a.rows);
    if (jump.empty()) jump.assign(n, 1);
    if (dangling.empty()) dangling = jump;
    const double jumps = std::accumulate(jump.begin(), jump.end(), 0.0),
                 dangles = std::accumulate(dangling.begin(), dangling.end(), 0.0);
    std::vector<double> rank(n, 1.0 / double(n));
    for (int iteration = 0; iteration < 250; ++iteration) {
        std::vector<double> next(n, 0);
        double lost = 0;
        for (std::size_t i = 0; i < n; ++i) {
            const auto begin = static_cast<std::size_t>(a.row_begin[i]),
                       end = static_cast<std::size_t>(a.row_begin[i + 1]);
            double sum = 0;
            for (std::size_t p = begin; p < end; ++p) sum += a.value[p];
            if (sum == 0) lost += rank[i];
            for (std::size_t p = begin; sum > 0 && p < end; ++p)
                next[static_cast<std::size_t>(a.col[p])] += rank[i] * a.value[p] / sum;
        }
        for (std::size_t i = 0; i < n; ++i)
            rank[i] = damping * (next[i] + lost * dangling[i] / dangles) + (1 - damping) * jump[i] / jumps;
    }
    return rank;
}

// Options together, with and without weights, where a fifth of the vertices has no edges and no piece holds them all.
TEST(PageRank, OptionsGoTogether)
{
    auto a = random_matrix<double>(2500, 2500, 0.002, Values::integers, 9);
    std::vector<std::tuple<index_t, index_t, double>> kept;
    for (const auto& [i, j, v] : a.entries())
        if (i % 5 != 0) kept.emplace_back(i, j, 1 + (i + j) % 3);
    const auto weighted = csr_of<double>(2500, 2500, kept);
    auto equal = weighted;
    std::fill(equal.value.begin(), equal.value.end(), 2.0);
    std::vector<double> first(2500), last(2500);
    for (std::size_t i = 0; i < 2500; ++i) {
        first[i] = i < 100 ? 1.0 : 0.01;
        last[i] = i > 2000 ? double(i % 7) : 0.0;
    }
    for (const HostCsr<double>* graph : std::vector<const HostCsr<double>*>{&equal, &weighted})
        for (const double damping : {0.3, 0.85})
            for (const auto& personal : {std::vector<double>{}, first})
                for (const auto& dangling : {std::vector<double>{}, last}) {
                    const RankOptions o{.damping = damping,
                                        .tolerance = 1e-16,
                                        .iterations = 250,
                                        .personalization = personal,
                                        .dangling = dangling};
                    const Ranking found = pagerank(Context::cpu(2), graph->view(), o);
                    const auto want = plain_pagerank(*graph, damping, personal, dangling);
                    for (std::size_t v = 0; v < want.size(); ++v)
                        ASSERT_NEAR(found.value[v], want[v], 1e-12)
                            << v << ", damping " << damping << (graph == &equal ? ", equal weights" : ", weights")
                            << (personal.empty() ? "" : ", personal") << (dangling.empty() ? "" : ", dangling");
                }
}

TEST(Hits, AreTheSingularVectors)
{
    const Context c = Context::cpu(2);
    const auto a = graph_of(4, {{0, 1, 1.}, {0, 2, 1.}, {1, 2, 1.}, {3, 2, 1.}}, false);
    const HubsAndAuthorities r = hits(c, a.view(), 1e-15, 1000);
    EXPECT_TRUE(r.converged);
    // A^T A restricted to {1, 2} is [1 1; 1 3]: largest eigenvalue 2 + sqrt 2, vector (1, 1 + sqrt 2).
    EXPECT_NEAR(r.authority[2] / r.authority[1], 1 + std::sqrt(2.0), 1e-12);
    EXPECT_NEAR(r.hub[1], r.hub[3], 1e-15);
    EXPECT_NEAR(r.hub[0] / r.hub[1], (2 + std::sqrt(2.0)) / (1 + std::sqrt(2.0)), 1e-12);
}

// Levels with many edges, for which vertices pull, between levels with few: by a plain loop over all edges.
TEST(BreadthFirst, IsThatOfAPlainLoop)
{
    for (const auto& [size, density] : {std::pair{80, 0.02}, {80, 0.2}, {2000, 0.002}}) {
        const index_t n = size + 10;
        auto edges = random_matrix<double>(size, size, density, Values::integers, 9).entries();
        for (index_t v = size; v < n; ++v) edges.emplace_back(v - 1, v, 1.0);  // a path away from the others
        std::sort(edges.begin(), edges.end());
        const auto a = shuffled_with_duplicates(csr_of<double>(n, n, edges), 3);
        std::vector<index_t> level(static_cast<std::size_t>(n), -1), parent(static_cast<std::size_t>(n), -1);
        level[7] = 0;
        for (index_t now = 0; now < 90; ++now)
            for (const auto& [u, v, w] : a.entries()) {
                const auto from = static_cast<std::size_t>(u), to = static_cast<std::size_t>(v);
                if (level[from] != now || (level[to] >= 0 && level[to] <= now)) continue;
                parent[to] = level[to] < 0 ? u : std::min(parent[to], u);
                level[to] = now + 1;
            }
        const Levels r = breadth_first(Context::cpu(3), a.view(), 7);
        EXPECT_EQ(r.level, level);
        EXPECT_EQ(r.parent, parent);
    }
}

TEST(BreadthFirst, FindsLevelsAndSmallestParents)
{
    const Context c = Context::cpu(2);
    const auto a =
        graph_of(7, {{0, 2, 1.}, {0, 1, 1.}, {1, 3, 1.}, {2, 3, 1.}, {3, 4, 1.}, {5, 0, 1.}, {0, 0, 1.}}, false);
    const Levels r = breadth_first(c, a.view(), 0);
    EXPECT_EQ(r.level, (std::vector<index_t>{0, 1, 1, 2, 3, -1, -1}));
    EXPECT_EQ(r.parent, (std::vector<index_t>{-1, 0, 0, 1, 3, -1, -1}));
    EXPECT_THROW(breadth_first(c, a.view(), 7), ValueError);
    EXPECT_THROW(breadth_first(c, a.view(), -1), ValueError);
}

// Bellman and Ford's plain rounds over all edges.
TEST(ShortestPaths, AreThoseOfAllEdgesAllRounds)
{
    const Context c = Context::cpu(2);
    auto a = random_matrix<double>(60, 60, 0.06, Values::integers, 9);
    for (double& w : a.value) w = std::abs(w);  // zeros among them
    const Paths r = shortest_paths(c, a.view(), 3);
    std::vector<double> want(60, INFINITY);
    want[3] = 0;
    for (int round = 0; round < 60; ++round)
        for (const auto& [i, j, w] : a.entries())
            want[static_cast<std::size_t>(j)] =
                std::min(want[static_cast<std::size_t>(j)], want[static_cast<std::size_t>(i)] + w);
    EXPECT_EQ(r.distance, want);
    for (index_t v = 0; v < 60; ++v) {
        EXPECT_EQ(r.parent[static_cast<std::size_t>(v)] < 0, v == 3 || want[static_cast<std::size_t>(v)] == INFINITY);
        index_t at = v, steps = 0;
        while (r.parent[static_cast<std::size_t>(at)] >= 0 && steps++ < 60) at = r.parent[static_cast<std::size_t>(at)];
        EXPECT_LT(steps, 60) << "parents of " << v << " go round";
        EXPECT_EQ(at == 3, want[static_cast<std::size_t>(v)] < INFINITY);
    }
    auto negative = a;
    negative.value[5] = -1;
    EXPECT_THROW(shortest_paths(c, negative.view(), 3), ValueError);
    negative.value[5] = std::nan("");
    EXPECT_THROW(shortest_paths(c, negative.view(), 3), ValueError);
}

TEST(Components, AreNamedByTheirSmallestVertex)
{
    const Context c = Context::cpu(1);
    const auto a = graph_of(7, {{5, 1, 1.}, {2, 6, 1.}, {6, 4, 1.}, {3, 3, 1.}}, false);
    EXPECT_EQ(components(c, a.view()), (std::vector<index_t>{0, 1, 2, 3, 2, 1, 2}));
}

// Vertices with fewer than k neighbours are taken away until there is none.
std::vector<index_t> peeled(const HostCsr<double>& a)
{
    std::vector<index_t> core(static_cast<std::size_t>(a.rows), 0);
    std::set<std::pair<index_t, index_t>> edges;
    for (const auto& [i, j, v] : a.entries())
        if (i != j) edges.emplace(i, j);
    for (index_t k = 1; !edges.empty(); ++k)
        for (bool changed = true; changed;) {
            std::map<index_t, index_t> left;
            for (const auto& [i, j] : edges) ++left[i];
            changed = std::erase_if(edges, [&](const auto& e) { return left[e.first] < k || left[e.second] < k; }) > 0;
            if (changed) continue;
            for (const auto& [v, n] : left) core[static_cast<std::size_t>(v)] = k;
        }
    return core;
}

// NetworkX 3: core_number(nx.Graph([(0,1),(1,2),(2,0),(2,3),(3,4),(5,6)]) with vertex 7 alone.
TEST(CoreNumbers, AreThoseOfPeeling)
{
    const Context c = Context::cpu(2);
    const auto small =
        graph_of(8, {{0, 1, 1.}, {1, 2, 1.}, {2, 0, 1.}, {2, 3, 1.}, {3, 4, 1.}, {5, 6, 1.}, {0, 0, 1.}, {7, 7, 1.}},
                 true);
    EXPECT_EQ(core_numbers(c, small.view()), (std::vector<index_t>{2, 2, 2, 1, 1, 1, 1, 0}));
    for (const double density : {0.02, 0.1, 0.5}) {
        const auto a = matrix_where<double>(90, 90, Values::integers, 1, [&](index_t i, index_t j) {
            const double share = unit(hash_of(6, std::min(i, j), std::max(i, j)));
            return share < density * 90 / (90 + std::max(i, j));  // self loops among them
        });
        EXPECT_EQ(core_numbers(c, a.view()), peeled(a));
        EXPECT_EQ(core_numbers(c, shuffled_with_duplicates(a, 7).view()), peeled(a));
    }
    EXPECT_TRUE(core_numbers(c, csr_of<double>(0, 0, {}).view()).empty());
    EXPECT_THROW(core_numbers(c, graph_of(3, {{0, 1, 1.}}, false).view()), ValueError);
    EXPECT_THROW(core_numbers(c, csr_of<double>(2, 3, {}).view()), ShapeError);
}

// What the CPU finds is what a GPU finds.
TEST(GraphsOnAGpu, AreThoseOfTheCpu)
{
    if (!why_no_cuda().empty()) GTEST_SKIP() << why_no_cuda();
    draw_schedule();
    const Context cpu = Context::cpu(2), gpu = Context::cuda(0);
    // Few edges for pushes, many for pulls; unsorted with duplicates; several components.
    const auto wide =
        shuffled_with_duplicates(matrix_where<double>(150, 150, Values::integers, 4,
                                                      [](index_t i, index_t j) {
                                                          return i / 60 == j / 60 && unit(hash_of(5, i, j)) < 0.08;
                                                      }),
                                 3);
    const auto chain = graph_of(
        90,
        [] {
            std::vector<std::tuple<index_t, index_t, double>> e;
            for (index_t v = 0; v + 1 < 20; ++v) e.emplace_back(v * 7 % 20, (v + 1) * 7 % 20, 1.0);
            return e;
        }(),
        true);
    for (auto a : {wide, chain, csr_of<double>(1, 1, {})}) {
        for (double& w : a.value) w = std::abs(w);
        const Csr<double> there = to_device(gpu, a.view());
        const Levels want = breadth_first(cpu, a.view(), 0), got = breadth_first(gpu, there.view(), 0);
        EXPECT_EQ(got.level, want.level);
        EXPECT_EQ(got.parent, want.parent);
        EXPECT_EQ(components(gpu, there.view()), components(cpu, a.view()));
        const Paths paths = shortest_paths(gpu, there.view(), 0);
        EXPECT_EQ(paths.distance, shortest_paths(cpu, a.view(), 0).distance);
        for (index_t v = 0; v < a.rows; ++v) {
            index_t at = v, steps = 0;
            while (paths.parent[static_cast<std::size_t>(at)] >= 0 && steps++ < a.rows)
                at = paths.parent[static_cast<std::size_t>(at)];
            EXPECT_EQ(at == 0, paths.distance[static_cast<std::size_t>(v)] < INFINITY) << v;
        }
        const RankOptions few{.iterations = 6};
        const Ranking rank = pagerank(cpu, a.view(), few), rank_there = pagerank(gpu, there.view(), few);
        EXPECT_EQ(rank_there.iterations, rank.iterations);
        const HubsAndAuthorities hubs = hits(cpu, a.view(), 1e-8, 6), hubs_there = hits(gpu, there.view(), 1e-8, 6);
        for (std::size_t v = 0; v < rank.value.size(); ++v) {
            EXPECT_NEAR(rank_there.value[v], rank.value[v], 1e-13);
            EXPECT_NEAR(hubs_there.hub[v], hubs.hub[v], 1e-12);
            EXPECT_NEAR(hubs_there.authority[v], hubs.authority[v], 1e-12);
        }
    }
}

TEST(GraphsOnAGpu, TrianglesAreThoseOfTheCpu)
{
    if (!why_no_cuda().empty()) GTEST_SKIP() << why_no_cuda();
    draw_schedule();
    const Context cpu = Context::cpu(2), gpu = Context::cuda(0);
    const auto a = matrix_where<double>(80, 80, Values::integers, 1, [](index_t i, index_t j) {
        return unit(hash_of(3, std::min(i, j), std::max(i, j))) < 0.2;  // self loops among them
    });
    for (const auto& m : {a, shuffled_with_duplicates(a, 7), csr_of<double>(0, 0, {})}) {
        const Csr<double> there = to_device(gpu, m.view());
        EXPECT_EQ(count_triangles(gpu, there.view()), count_triangles(cpu, m.view()));
        EXPECT_EQ(core_numbers(gpu, there.view()), core_numbers(cpu, m.view()));
    }
    const auto one_way = graph_of(3, {{0, 1, 1.}, {1, 0, 1.}, {2, 1, 1.}}, false);
    const Csr<double> there = to_device(gpu, one_way.view());
    try {
        count_triangles(gpu, there.view());
        FAIL() << "directed";
    } catch (const ValueError& e) {
        EXPECT_NE(std::string(e.what()).find("edge 2 to 1"), std::string::npos) << e.what();
    }
    const Csr<double> negative = to_device(gpu, graph_of(2, {{0, 1, -1.}}, false).view());
    EXPECT_THROW(shortest_paths(gpu, negative.view(), 0), ValueError);
    EXPECT_THROW(pagerank(gpu, negative.view()), ValueError);
}

}  // namespace
}  // namespace tulle::inline TULLE_ABI::graph
