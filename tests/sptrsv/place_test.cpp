// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Where a triangle on the host is solved: place() is pure, and best_context() gives its reason.
#include "tulle/sptrsv.hpp"

#include <gtest/gtest.h>

#include "sptrsv/on_host.hpp"
#include "tulle/context.hpp"
#include "tulle/error.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {
namespace {

using namespace tulle::test;

constexpr Limits one_thread{.backend = Backend::cpu, .threads = 1};

Features wide(index_t rows, offset_t nonzeros, index_t levels)
{
    return {.rows = rows,
            .nonzeros = nonzeros,
            .row_mean = 10,
            .row_longest = 20,
            .level_mean = 1.0 * static_cast<double>(nonzeros) / levels,
            .levels = levels};
}

Backend where(const Features& f, index_t levels_left, const Work& work)
{
    return place(f, {{Merge::none, 1, f.levels, f.rows}, {Merge::critical, 32, levels_left, f.rows / 32}}, one_thread,
                 gpu, work)
        .backend;
}

TEST(SptrsvPlace, TinyAndDeepTrianglesStayOnTheCpu)
{
    EXPECT_EQ(where(wide(500, 3000, 100), 10, {.calls = 1e6}), Backend::cpu);
    EXPECT_EQ(where(wide(20'000, 40'000, 3), 2, {.calls = 1e6}), Backend::cpu) << "copies of b and x alone take longer";
    EXPECT_EQ(where(wide(200'000, 1'000'000, 150'000), 9000, {.calls = 1e6}), Backend::cpu) << "levels";
    EXPECT_EQ(where(wide(500'000, 20'000'000, 50), 20, {.calls = 1000}), Backend::cuda);
}

// Analysis and copying the matrix are paid once.
TEST(SptrsvPlace, MoreSolvesPayForTheWay)
{
    const Features f = wide(2000, 6000, 10);
    EXPECT_EQ(where(f, 5, {.calls = 1, .right_hand_sides = 32}), Backend::cpu);
    EXPECT_EQ(where(f, 5, {.calls = 1000, .right_hand_sides = 32}), Backend::cuda);
    bool gone = false;
    for (double calls = 1; calls < 1e5; calls *= 2) {
        const bool now = where(f, 5, {.calls = calls, .right_hand_sides = 32}) == Backend::cuda;
        EXPECT_TRUE(now || !gone) << "back to the CPU for " << calls << " solves";
        gone = gone || now;
    }
    EXPECT_TRUE(gone);
}

// Analyses of bench/results (H200, one thread of a CPU), without the copy of the matrix: within a factor of two.
TEST(SptrsvPlace, AnalysisIsPricedAsMeasured)
{
    struct Measured {
        index_t rows;
        offset_t nonzeros;
        index_t levels;
        double gpu, cpu;  // milliseconds
    };
    const Measured all[] = {{11'397, 81'021, 50, 0.25, 2.0},
                            {83'334, 3'046'929, 514, 0.87, 113},
                            {217'918, 5'926'765, 142'006, 18.2, 165},
                            {140'874, 3'976'095, 2088, 1.5, 127}};
    for (const Measured& m : all) {
        SCOPED_TRACE(m.nonzeros);
        const Features f = wide(m.rows, m.nonzeros, m.levels);
        const Placement p = place(f, best_estimates(f), one_thread, gpu, {});
        const double copy = 10e-6 + static_cast<double>(m.nonzeros) * 12 / 10e9, there = (p.gpu.prepare - copy) * 1e3,
                     here = p.cpu.prepare * 1e3;
        EXPECT_GT(there, m.gpu / 2);
        EXPECT_LT(there, m.gpu * 2);
        EXPECT_GT(here, m.cpu / 2);
        EXPECT_LT(here, m.cpu * 2);
    }
}

TEST(SptrsvPlace, ManySidesAreWorthAGpuSooner)
{
    const Features f = wide(20'000, 150'000, 900);
    EXPECT_EQ(where(f, 800, {.calls = 1000, .right_hand_sides = 1}), Backend::cpu);
    EXPECT_EQ(where(f, 800, {.calls = 1000, .right_hand_sides = 32}), Backend::cuda);
}

TEST(SptrsvPlace, NoClustersAreBetterThanTheBestThinkable)
{
    for (const index_t levels : {1, 31, 32, 1000, 50'000}) {
        const Features f = wide(60'000, 500'000, levels);
        const Work work{.calls = 100};
        const CostEstimate best = place(f, best_estimates(f), one_thread, gpu, work).gpu;
        const index_t left = std::max<index_t>(1, levels / 32);
        EXPECT_LE(best.solve,
                  place(f,
                        {{Merge::none, 1, levels, 60'000}, {Merge::critical, 32, left, std::max<offset_t>(left, 2000)}},
                        one_thread, gpu, work)
                      .gpu.solve)
            << levels;
    }
}

TEST(SptrsvPlace, SaysWhyAndGivesAContextToSolveWith)
{
    const auto a = triangle_where<double>(300, 4, [](index_t i, index_t j) { return j == i - 1; });
    const ContextChoice best = best_context<double>(a.view());
    EXPECT_EQ(best.ctx.backend(), Backend::cpu);
    EXPECT_EQ(best.placement.why.find("on the CPU: "), 0u) << best.placement.why;
    const std::string reason = why_no_cuda().empty() ? "100 solves with analysis should take" : why_no_cuda();
    EXPECT_NE(best.placement.why.find(reason), std::string::npos) << best.placement.why;
    std::vector<double> b(300, 1.0), x(300);
    Plan<double>::make(best.ctx, a.view()).solve(b, x);
    EXPECT_TRUE(within_bound(x, oracle_solve(a, 1.0, b, 1)));
    EXPECT_EQ(best_context<double>(csr_of<double>(0, 0, {}).view()).ctx.backend(), Backend::cpu) << "nothing to solve";
    EXPECT_THROW(best_context<double>(csr_of<double>(2, 3, {{0, 0, 1.0}, {1, 1, 1.0}}).view()), ShapeError);
    auto broken = a;
    broken.col[3] = 7777;
    if (why_no_cuda().empty()) {
        EXPECT_THROW(best_context<double>(broken.view()), ValueError);
    }
}

}  // namespace
}  // namespace tulle::inline TULLE_ABI::sptrsv
