// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Plans look alike: what every plan has is asked of all of them, by the compiler.
#include <gtest/gtest.h>

#include <concepts>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tulle/tulle.hpp"

namespace tulle {
namespace {

// clang-format off
// A plan is one pointer to data that only the library knows: it moves and is not copied.
template <class P>
concept Movable = std::is_nothrow_move_constructible_v<P> && std::is_nothrow_move_assignable_v<P> &&
                  !std::is_copy_constructible_v<P> && !std::is_copy_assignable_v<P> &&
                  sizeof(P) == sizeof(detail::Pimpl<int>);

// What every plan has: it moves, tells of itself and takes new values.
template <class P, class... A>
concept AnyPlan = Movable<P> &&
                  requires(P& plan, const P& fixed, const A&... a) {
                      { plan.update_values(a...) } -> std::same_as<void>;
                      { fixed.describe() } -> std::same_as<std::string>;
                      { fixed.bytes() } -> std::same_as<std::size_t>;
                      { fixed.rows() } -> std::same_as<index_t>;
                  };

// A plan of an operation on one device: made from a context, and with a choice that can be asked for.
template <class P, class Policy, class Features, class... A>
concept PlanOf = AnyPlan<P, A...> && requires(const Context& ctx, const P& fixed, const A&... a) {
    { P::make(ctx, a...) } -> std::same_as<P>;
    { fixed.policy() } -> std::same_as<const Policy&>;
    { fixed.features() } -> std::same_as<const Features&>;
};

// A plan of an operation on several devices.
template <class P, class Policy, class Features, class... A>
concept PlanOfTeam = AnyPlan<P, A...> && requires(const Team& team, P& plan, const P& fixed, const A&... a) {
    { P::make(team, a...) } -> std::same_as<P>;
    { fixed.cols() } -> std::same_as<index_t>;
    { fixed.members() } -> std::same_as<int>;
    { fixed.policy() } -> std::same_as<const Policy&>;
    { fixed.features() } -> std::same_as<const Features&>;
    fixed.parts();
    fixed.traffic();
    plan.reset_traffic();
};

// A plan of an operation on distributed matrices: it takes new values from the matrix that it keeps, and knows nothing
// of other ranks' rows. SpgemmPlan reads the values in every run, and every rank has a policy for each of its batches.
template <class P, class... A>
concept AnyPlanOfRanks = Movable<P> && requires(const P& fixed, const A&... a) {
    { P::make(a...) } -> std::same_as<P>;
    { fixed.describe() } -> std::same_as<std::string>;
    { fixed.bytes() } -> std::same_as<std::size_t>;
};
template <class P, class Policy, class... A>
concept PlanOfRanks = AnyPlanOfRanks<P, A...> && requires(P& plan, const P& fixed) {
    { plan.update_values() } -> std::same_as<void>;
    { fixed.policy() } -> std::same_as<const Policy&>;
};

static_assert(PlanOf<spmv::Plan<double>, spmv::Policy, spmv::Features, CsrView<double>>);
static_assert(PlanOf<spmv::Plan<double, float>, spmv::Policy, spmv::Features, CsrView<float>>);
static_assert(PlanOf<spmm::Plan<float>, spmm::Policy, spmm::Features, CsrView<float>>);
static_assert(PlanOf<spgemm::Plan<double>, spgemm::Policy, spgemm::Features, CsrView<double>, CsrView<double>>);
static_assert(PlanOf<sptrsv::Plan<double>, sptrsv::Policy, sptrsv::Features, CsrView<double>>);
static_assert(PlanOf<sddmm::Plan<float>, sddmm::Policy, sddmm::Features, CsrView<float>>);
static_assert(PlanOf<solve::Plan<double>, solve::Recipe, solve::Features, CsrView<double>>);
static_assert(PlanOf<factor::Plan<double>, factor::Options, factor::Features, CsrView<double>>);
static_assert(PlanOf<amg::Plan<double>, amg::Options, amg::Features, CsrView<double>>);

static_assert(PlanOfTeam<spmv::TeamPlan<double>, spmv::TeamOptions, spmv::ExchangeFeatures, CsrView<double>>);
static_assert(PlanOfTeam<spmm::TeamPlan<float>, spmm::TeamOptions, spmm::SplitFeatures, CsrView<float>>);
static_assert(PlanOfTeam<spgemm::TeamPlan<double>, spgemm::TeamOptions, spgemm::Features, CsrView<double>,
                         CsrView<double>>);
static_assert(PlanOfTeam<solve::TeamPlan<double>, solve::Recipe, solve::Features, CsrView<double>>);

static_assert(PlanOfRanks<mpi::SpmvPlan<double>, spmv::Policy, mpi::DistCsr<double>>);
static_assert(PlanOfRanks<mpi::SpmmPlan<double>, spmm::Policy, mpi::DistCsr<double>, index_t>);
static_assert(PlanOfRanks<mpi::AmgPlan<double>, amg::Options, mpi::DistCsr<double>>);
static_assert(PlanOfRanks<mpi::SolvePlan<double>, solve::Recipe, mpi::DistCsr<double>>);
static_assert(AnyPlanOfRanks<mpi::SpgemmPlan<double>, mpi::DistCsr<double>, mpi::DistCsr<double>>);
template <class P>
concept RunsOnSpans = requires(P& plan, std::span<const double> from, std::span<double> to) { plan.run(from, to); };
static_assert(RunsOnSpans<mpi::SpmvPlan<double>> && RunsOnSpans<mpi::SpmmPlan<double>>);

// One part of a team's work alone has one name.
static_assert(requires(spmv::TeamPlan<double>& plan) { plan.run_on(0, 1.0, 0.0); });
static_assert(requires(spmm::TeamPlan<double>& plan, DenseView<const double> b, DenseView<double> c) {
    plan.run_on(0, 1.0, b, 0.0, c);
});
static_assert(requires(spgemm::TeamPlan<double>& plan) { plan.run_on(0); });
// clang-format on

// A plan that was moved works; one that was moved from says so, and can be assigned to.
TEST(Plans, MoveWithTheirData)
{
    const Context ctx = Context::cpu();
    const Csr<double> a = io::generate<double>(ctx, "stencil5:4");
    auto first = spmv::Plan<double>::make(ctx, a.view());
    auto second = std::move(first);
    const std::vector<double> x(16, 1.0);
    std::vector<double> y(16), again(16);
    second.run(x, y);
    EXPECT_THROW(first.run(x, again), ValueError);
    EXPECT_THROW(first.describe(), ValueError);
    EXPECT_EQ(again, std::vector<double>(16)) << "nothing is written";
    first = std::move(second);
    EXPECT_THROW(second.bytes(), ValueError);
    first.run(x, again);
    EXPECT_EQ(y[0], 2.0);
    EXPECT_EQ(y, again);
}

// What was chosen is filled in, and what it was chosen by can be asked for; the rest is as the caller wants it.
TEST(Plans, TellWhatWasChosenAndWhatItDependsOn)
{
    const Context ctx = Context::cpu(2);
    const Csr<double> a = io::generate<double>(ctx, "stencil5:8");
    const auto factors = factor::Plan<double>::make(ctx, a.view(), {.kind = factor::Kind::ic0, .shift_attempts = 3});
    EXPECT_EQ(factors.policy().kind, factor::Kind::ic0);
    EXPECT_EQ(factors.policy().shift_attempts, 3);
    EXPECT_EQ(factors.policy().order, factor::Order::natural);
    EXPECT_EQ(factors.features().rows, 64);
    EXPECT_EQ(factors.features().nonzeros, a.nonzeros());
    EXPECT_EQ(factors.features().factor_nonzeros, (a.nonzeros() + 64) / 2);
    EXPECT_TRUE(factors.features().orders.empty());
    const auto levels = amg::Plan<double>::make(ctx, a.view(), {.coarse_rows = 10, .unknowns_per_node = 2});
    EXPECT_EQ(levels.policy().coarse_rows, 10);
    EXPECT_EQ(levels.features().rows, 64);
    EXPECT_EQ(levels.features().nonzeros, a.nonzeros());
    EXPECT_EQ(levels.features().near_null_cols, 2);
}

TEST(Plans, OfTeamsTellWhatWasChosenAndWhatItDependsOn)
{
    const Context host = Context::cpu(1);
    const Csr<double> a = io::generate<double>(host, "stencil5:8");
    const Team team = Team::cpu(2, 1);
    const auto halo = spmv::TeamPlan<double>::make(team, a.view());
    EXPECT_EQ(halo.policy().exchange, spmv::Exchange::halo);
    EXPECT_EQ(halo.policy().nodes.size(), 2u);
    EXPECT_FALSE(halo.gathers());
    EXPECT_EQ(halo.features().halo, 2 * 8) << "a line of the grid from either side";
    EXPECT_EQ(halo.features().gather, 64);
    EXPECT_EQ(halo.features().rows, 64);
    EXPECT_EQ(halo.features().nonzeros, a.nonzeros());
    EXPECT_EQ(halo.features().members, 2);
    const auto gather = spmv::TeamPlan<double>::make(team, a.view(), {.exchange = spmv::Exchange::gather});
    EXPECT_EQ(gather.policy().exchange, spmv::Exchange::gather);
    EXPECT_EQ(gather.features().halo, 2 * 8);
    const auto split = spmm::TeamPlan<double>::make(team, a.view(), {.product = {.n = 4}});
    EXPECT_EQ(split.policy().split, split.choice().split);
    EXPECT_NE(split.policy().split, spmm::SplitBy::automatic);
    EXPECT_EQ(split.policy().product.n, 4);
    EXPECT_EQ(spmm::choose_split(split.features()).by_columns, split.choice().by_columns);
    EXPECT_EQ(split.features().members, 2);
    const auto square = spgemm::TeamPlan<double>::make(team, a.view(), a.view(), {.sorted = false});
    EXPECT_FALSE(square.policy().sorted);
    EXPECT_EQ(square.features().inner, 64);
    EXPECT_EQ(square.features().nonzeros_b, a.nonzeros());
}

// Options that mean the same are called the same and begin with the same value.
TEST(Plans, OptionsOfTheSameMeaningHaveTheSameDefault)
{
    const auto checked = [](const auto& options) { return options.checked; };
    EXPECT_TRUE(checked(spmv::Options{}) && checked(spmm::Options{}) && checked(spgemm::Options{}));
    EXPECT_TRUE(checked(sptrsv::Options{}) && checked(sddmm::Options{}) && checked(factor::Options{}));
    EXPECT_TRUE(checked(amg::Options{}) && checked(spmv::TeamOptions{}) && checked(spgemm::TeamOptions{}));
    EXPECT_EQ(spmv::Options{}.op, spmm::Options{}.op);
    EXPECT_EQ(spmv::Options{}.op, sptrsv::Options{}.op);
    EXPECT_EQ(spmm::Options{}.effort, sptrsv::Options{}.effort);
    EXPECT_EQ(spmm::Options{}.expected_calls, sptrsv::Options{}.expected_calls);
    EXPECT_EQ(spmm::Options{}.expected_calls, factor::Options{}.expected_calls);
}

}  // namespace
}  // namespace tulle
