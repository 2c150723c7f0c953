// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Options out of range: every one is refused with ValueError, none is taken for something else.
#include <gtest/gtest.h>

#include <limits>

#include "tulle/amg.hpp"
#include "tulle/error.hpp"
#include "tulle/factor.hpp"
#include "tulle/generate.hpp"
#include "tulle/graph.hpp"
#include "tulle/graph_ops.hpp"
#include "tulle/narrow.hpp"
#include "tulle/partition.hpp"
#include "tulle/solve.hpp"
#include "tulle/solve_team.hpp"
#include "tulle/spgemm.hpp"
#include "tulle/spgemm_team.hpp"
#include "tulle/spmm.hpp"
#include "tulle/spmm_team.hpp"
#include "tulle/spmv.hpp"
#include "tulle/spmv_team.hpp"
#include "tulle/sptrsv.hpp"
#include "tulle/team.hpp"

namespace tulle::inline TULLE_ABI {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

class Options : public ::testing::Test {
protected:
    const Context ctx = Context::cpu(2);
    const Csr<double> a = io::generate<double>(ctx, "stencil5:3");
    const Team team = Team::cpu(2, 1);
};

TEST_F(Options, OfSpmv)
{
    using spmv::Plan, spmv::TeamPlan;
    for (const Op op : {Op(5), Op(-1)}) {
        EXPECT_THROW(Plan<double>::make(ctx, a.view(), {.op = op}), ValueError);
        EXPECT_THROW(TeamPlan<double>::make(team, a.view(), {.op = op}), ValueError);
        const std::vector<double> x(9);
        std::vector<double> y(9);
        EXPECT_THROW(spmv::multiply(ctx, a.view(), std::span(x), std::span(y), {.op = op}), ValueError);
    }
    EXPECT_THROW(Plan<double>::make(ctx, a.view(), {.force = spmv::Policy{.kernel = spmv::Kernel(99)}}), ValueError);
    EXPECT_THROW(TeamPlan<double>::make(team, a.view(), {.exchange = spmv::Exchange(7)}), ValueError);
    EXPECT_THROW(TeamPlan<double>::make(team, a.view(), {.overlap = spmv::Overlap(7)}), ValueError);
    EXPECT_NE(to_text(spmv::Kernel(99)).find("unknown"), std::string::npos);
    EXPECT_NE(to_text(spmv::Format(-1)).find("unknown"), std::string::npos);
}

TEST_F(Options, OfSpmm)
{
    const auto refuses = [&](const spmm::Options& o) {
        EXPECT_THROW(spmm::Plan<double>::make(ctx, a.view(), o), ValueError);
        EXPECT_THROW(spmm::TeamPlan<double>::make(team, a.view(), {.product = o}), ValueError);
    };
    refuses({.op = Op(5)});
    refuses({.n = -1});
    refuses({.b_layout = Layout(2)});
    refuses({.math = spmm::Math(2)});
    refuses({.order = spmm::OrderKind(9)});
    refuses({.piece = -1});
    refuses({.piece = 0, .lanes = -1});
    refuses({.lanes = 4});
    for (const double delta : {nan, -0.5, 2.0}) refuses({.delta = delta});
    for (const double calls : {nan, -1.0}) refuses({.expected_calls = calls});
    refuses({.effort = Effort(2)});
    refuses({.force = spmm::Policy{.kernel = spmm::Kernel(99)}});
    EXPECT_THROW(spmm::TeamPlan<double>::make(team, a.view(), {.split = spmm::SplitBy(3)}), ValueError);
    EXPECT_NE(to_text(spmm::Kernel(99)).find("unknown"), std::string::npos);
    EXPECT_NE(to_text(spmm::OrderKind(99)).find("unknown"), std::string::npos);
    EXPECT_NO_THROW(spmm::Plan<double>::make(ctx, a.view(), {.delta = 1.0}));
}

TEST_F(Options, OfSpgemm)
{
    const auto refuses = [&](const spgemm::Options& o) {
        EXPECT_THROW(spgemm::Plan<double>::make(ctx, a.view(), a.view(), o), ValueError);
        EXPECT_THROW(spgemm::multiply(ctx, a.view(), a.view(), o), ValueError);
        EXPECT_THROW(spgemm::for_each_chunk(
                         ctx, a.view(), a.view(), [](index_t, const Csr<double>&) {}, o),
                     ValueError);
        const spgemm::TeamOptions on_team{.op_a = o.op_a, .op_b = o.op_b, .force = o.force, .refill = o.refill};
        EXPECT_THROW(spgemm::TeamPlan<double>::make(team, a.view(), a.view(), on_team), ValueError);
    };
    refuses({.op_a = Op(5)});
    refuses({.op_b = Op(-1)});
    refuses({.force = spgemm::Policy{.method = spgemm::Method(9)}});
    refuses({.refill = spgemm::NumericReuse(9)});
    EXPECT_NE(to_text(spgemm::Method(9)).find("unknown"), std::string::npos);
    EXPECT_NE(to_text(spgemm::NumericReuse(9)).find("unknown"), std::string::npos);
}

TEST_F(Options, OfSptrsv)
{
    using sptrsv::OtherSide;
    const auto refuses = [&](sptrsv::Options o) {
        if (o.other_side == OtherSide::refuse) o.other_side = OtherSide::ignore;
        EXPECT_THROW(sptrsv::Plan<double>::make(ctx, a.view(), o), ValueError);
    };
    refuses({.uplo = sptrsv::Uplo(2)});
    refuses({.op = Op(5)});
    refuses({.other_side = OtherSide(2)});
    refuses({.right_hand_sides = -1});
    for (const double calls : {nan, -1.0}) refuses({.expected_calls = calls});
    refuses({.accuracy = sptrsv::Accuracy(3)});
    refuses({.effort = Effort(2)});
    for (const double seconds : {nan, -1.0}) refuses({.effort = Effort::search, .seconds = seconds});
    refuses({.analysis = sptrsv::Analysis(2)});
    refuses({.force = sptrsv::Policy{.kernel = sptrsv::Kernel(99)}});
    EXPECT_NO_THROW(sptrsv::Plan<double>::make(ctx, a.view(), {.other_side = OtherSide::ignore}));
}

TEST_F(Options, OfSolve)
{
    using namespace solve;
    const auto refuses = [&](const Recipe& r) {
        EXPECT_THROW(Plan<double>::make(ctx, a.view(), r), ValueError);
        EXPECT_THROW(TeamPlan<double>::make(team, a.view(), r), ValueError);
    };
    for (const int number : {99, -1}) {
        refuses({.method = Method(number)});
        refuses({.method = Method::refinement, .inner = {.method = Method(number)}});
        refuses({.graphs = Graphs(number)});
        refuses({.preconditioner = Incomplete{.kind = factor::Kind(number)}});
        refuses({.preconditioner = Incomplete{.order = factor::Order(number)}});
        refuses({.preconditioner = Amg{.smoother = amg::Smoother(number)}});
        refuses({.preconditioner = Amg{.cycle = amg::Cycle(number)}});
        refuses({.preconditioner = Amg{.precision = Precision(number)}});
        refuses({.preconditioner = Amg{.coarsening = amg::Coarsening(number)}});
        refuses({.method = Method::fgmres, .preconditioner = Nested({.method = Method(number)})});
        EXPECT_NE(to_text(Method(number)).find("unknown"), std::string::npos);
        EXPECT_NE(to_text(Reason(number)).find("unknown"), std::string::npos);
    }
}

TEST_F(Options, OfFactorAndAmg)
{
    const auto in_float = io::generate<float>(ctx, "stencil5:3");
    for (const int number : {99, -1}) {
        const auto refuses = [&](const factor::Options& o) {
            EXPECT_THROW(factor::Plan<double>::make(ctx, a.view(), o), ValueError);
        };
        refuses({.kind = factor::Kind(number)});
        refuses({.order = factor::Order(number)});
        refuses({.missing_diagonal = factor::MissingDiagonal(number)});
        const auto is_refused = [&](const amg::Options& o) {
            EXPECT_THROW(amg::Plan<float>::make(ctx, in_float.view(), o), ValueError);
        };
        is_refused({.coarsening = amg::Coarsening(number)});
        is_refused({.smoother = amg::Smoother(number)});
        is_refused({.cycle = amg::Cycle(number)});
        is_refused({.storage = amg::Storage(number)});
    }
}

TEST_F(Options, OfGraphs)
{
    using namespace graph;
    const auto v = a.view();
    std::vector<double> x(9, 1.0), y(9);
    for (const int number : {99, -1}) {
        const auto semiring = Semiring(number);
        const auto monoid = Monoid(number);
        EXPECT_THROW(multiply(ctx, semiring, v, x, y), ValueError);
        EXPECT_THROW(multiply_masked(ctx, semiring, v, v, v), ValueError);
        EXPECT_THROW(multiply_select(ctx, semiring, v, v, {}), ValueError);
        EXPECT_THROW(multiply_entries(ctx, semiring, v, v), ValueError);
        EXPECT_THROW(add(ctx, monoid, v, v), ValueError);
        EXPECT_THROW(reduce(ctx, monoid, v), ValueError);
        EXPECT_THROW(select(ctx, v, {.triangle = Triangle(number)}), ValueError);
        EXPECT_THROW(multiply_select(ctx, Semiring::plus_times, v, v, {.triangle = Triangle(number)}), ValueError);
        const SparseVector<double> none{.size = 9, .index = {}, .value = {}};
        EXPECT_THROW(multiply_sparse(ctx, Semiring::plus_times, v, v, none, Direction(number)), ValueError);
        EXPECT_NE(to_text(semiring).find("unknown"), std::string::npos);
    }
}

TEST_F(Options, OfPartitionsAndNarrowing)
{
    for (const int number : {99, -1}) {
        const partition::SplitOptions split{.rule = partition::Rule(number)};
        EXPECT_THROW(partition::partition(ctx, a.view(), 2, split), ValueError);
        EXPECT_THROW(partition::split(ctx, a.row_begin.data(), 9, 2, split), ValueError);
        EXPECT_THROW(partition::split_evenly(9, 2, split), ValueError);
        EXPECT_EQ(to_text(split.rule), "unknown");
        EXPECT_THROW(narrow<Float16>(ctx, a.view(), {.op = Op(number)}), ValueError);
        EXPECT_THROW(narrow<Float16>(ctx, a.view(), {.scaling = Scaling(number)}), ValueError);
    }
    const std::vector<partition::Cut> cuts{{}, {.at = 4, .item = 2}};
    EXPECT_THROW(partition::map_cuts(ctx, cuts, nullptr), ValueError);
}

}  // namespace
}  // namespace tulle::inline TULLE_ABI
