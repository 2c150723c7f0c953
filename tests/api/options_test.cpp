// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Options out of range: every one is refused with ValueError, none is taken for something else.
#include <gtest/gtest.h>

#include <limits>

#include "tulle/error.hpp"
#include "tulle/generate.hpp"
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

}  // namespace
}  // namespace tulle::inline TULLE_ABI
