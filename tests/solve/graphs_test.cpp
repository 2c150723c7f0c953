// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Blocks of iterations in CUDA graphs: the bits of kernels launched one by one, after new values and other vectors too;
// what cannot be captured is launched, and nothing is left behind.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "factor/matrices.hpp"
#include "solve/blocks.hpp"
#include "support/battery.hpp"
#include "support/capture.hpp"
#include "support/faults.hpp"
#include "support/host_matrix.hpp"
#include "tulle/error.hpp"
#include "tulle/solve.hpp"
#ifdef TULLE_SIM
#include "simt/capture.hpp"
#endif

namespace tulle::inline TULLE_ABI::solve {
namespace {

using namespace tulle::test;

long graphs_alive()
{
#ifdef TULLE_SIM
    return simt::graphs_alive();
#else
    return 0;
#endif
}

bool tells(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class SolveCapturedOn : public CapturedOn {
protected:
    // Two plans for one matrix, one of them without graphs.
    struct Pair {
        Plan<double> with, without;
        std::vector<double> b;
        Buffer<double> b_there, x, y;

        Pair(const Context& c, const CsrView<double>& a, Recipe recipe)
            : with(Plan<double>::make(c, a, recipe)),
              without(Plan<double>::make(c, a, (recipe.graphs = Graphs::never, recipe))),
              b(test_vector<double>(a.rows, Values::reals, 5)),
              b_there(to_device<double>(c, std::span<const double>(b))),
              x(to_device<double>(c, std::span<const double>(b))),
              y(to_device<double>(c, std::span<const double>(b)))
        {}

        void expect_same_bits(const Context& c)
        {
            const Report one = with.solve(std::as_const(b_there).span(), x.span());
            const Report other = without.solve(std::as_const(b_there).span(), y.span());
            EXPECT_EQ(one.reason, other.reason) << one.text();
            EXPECT_EQ(one.history, other.history);
            EXPECT_EQ(host_vector(c, x), host_vector(c, y));
        }
    };
};

struct Case {
    Method method;
    Preconditioner preconditioner = None{};
};

TEST_P(SolveCapturedOn, ReplayedBlocksGiveTheSameBits)
{
    const Context c = ctx();
    const auto a = laplacian<double>(6, 5, 1);
    const Csr<double> there = to_device(c, a.view());
    const Incomplete ic0{.kind = factor::Kind::ic0};
    std::uint64_t number = 0;
    for (const Case& k : {Case{Method::cg}, Case{Method::cg, Jacobi{}}, Case{Method::cg, ic0}, Case{Method::cg, Amg{}},
                          Case{Method::pipelined_cg}, Case{Method::minres}, Case{Method::minres, ic0},
                          Case{Method::bicgstab, ic0}, Case{Method::gmres}, Case{Method::fgmres, Amg{}}}) {
        if (!has_turn(number++)) continue;
        SCOPED_TRACE(to_text(k.method) + ", " + to_text(k.preconditioner));
        Pair pair(c, there.view(),
                  {.method = k.method, .preconditioner = k.preconditioner, .restart = 4, .check_every = 3});
        for (int time = 0; time < 3; ++time) pair.expect_same_bits(c);
        EXPECT_TRUE(tells(pair.with.describe(), "replayed as CUDA graphs: 3 iterations")) << pair.with.describe();
        EXPECT_TRUE(tells(pair.without.describe(), "kernel by kernel, as the recipe says"));
    }
}

// Numbers of the host are arguments of their kernels, or they wait.
TEST_P(SolveCapturedOn, SomeMethodsAreNotCaptured)
{
    const Context c = ctx();
    const auto a = laplacian<double>(4, 4, 1);
    const Csr<double> there = to_device(c, a.view());
    for (const Method method : {Method::chebyshev, Method::refinement}) {
        Pair pair(c, there.view(), {.method = method, .preconditioner = Jacobi{}, .check_every = 2});
        for (int time = 0; time < 2; ++time) pair.expect_same_bits(c);
        EXPECT_TRUE(tells(pair.with.describe(), "kernel by kernel: numbers of the host")) << pair.with.describe();
    }
}

// Graphs have the addresses and numbers of before; x may be anywhere. Two levels of multigrid.
TEST_P(SolveCapturedOn, NewValuesAndOtherVectors)
{
    const Context c = ctx();
    auto a = laplacian<double>(15, 14, 1);
    const Csr<double> there = to_device(c, a.view());
    Pair pair(c, there.view(), {.method = Method::cg, .preconditioner = Amg{}, .check_every = 1});
    for (int time = 0; time < 2; ++time) pair.expect_same_bits(c);
    for (double& v : a.value) v *= 3;
    for (std::size_t k = 0; k < a.value.size(); k += 7) a.value[k] += a.value[k] > 0 ? 1 : 0;
    const Csr<double> other = to_device(c, a.view());
    pair.with.update_values(other.view());
    EXPECT_FALSE(tells(pair.with.describe(), "replayed")) << "graphs of the old values";
    pair.without.update_values(other.view());
    for (int time = 0; time < 2; ++time) pair.expect_same_bits(c);
    EXPECT_TRUE(tells(pair.with.describe(), "replayed")) << pair.with.describe();
    EXPECT_TRUE(tells(pair.with.describe(), "level 1:")) << pair.with.describe();
    for (double& v : pair.b) v = -v / 2;
    pair.b_there = to_device<double>(c, std::span<const double>(pair.b));
    const Buffer<double> kept = std::move(pair.x);
    pair.x = to_device<double>(c, std::span<const double>(pair.b));
    pair.expect_same_bits(c);
}

TEST_P(SolveCapturedOn, SeveralRightHandSides)
{
    const Context c = ctx();
    const auto a = laplacian<double>(5, 4, 1);
    constexpr index_t cols = 6;
    const Csr<double> there = to_device(c, a.view());
    const auto b = to_device<double>(c, std::span<const double>(test_vector<double>(a.rows * cols, Values::reals, 3)));
    const Incomplete ic0{.kind = factor::Kind::ic0};
    for (const Preconditioner& p : {Preconditioner(Jacobi{}), Preconditioner(ic0)}) {
        std::vector<double> expected;
        for (const Graphs graphs : {Graphs::never, Graphs::automatic}) {
            auto plan =
                Plan<double>::make(c, there.view(),
                                   {.method = Method::cg, .preconditioner = p, .check_every = 2, .graphs = graphs});
            for (int time = 0; time < 2; ++time) {
                auto x = to_device<double>(c, std::span<const double>(host_vector(c, b)));
                plan.solve(DenseView<const double>{a.rows, cols, cols, Layout::row_major, b.data()},
                           DenseView<double>{a.rows, cols, cols, Layout::row_major, x.data()});
                if (expected.empty()) expected = host_vector(c, x);
                EXPECT_EQ(host_vector(c, x), expected);
            }
            const bool replayed = tells(plan.describe(), "several right-hand sides: replayed");
            EXPECT_EQ(replayed, graphs == Graphs::automatic) << plan.describe();
        }
    }
}

// The plan's stream begins after what the caller's has, and that goes on after the plan's.
TEST_P(SolveCapturedOn, WorkIsInOrderWithTheCallersStream)
{
    const Context c = Context::cuda(0, stream.get());
    const auto a = laplacian<double>(4, 4, 1);
    const auto values = test_vector<double>(a.rows, Values::reals, 9);
    const Csr<double> there = to_device(c, a.view());
    const auto right = to_device<double>(c, std::span<const double>(values));
    auto b = to_device<double>(c, std::span<const double>(std::vector<double>(values.size(), 1)));
    auto x = to_device<double>(c, std::span<const double>(values)),
         copied = to_device<double>(c, std::span<const double>(values));
    auto plan = Plan<double>::make(c, there.view(), {.method = Method::cg, .preconditioner = None{}, .check_every = 2});
    plan.solve(right.span(), x.span());
    const std::vector<double> expected = host_vector(c, x);
    c.run([&](const auto& q) { copy(q, right.data(), b.data(), a.rows); });
    plan.solve(std::as_const(b).span(), x.span());
    c.run([&](const auto& q) { copy(q, std::as_const(x).data(), copied.data(), a.rows); });
    EXPECT_EQ(host_vector(c, copied), expected);
}

// A solve waits, so nobody can capture it; the plan works afterwards.
TEST_P(SolveCapturedOn, ASolveInsideACaptureIsRefused)
{
    const Context c = Context::cuda(0, stream.get());
    const auto a = laplacian<double>(4, 4, 1);
    const Csr<double> there = to_device(c, a.view());
    Pair pair(c, there.view(), {.method = Method::cg, .preconditioner = Jacobi{}, .check_every = 2});
    pair.expect_same_bits(c);
    c.synchronize();
    EXPECT_THROW(Graph(c, stream.get(), [&] { pair.with.solve(std::as_const(pair.b_there).span(), pair.x.span()); }),
                 DeviceError);
    for (int time = 0; time < 2; ++time) pair.expect_same_bits(c);
}

TEST_P(SolveCapturedOn, NothingIsLeftBehind)
{
    const Context c = ctx();
    const auto a = laplacian<double>(4, 3, 1);
    const Csr<double> there = to_device(c, a.view());
    const auto b = to_device<double>(c, std::span<const double>(test_vector<double>(a.rows, Values::reals, 2)));
    auto x = to_device<double>(c, std::span<const double>(std::vector<double>(12, 0)));
    const long before = graphs_alive();
    {
        auto plan =
            Plan<double>::make(c, there.view(), {.method = Method::cg, .preconditioner = Jacobi{}, .check_every = 1});
        plan.solve(b.span(), x.span());
        EXPECT_EQ(graphs_alive(), build::simulated ? before + 1 : before);
        plan.update_values(there.view());
        EXPECT_EQ(graphs_alive(), before);
        plan.solve(b.span(), x.span());
    }
    EXPECT_EQ(graphs_alive(), before);
    expect_clean_failures(c, [&] {
        auto plan = Plan<double>::make(c, there.view(), {.preconditioner = Amg{}, .check_every = 1});
        plan.solve(b.span(), x.span());
        plan.update_values(there.view());
        EXPECT_TRUE(plan.solve(b.span(), x.span()).converged());
    });
    EXPECT_EQ(graphs_alive(), before);
}

// Adds to a number on the queue; from some call on it also does what no capture allows.
class Counting final : public BlockBody {
public:
    Counting(const Context& ctx, std::function<void()> forbidden)
        : ctx_(ctx),
          forbidden_(std::move(forbidden)),
          from_(to_device<int>(ctx, std::span<const int>(std::vector<int>{1, 2, 3, 4}))),
          to_(to_device<int>(ctx, std::span<const int>(std::vector<int>(4, 0))))
    {}
    void iterate() override
    {
        ctx_.run([&](const auto& q) { copy(q, std::as_const(from_).data() + at_, to_.data() + at_, 1); });
        at_ = (at_ + 1) % 4;
        ++calls;
        if (forbidden_) forbidden_();
    }
    int place() const override { return at_; }
    void set_place(int place) override { at_ = place; }
    std::vector<int> copied() const { return host_vector(ctx_, to_); }
    void clear()
    {
        ctx_.run([&](const auto& q) { fill_zero(q, to_.data(), 4); });
    }
    int calls = 0;

private:
    Context ctx_;
    std::function<void()> forbidden_;
    Buffer<int> from_, to_;
    int at_ = 0;
};

TEST_P(SolveCapturedOn, BlocksThatCannotBeCapturedAreLaunched)
{
    const Context c = Context::cuda(0, stream.get());
    const std::vector<std::function<void()>> works{{},
                                                   [&] { c.synchronize(); },
                                                   [&] { c.run([](const auto& q) { Buffer<int> b(q, 8); }); }};
    for (std::size_t k = 0; k < works.size(); ++k) {
        if (k == 2 && !build::simulated) continue;  // a GPU captures allocations that are given back
        Counting body(c, works[k]);
        BlockGraphs blocks(true, false);
        for (int time = 0; time < 6; ++time) {
            body.clear();
            blocks.run(c, body, 2);
            EXPECT_EQ(body.place(), time % 2 == 0 ? 2 : 0);
            EXPECT_EQ(body.copied(), (time % 2 == 0 ? std::vector<int>{1, 2, 0, 0} : std::vector<int>{0, 0, 3, 4}));
        }
        const std::string text = blocks.describe(body);
        EXPECT_EQ(tells(text, "replayed as CUDA graphs: 2 iterations with 2 kernels"), k == 0) << text;
        EXPECT_EQ(tells(text, "kernel by kernel: "), k != 0) << text;
        EXPECT_EQ(body.calls, k == 0 ? 12 : 13) << "iterations after the one that could not be captured";
    }
}

// More places than are kept apart.
TEST_P(SolveCapturedOn, BlocksOfManyLengths)
{
    const Context c = ctx();
    Counting body(c, {});
    BlockGraphs blocks(true, false);
    for (int time = 0; time < 3; ++time)
        for (int count = 1; count <= 40; ++count) blocks.run(c, body, count);
    body.clear();
    blocks.run(c, body, 4);
    EXPECT_EQ(body.copied(), (std::vector<int>{1, 2, 3, 4}));
}

TULLE_ON_CUDA(SolveCapturedOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI::solve
