// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// op(T) x = alpha b on every backend, with every scheme, against the oracle.
#include "base/compute.hpp"
#include "tulle/sptrsv.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <tuple>
#include <vector>

#include "sptrsv/schemes.hpp"
#include "sptrsv/triangles.hpp"
#include "support/backends.hpp"
#include "support/battery.hpp"
#include "support/faults.hpp"
#include "support/guarded.hpp"
#include "support/older_gpu.hpp"
#include "tulle/convert.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {
namespace {

using namespace tulle::test;

class SptrsvOn : public OnBackend {};

template <class V>
std::vector<V> vector_of(index_t n, std::uint64_t seed)
{
    std::vector<V> x(static_cast<std::size_t>(n));
    for (index_t i = 0; i < n; ++i) x[static_cast<std::size_t>(i)] = static_cast<V>(2.0 * unit(hash_of(seed, i)) - 1.0);
    return x;
}

template <class V>
std::vector<V> run(const Context& ctx, const Plan<V>& plan, V alpha, const std::vector<V>& b)
{
    const auto there = to_device<V>(ctx, std::span<const V>(b));
    Guarded<V> x(ctx, std::vector<V>(b.size(), std::numeric_limits<V>::quiet_NaN()));
    plan.solve(alpha, there.span(), x.span());
    plan.wait();
    return x.take();
}

int power_of(const Policy& scheme) { return scheme.kernel == Kernel::tasks && scheme.merge != Merge::none ? 2 : 1; }

// Some of the paper's schemes, others for another seed: there are too many for any battery. Lists made beforehand need
// all blocks at once.
std::vector<Policy> some_of_the_papers(std::size_t count)
{
    const char *given = std::getenv("TULLE_SIM_SEED"), *seed = given ? given : std::getenv("TULLE_SEED");
    std::vector<Policy> all = ag_sptrsv_policies(), some;
    for (const Policy& s : ag_sptrsv_reduced_policies()) all.push_back(s);
    for (std::size_t k = 0; some.size() < count; ++k) {
        const Policy& s = all[k % 2 == 0 ? below(hash_of(seed ? std::strtoull(seed, nullptr, 10) : 1, k), all.size())
                                         : all.size() - 1 - below(hash_of(5, k), ag_sptrsv_reduced_policies().size())];
        if (s.order == WarpSchedule::ticket || runs_all_blocks()) some.push_back(s);
    }
    return some;
}

template <class V>
std::vector<V> reversed(std::vector<V> x)
{
    std::reverse(x.begin(), x.end());
    return x;
}

template <class V>
void check_every_scheme(const Context& ctx, V alpha)
{
    for (const auto& [name, a] : triangles<V>()) {
        const auto there = to_device(ctx, a.view());
        const auto b = vector_of<V>(a.rows, 5);
        for (const Policy& scheme : schemes_for(ctx)) {
            if (!is_drawn(name + to_text(scheme), 4)) continue;
            SCOPED_TRACE(name + ": " + to_text(scheme));
            const auto plan = Plan<V>::make(ctx, there.view(), {.force = scheme, .checked = false});
            const auto want = oracle_solve(a, alpha, b, power_of(scheme));
            ASSERT_TRUE(within_bound(run(ctx, plan, alpha, b), want));
            ASSERT_TRUE(within_bound(run(ctx, plan, alpha, b), want)) << "in the second solve";
            ASSERT_TRUE(within_bound(run(ctx, plan, alpha, b), want)) << "in the third solve";
        }
    }
}

TEST_P(SptrsvOn, KeepsTheErrorBoundInDouble) { check_every_scheme<double>(ctx(), 1.0); }
TEST_P(SptrsvOn, KeepsTheErrorBoundInFloat) { check_every_scheme<float>(ctx(), -0.75f); }

TEST_P(SptrsvOn, SolvesWithThePapersSchemes)
{
    const auto c = ctx();
    if (c.backend() == Backend::cpu) GTEST_SKIP() << "the paper's kernels are for the GPU";
    const std::vector<Policy> papers = some_of_the_papers(takes_all() ? 30 : 10);
    for (const auto& [name, a] : triangles<double>()) {
        const auto there = to_device(c, a.view());
        const auto b = vector_of<double>(a.rows, 5);
        const auto want = oracle_solve(a, 0.5, b, 1);
        for (const Policy& scheme : papers) {
            SCOPED_TRACE(name + ": " + to_text(scheme));
            const auto plan = Plan<double>::make(c, there.view(), {.force = scheme, .checked = false});
            ASSERT_TRUE(within_bound(run(c, plan, 0.5, b), want));
            ASSERT_TRUE(within_bound(run(c, plan, 0.5, b), want)) << "in the second solve";
        }
    }
}

// The same tasks and sums by fewer multiprocessors: the same bits as of the whole GPU, in every solve.
template <class V>
void check_regimes(const Context& c, const std::string& name, const HostCsr<V>& a)
{
    const auto there = to_device(c, a.view());
    const auto b = vector_of<V>(a.rows, 5);
    for (const Merge merge : {Merge::none, Merge::critical})
        for (const int team : {1, 4}) {
            const Policy whole{.kernel = Kernel::tasks,
                               .merge = merge,
                               .rows = merge == Merge::none ? 1 : 32,
                               .reorder = team == 1,
                               .warps_per_task = team,
                               .warps = 8};
            const auto want = run(c, Plan<V>::make(c, there.view(), {.force = whole}), V(0.5), b);
            for (const int blocks : {1, 2, 4}) {
                Policy s = whole;
                s.execution_scope = blocks == 1 ? ExecutionScope::block : ExecutionScope::cluster;
                s.blocks = blocks;
                if (blocks > limits_of(c).cluster_blocks || !is_drawn(name + to_text(s), 1)) continue;
                SCOPED_TRACE(name + ": " + to_text(s));
                const auto plan = Plan<V>::make(c, there.view(), {.force = s});
                for (int k = 0; k < 2; ++k) ASSERT_TRUE(same_bits(want, run(c, plan, V(0.5), b))) << "solve " << k;
            }
        }
}

TEST_P(SptrsvOn, SolvesInOneBlockOrCluster)
{
    const auto c = ctx();
    if (c.backend() == Backend::cpu || without_regimes()) GTEST_SKIP() << "regimes are of the GPU";
    for (const auto& [name, a] : triangles<double>(5)) check_regimes(c, name, a);
    check_regimes(c, "band, float", triangle_where<float>(150, 6, [](index_t i, index_t j) { return i - j <= 7; }));
    check_regimes(c, "blocks", triangle_where<double>(200, 7, [](index_t i, index_t j) {
                      return i / 40 == j / 40 && (i + j) % 3 == 0;
                  }));
}

// Unknowns that do not fit into shared memory are refused where asked for, and left out of a search.
TEST_P(SptrsvOn, KnowsWhatFitsIntoSharedMemory)
{
    const auto c = ctx();
    if (c.backend() == Backend::cpu || without_regimes()) GTEST_SKIP() << "regimes are of the GPU";
    if (simt::under_tsan) GTEST_SKIP() << "30,000 rows that have nothing to do with each other";
    const index_t n = 30'000;
    std::vector<std::tuple<index_t, index_t, double>> entries;
    for (index_t i = 0; i < n; ++i) entries.emplace_back(i, i, 2.0);
    const auto there = to_device(c, csr_of<double>(n, n, entries).view());
    const Policy block{.kernel = Kernel::tasks, .warps = 8, .execution_scope = ExecutionScope::block};
    Policy cluster = block;
    cluster.execution_scope = ExecutionScope::cluster;
    cluster.blocks = 2;
    try {
        Plan<double>::make(c, there.view(), {.force = block});
        FAIL() << "30,000 unknowns fit into one block";
    } catch (const ValueError& e) {
        EXPECT_NE(std::string(e.what()).find("30000 unknowns do not fit into the shared memory of one block"),
                  std::string::npos)
            << e.what();
    }
    const std::vector<double> b(static_cast<std::size_t>(n), 3.0);
    EXPECT_EQ(run(c, Plan<double>::make(c, there.view(), {.force = cluster}), 1.0, b),
              std::vector<double>(static_cast<std::size_t>(n), 1.5));
    if (simt::under_asan) return;  // solves the same again, several times
    const auto trials = try_policies<double>(c, there.view(), {.seconds = 1000}, {block, cluster});
    ASSERT_EQ(trials.size(), 1u);
    EXPECT_EQ(trials.front().policy, cluster);
}

// GPUs before compute capability 9.0 have no clusters of blocks, and a block's shared memory holds fewer unknowns.
TEST_P(SptrsvOn, OlderGpusHaveNoClusters)
{
    const auto c = ctx();
    if (c.backend() == Backend::cpu) GTEST_SKIP() << "about GPUs";
    const auto a = triangle_where<double>(150, 6, [](index_t i, index_t j) { return i - j <= 7; });
    const auto there = to_device(c, a.view());
    const Policy cluster{.kernel = Kernel::tasks, .warps = 8, .execution_scope = ExecutionScope::cluster, .blocks = 2};
    const std::vector<double> b(150, 3.0), want = run(c, Plan<double>::make(c, there.view()), 1.0, b);
    for (const int compute : {80, 86, 89, 120}) {
        SCOPED_TRACE(compute);
        const OlderGpu gpu(compute);
        const Limits limits = limits_of(c);
        EXPECT_EQ(limits.block_bytes, block_bytes_of(compute));
        if (compute < 90) {
            EXPECT_EQ(limits.cluster_blocks, 1);
            EXPECT_THROW(Plan<double>::make(c, there.view(), {.force = cluster}), ValueError);
        }
        for (const Policy& s : candidates(limits)) EXPECT_TRUE(works(s, limits)) << to_text(s);
        EXPECT_EQ(run(c, Plan<double>::make(c, there.view()), 1.0, b), want);
    }
}

// Lower and upper, plain and transposed, CSR and CSC, with what choose() takes: the same system written in eight ways.
TEST_P(SptrsvOn, ReadsEveryFormSide)
{
    const auto c = ctx();
    for (const auto& [name, a] : triangles<double>(4)) {
        const auto b = vector_of<double>(a.rows, 6);
        const auto want = oracle_solve(a, 1.0, b, 2);
        for (const bool upper : {false, true})
            for (const bool transpose : {false, true})
                for (const bool csc : {false, true}) {
                    SCOPED_TRACE(name + (upper ? ", upper" : "") + (transpose ? ", transposed" : "") +
                                 (csc ? ", csc" : ""));
                    HostCsr<double> m = upper ? turned(a) : a;
                    if (transpose) m = transposed_of(m);
                    const auto rows = to_device(c, m.view());
                    const auto cols = to_csc(c, rows.view());
                    const Options options{.uplo = upper != transpose ? Uplo::upper : Uplo::lower,
                                          .op = transpose ? Op::transpose : Op::none};
                    const auto plan =
                        csc ? Plan<double>::make(c, cols.view(), options) : Plan<double>::make(c, rows.view(), options);
                    const auto got = run(c, plan, 1.0, upper ? reversed(b) : b);
                    ASSERT_TRUE(within_bound(upper ? reversed(got) : got, want));
                }
    }
}

TEST_P(SptrsvOn, TakesTheDiagonalAsOne)
{
    const auto c = ctx();
    auto a = triangle_where<double>(90, 3, [](index_t i, index_t j) { return i - j <= 3; });
    for (double& v : a.value) v *= 0.01;
    auto ones = a;
    for (std::size_t i = 0; i < 90; ++i) ones.value[static_cast<std::size_t>(ones.row_begin[i + 1] - 1)] = 1;
    auto bare = csr_of<double>(90, 90, [&] {
        std::vector<std::tuple<index_t, index_t, double>> entries;
        for (const auto& [i, j, v] : a.entries())
            if (i != j) entries.emplace_back(i, j, v);
        return entries;
    }());
    const auto b = vector_of<double>(90, 5);
    const auto want = oracle_solve(ones, 2.0, b, 2);
    for (const auto& m : {a, bare}) {
        const auto there = to_device(c, m.view());
        EXPECT_TRUE(within_bound(run(c, Plan<double>::make(c, there.view(), {.unit_diagonal = true}), 2.0, b), want));
    }
}

TEST_P(SptrsvOn, TakesOneTriangleOfAGeneralMatrix)
{
    const auto c = ctx();
    const auto a = triangle_where<double>(100, 4, [](index_t i, index_t j) { return (i + j) % 5 == 0; });
    auto entries = a.entries();
    for (index_t i = 0; i < 99; i += 3) entries.emplace_back(i, i + 1, 1e30);
    const auto general = csr_of<double>(100, 100, entries);
    const auto there = to_device(c, general.view());
    const auto b = vector_of<double>(100, 5);
    EXPECT_TRUE(within_bound(run(c, Plan<double>::make(c, there.view(), {.other_side = OtherSide::ignore}), 1.0, b),
                             oracle_solve(a, 1.0, b, 2)));
    try {
        Plan<double>::make(c, there.view());
        FAIL() << "entries above the diagonal were not refused";
    } catch (const ValueError& e) {
        EXPECT_NE(std::string(e.what()).find("row 0, column 1"), std::string::npos) << e.what();
    }
}

template <class F>
std::string refusal(F&& f)
{
    try {
        f();
    } catch (const ValueError& e) {
        return e.what();
    }
    return "nothing";
}

TEST_P(SptrsvOn, NamesTheRowOfAMissingOrZeroDiagonal)
{
    const auto c = ctx();
    const auto missing =
        to_device(c, csr_of<double>(4, 4, {{0, 0, 1.0}, {1, 0, 1.0}, {1, 1, 1.0}, {2, 1, 1.0}, {3, 3, 1.0}}).view());
    EXPECT_NE(refusal([&] { Plan<double>::make(c, missing.view()); }).find("row 2 (counted from 0): no diagonal"),
              std::string::npos);
    const auto zero =
        to_device(c, csr_of<double>(4, 4, {{0, 0, 1.0}, {1, 1, 0.0}, {2, 2, 1.0}, {3, 1, 2.0}, {3, 3, 1.0}}).view());
    EXPECT_NE(refusal([&] { Plan<double>::make(c, zero.view()); }).find("row 1 (counted from 0): the diagonal is zero"),
              std::string::npos);
    EXPECT_NO_THROW(Plan<double>::make(c, zero.view(), {.unit_diagonal = true}));
    const auto zeros =
        csr_of<double>(4, 4, {{0, 0, 1.0}, {1, 1, 0.0}, {2, 1, 1.0}, {2, 2, 0.0}, {3, 2, 1.0}, {3, 3, 0.0}});
    EXPECT_NE(refusal([&] { Plan<double>::make(Context::cpu(1), zeros.view()); }).find("row 1 (counted"),
              std::string::npos)
        << "the first of several";
    const auto twice =
        to_device(c, csr_of<double>(3, 3, {{0, 0, 1.0}, {1, 1, 1.0}, {2, 0, 1.0}, {2, 0, 1.0}, {2, 2, 1.0}}).view());
    EXPECT_NE(refusal([&] {
                  Plan<double>::make(c, twice.view());
              }).find("row 2, column 0 (counted from 0): stored twice"),
              std::string::npos);
    const auto wide = to_device(c, csr_of<double>(2, 3, {{0, 0, 1.0}, {1, 1, 1.0}}).view());
    EXPECT_THROW(Plan<double>::make(c, wide.view()), ShapeError);
}

TEST_P(SptrsvOn, RefusesMatricesThatAreNone)
{
    const auto c = ctx();
    auto a = triangle_where<double>(10, 4, [](index_t i, index_t j) { return j == i - 1; });
    a.col[3] = 77;
    const auto there = to_device(c, a.view());
    EXPECT_THROW(Plan<double>::make(c, there.view()), ValueError);
}

// Unsorted rows are ordinary.
TEST_P(SptrsvOn, SortsRows)
{
    const auto c = ctx();
    const auto a = triangle_where<double>(80, 4, [](index_t i, index_t j) { return (i * j) % 3 == 1; });
    auto entries = a.entries();
    std::reverse(entries.begin(), entries.end());
    const auto unsorted = csr_of<double>(80, 80, entries);
    ASSERT_FALSE(unsorted.sorted);
    const auto b = vector_of<double>(80, 5);
    const auto there = to_device(c, unsorted.view());
    EXPECT_TRUE(within_bound(run(c, Plan<double>::make(c, there.view()), 1.0, b), oracle_solve(a, 1.0, b, 2)));
}

TEST_P(SptrsvOn, SolvesInPlace)
{
    const auto c = ctx();
    const auto a = triangle_where<double>(130, 4, [](index_t i, index_t j) { return i - j <= 4; });
    const auto there = to_device(c, a.view());
    const auto b = vector_of<double>(130, 5);
    Guarded<double> x(c, b);
    const auto plan = Plan<double>::make(c, there.view());
    plan.solve(x.span(), x.span());
    EXPECT_TRUE(within_bound(x.take(), oracle_solve(a, 1.0, b, 2)));
    EXPECT_THROW(plan.solve(x.span(), x.span().subspan(1)), ShapeError);
    auto longer = to_device<double>(c, std::span<const double>(vector_of<double>(140, 1)));
    EXPECT_THROW(plan.solve(std::as_const(longer).span().subspan(0, 130), longer.span().subspan(5, 130)), ValueError);
}

// Values that are NaN or infinite go where they belong, also those with the very bits that mean "not there yet".
TEST_P(SptrsvOn, LetsNotANumberThrough)
{
    const auto c = ctx();
    for (const Policy& scheme : schemes_for(c)) {
        if (!is_drawn(to_text(scheme), 3)) continue;
        SCOPED_TRACE(to_text(scheme));
        const auto a = triangle_where<double>(70, 4, [](index_t i, index_t j) { return j == i - 2; });
        const auto there = to_device(c, a.view());
        const auto plan = Plan<double>::make(c, there.view(), {.force = scheme});
        auto b = vector_of<double>(70, 5);
        const auto clean = run(c, plan, 1.0, b);
        const std::uint64_t all_ones = ~std::uint64_t{0};
        std::memcpy(&b[20], &all_ones, 8);
        const auto got = run(c, plan, 1.0, b);
        for (std::size_t i = 0; i < 70; ++i) {
            if (i >= 20 && i % 2 == 0) EXPECT_TRUE(std::isnan(got[i])) << i;
            else EXPECT_EQ(got[i], clean[i]) << i;
        }
        b[20] = 1;
        EXPECT_FALSE(std::isnan(run(c, plan, 1.0, b)[20])) << "the next solve starts afresh";
    }
}

TEST_P(SptrsvOn, GivesTheSameBitsEveryTime)
{
    const auto c = ctx();
    const char* repeats = std::getenv("TULLE_REPEATS");
    const auto a = triangle_where<float>(200, 4, [](index_t i, index_t j) { return unit(hash_of(8, i, j)) < 0.06; });
    const auto there = to_device(c, a.view());
    const auto b = vector_of<float>(200, 5);
    for (const Policy& scheme : schemes_for(c)) {
        if (!is_drawn("bits" + to_text(scheme), 4)) continue;
        const auto plan = Plan<float>::make(c, there.view(), {.force = scheme});
        const auto first = run(c, plan, 1.0f, b);
        for (int k = 0; k < (repeats ? std::atoi(repeats) : 4); ++k)
            ASSERT_TRUE(same_bits(first, run(c, plan, 1.0f, b))) << to_text(scheme);
        ASSERT_TRUE(same_bits(first, run(c, Plan<float>::make(c, there.view(), {.force = scheme}), 1.0f, b)))
            << to_text(scheme);
    }
}

TEST_P(SptrsvOn, GivesTheSameBitsForAnyNumberOfThreads)
{
    if (ctx().backend() != Backend::cpu) GTEST_SKIP() << "threads are of the CPU";
    for (const auto& [name, a] : triangles<double>()) {
        const auto b = vector_of<double>(a.rows, 5);
        const auto want = run(Context::cpu(1), Plan<double>::make(Context::cpu(1), a.view()), 0.5, b);
        for (const Merge merge : {Merge::none, Merge::critical, Merge::fixed})
            for (const int threads : {1, 2, 5, 8}) {
                const Context some = Context::cpu(threads);
                const Policy scheme{.kernel = Kernel::levels,
                                    .merge = merge,
                                    .rows = merge == Merge::none ? 1 : 100,
                                    .limit = 1};
                EXPECT_TRUE(same_bits(want, run(some, Plan<double>::make(some, a.view(), {.force = scheme}), 0.5, b)))
                    << name << ": " << to_text(scheme) << ", " << threads << " threads";
            }
    }
}

// Blocks of columns in registers, columns left over, and columns shared out to threads, serially and by levels.
// One thread: rows are written without an analysis, and those that end with the row before them are solved by a loop of
// their own. Levels, features and bits are those of plans that were analysed.
TEST(Sptrsv, OneThreadSolvesWithoutAnAnalysis)
{
    const Context one = Context::cpu(1);
    const index_t n = 1500;
    std::vector<std::tuple<index_t, index_t, double>> e;
    for (index_t i = 0; i < n; ++i)
        for (const index_t j : {i - 40, i - 7, i - 5, i - 3, i - 2, i - 1, i, i + 1, i + 30})
            if (j >= 0 && j < n && (j != i - 1 || i % 50 != 0)) e.emplace_back(i, j, j == i ? 9.0 : 1.0 / (3 + i % 5));
    const HostCsr<double> a = csr_of<double>(n, n, e);
    const auto b = vector_of<double>(n, 5);
    for (const Uplo uplo : {Uplo::lower, Uplo::upper})
        for (const Op op : {Op::none, Op::transpose})
            for (const bool unit : {false, true}) {
                Options o{.uplo = uplo, .op = op, .unit_diagonal = unit, .other_side = OtherSide::ignore};
                const auto direct = Plan<double>::make(one, a.view(), o);
                o.force = Policy{.kernel = Kernel::levels};
                const auto analysed = Plan<double>::make(one, a.view(), o);
                EXPECT_EQ(direct.policy().kernel, Kernel::serial);
                EXPECT_EQ(run(one, direct, 0.7, b), run(one, analysed, 0.7, b));
                EXPECT_EQ(direct.levels(), analysed.levels());
                EXPECT_EQ(direct.features().nonzeros, analysed.features().nonzeros);
                EXPECT_EQ(direct.features().level_longest, analysed.features().level_longest);
                EXPECT_EQ(direct.features().dependency_nearness, analysed.features().dependency_nearness);
            }
}

TEST_P(SptrsvOn, GivesTheSameBitsForManySidesOnAnyNumberOfThreads)
{
    if (ctx().backend() != Backend::cpu) GTEST_SKIP() << "threads are of the CPU";
    const auto a = triangle_where<double>(90, 4, [](index_t i, index_t j) { return unit(hash_of(8, i, j)) < 0.1; });
    for (const index_t sides : {2, 7, 8, 17, 32, 41, 70})
        for (const Layout layout : {Layout::row_major, Layout::col_major}) {
            const auto solve = [&](int threads, Kernel kernel) {
                const Context some = Context::cpu(threads);
                std::vector<double> x(static_cast<std::size_t>(90 * sides));
                const DenseView<double> at{90, sides, layout == Layout::row_major ? sides : 90, layout, x.data()};
                for (index_t i = 0; i < 90; ++i)
                    for (index_t j = 0; j < sides; ++j) at(i, j) = unit(hash_of(3, i, j)) - 0.5;
                Plan<double>::make(some, a.view(),
                                   {.force = Policy{.kernel = kernel, .limit = kernel == Kernel::levels}})
                    .solve(0.5, at, at);
                return x;
            };
            const std::vector<double> want = solve(1, Kernel::serial);
            for (const int threads : {2, 3, 16})
                for (const Kernel kernel : {Kernel::serial, Kernel::levels})
                    EXPECT_TRUE(same_bits(want, solve(threads, kernel)))
                        << sides << " sides, " << threads << " threads, " << to_text(kernel);
            std::vector<double> b(90);
            for (const index_t j : {index_t{0}, sides / 2, sides - 1}) {
                for (index_t i = 0; i < 90; ++i) b[static_cast<std::size_t>(i)] = unit(hash_of(3, i, j)) - 0.5;
                const auto alone = run(Context::cpu(1), Plan<double>::make(Context::cpu(1), a.view()), 0.5, b);
                for (index_t i = 0; i < 90; ++i)
                    EXPECT_NEAR(
                        alone[static_cast<std::size_t>(i)],
                        want[static_cast<std::size_t>(layout == Layout::row_major ? i * sides + j : j * 90 + i)],
                        1e-12 * (1 + std::abs(alone[static_cast<std::size_t>(i)])))
                        << i << " of " << j;
            }
        }
}

TEST_P(SptrsvOn, UpdatesValuesAsANewPlanWould)
{
    const auto c = ctx();
    const auto a = triangle_where<double>(150, 4, [](index_t i, index_t j) { return i - j <= 6 && (i * j) % 4 != 1; });
    auto b = a;
    for (double& v : b.value) v = 3 * v + (v > 0 ? 0.5 : -0.5);
    const auto before = to_device(c, a.view()), after = to_device(c, b.view());
    const auto right = vector_of<double>(150, 5);
    for (const Policy& scheme : schemes_for(c)) {
        if (!is_drawn("update" + to_text(scheme), 4)) continue;
        auto plan = Plan<double>::make(c, before.view(), {.force = scheme});
        plan.update_values(after.view());
        EXPECT_TRUE(same_bits(run(c, plan, 1.0, right),
                              run(c, Plan<double>::make(c, after.view(), {.force = scheme}), 1.0, right)))
            << to_text(scheme);
        auto broken = b;
        broken.value[static_cast<std::size_t>(broken.row_begin[8] - 1)] = 0;
        const auto singular = to_device(c, broken.view());
        EXPECT_THROW(plan.update_values(singular.view()), ValueError);
        EXPECT_THROW(run(c, plan, 1.0, right), ValueError) << "solved with values that were refused";
        plan.update_values(after.view());
        EXPECT_NO_THROW(run(c, plan, 1.0, right));
    }
    auto plan = Plan<double>::make(c, before.view());
    const auto other =
        to_device(c, triangle_where<double>(150, 4, [](index_t i, index_t j) { return j == i - 1; }).view());
    EXPECT_THROW(plan.update_values(other.view()), PlanMismatch);
    EXPECT_THROW(plan.update_values(view_of(to_csc(c, before.view()))), PlanMismatch);
}

// Clusters whose inverse would lose all accuracy: its entries grow like 4^31, while substitution gives ones exactly.
TEST_P(SptrsvOn, SolvesClustersWithoutAnInverse)
{
    const auto c = ctx();
    std::vector<std::tuple<index_t, index_t, double>> entries;
    std::vector<double> b(100, 1.0);
    for (index_t i = 0; i < 100; ++i) {
        if (i > 0) entries.emplace_back(i, i - 1, 4.0);
        if (i > 40) entries.emplace_back(i, i - 40, 2.0);
        entries.emplace_back(i, i, 1.0);
        b[static_cast<std::size_t>(i)] += (i > 0 ? 4 : 0) + (i > 40 ? 2 : 0);
    }
    std::sort(entries.begin(), entries.end());
    const auto there = to_device(c, csr_of<double>(100, 100, entries).view());
    for (const Policy& scheme : schemes_for(c)) {
        if (scheme.rows != 32 && scheme.kernel != Kernel::serial) continue;
        EXPECT_EQ(run(c, Plan<double>::make(c, there.view(), {.force = scheme}), 1.0, b), std::vector<double>(100, 1.0))
            << to_text(scheme);
    }
}

template <class V>
void check_many(const Context& c, index_t columns, index_t prepared_for, Layout layout_b, Layout layout_x,
                const std::optional<Policy>& force = {})
{
    SCOPED_TRACE(std::to_string(columns) + " columns, prepared for " + std::to_string(prepared_for));
    const auto a = triangle_where<V>(77, 4, [](index_t i, index_t j) { return i - j <= 3 || (i + 2 * j) % 11 == 0; });
    const auto there = to_device(c, a.view());
    const auto plan = Plan<V>::make(c, there.view(), {.right_hand_sides = prepared_for, .force = force});
    const offset_t pad = 3;
    const auto lead = [&](Layout layout) { return (layout == Layout::row_major ? columns : 77) + pad; };
    const auto size = [&](Layout layout) {
        return static_cast<std::size_t>(lead(layout) * (layout == Layout::row_major ? 77 : columns));
    };
    std::vector<V> b = vector_of<V>(static_cast<index_t>(size(layout_b)), 6);
    const auto b_there = to_device<V>(c, std::span<const V>(b));
    Guarded<V> x(c, std::vector<V>(size(layout_x), V(-7)));
    const DenseView<const V> b_view{77, columns, lead(layout_b), layout_b, b_there.data()};
    const DenseView<V> x_view{77, columns, lead(layout_x), layout_x, x.span().data()};
    for (int k = 0; k < 2; ++k) plan.solve(V(2), b_view, x_view);
    plan.wait();
    std::vector<V> got = x.take();
    for (index_t j = 0; j < columns; ++j) {
        std::vector<V> column(77), right(77);
        for (index_t i = 0; i < 77; ++i) {
            right[static_cast<std::size_t>(i)] = b[static_cast<std::size_t>(b_view.at(i, j))];
            std::swap(column[static_cast<std::size_t>(i)], got[static_cast<std::size_t>(x_view.at(i, j))]);
        }
        ASSERT_TRUE(within_bound(column, oracle_solve(a, V(2), right, 2))) << "column " << j;
    }
    for (index_t i = 0; i < 77; ++i)
        for (index_t j = 0; j < columns; ++j) got[static_cast<std::size_t>(x_view.at(i, j))] = V(-7);
    for (const V& v : got) ASSERT_EQ(v, V(-7)) << "something wrote between the columns";
}

TEST_P(SptrsvOn, SolvesForManyRightHandSides)
{
    const auto c = ctx();
    check_many<double>(c, 1, 4, Layout::row_major, Layout::row_major);
    check_many<double>(c, 5, 5, Layout::row_major, Layout::col_major);
    check_many<float>(c, 32, 32, Layout::col_major, Layout::row_major);
    check_many<double>(c, 70, 32, Layout::row_major, Layout::row_major);
    check_many<float>(c, 6, 1, Layout::col_major, Layout::col_major);
    check_many<double>(c, 0, 3, Layout::row_major, Layout::row_major);
    if (c.backend() == Backend::cpu) return;
    for (const Policy& policy :
         {Policy{.kernel = Kernel::tasks},
          Policy{.kernel = Kernel::tasks, .merge = Merge::critical, .rows = 32, .warps_per_task = 4, .warps = 8}}) {
        SCOPED_TRACE(to_text(policy));
        check_many<double>(c, 5, 5, Layout::col_major, Layout::row_major, policy);
        check_many<float>(c, 70, 32, Layout::row_major, Layout::col_major, policy);
    }
}

// Kernels for one right-hand side take several one after the other.
TEST_P(SptrsvOn, GroupsTakeRightHandSidesInTurn)
{
    const auto c = ctx();
    if (c.backend() == Backend::cpu) GTEST_SKIP() << "groups are the GPU's";
    check_many<double>(c, 3, 1, Layout::row_major, Layout::col_major,
                       Policy{.kernel = Kernel::groups, .merge = Merge::fixed, .rows = 1, .warps = 8, .subwarps = 4});
}

TEST_P(SptrsvOn, SearchesAmongSchemes)
{
    const auto c = ctx();
    if (without_regimes()) GTEST_SKIP() << "a search tries every regime";
    const auto a = triangle_where<double>(60, 4, [](index_t i, index_t j) { return i - j <= 2; });
    const auto there = to_device(c, a.view());
    const auto b = vector_of<double>(60, 5);
    const auto plan = Plan<double>::make(c, there.view(), {.effort = Effort::search, .seconds = 0.05});
    EXPECT_TRUE(within_bound(run(c, plan, 1.0, b), oracle_solve(a, 1.0, b, 2)));
    EXPECT_NE(plan.describe().find("fastest of those tried"), std::string::npos) << plan.describe();
    const auto trials = try_policies<double>(c, there.view(), {.seconds = 0.05}, schemes_for(c));
    ASSERT_FALSE(trials.empty());
    for (std::size_t k = 1; k < trials.size(); ++k) EXPECT_LE(trials[k - 1].solve_seconds, trials[k].solve_seconds);
}

TEST_P(SptrsvOn, ClearsUpAfterFailedAllocations)
{
    const auto c = ctx();
    const auto a = triangle_where<double>(60, 4, [](index_t i, index_t j) { return i - j <= 2; });
    const auto there = to_device(c, a.view());
    const auto b = to_device<double>(c, std::span<const double>(vector_of<double>(60, 5)));
    auto x = to_device<double>(c, std::span<const double>(vector_of<double>(60, 5)));
    expect_clean_failures(c, [&] {
        const auto plan = Plan<double>::make(c, there.view(), {.right_hand_sides = 4});
        plan.solve(b.span(), x.span());
        plan.wait();
    });
}

TEST_P(SptrsvOn, SaysWhatItDoes)
{
    const auto c = ctx();
    const auto there =
        to_device(c, triangle_where<double>(64, 4, [](index_t i, index_t j) { return j == i - 1; }).view());
    const auto plan = Plan<double>::make(c, there.view());
    for (const char* part : {"64 rows, 127 entries, lower", "64 levels", "chosen:", "why:", "the same bits every time"})
        EXPECT_NE(plan.describe().find(part), std::string::npos) << part << " in\n" << plan.describe();
    EXPECT_GT(plan.bytes(), 0u);
    EXPECT_EQ(plan.features().levels, 64);
    EXPECT_EQ(plan.rows(), 64);
    const Policy wrong{.kernel = c.backend() == Backend::cpu ? Kernel::tasks : Kernel::serial};
    EXPECT_THROW(Plan<double>::make(c, there.view(), {.force = wrong}), ValueError);
}

TULLE_ON_BACKENDS(SptrsvOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI::sptrsv
