// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Plans look alike: what every plan has is asked of all of them, by the compiler.
#include <gtest/gtest.h>

#include <concepts>
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
template <class P, class... A>
concept PlanOfTeam = AnyPlan<P, A...> && requires(const Team& team, P& plan, const P& fixed, const A&... a) {
    { P::make(team, a...) } -> std::same_as<P>;
    { fixed.cols() } -> std::same_as<index_t>;
    { fixed.members() } -> std::same_as<int>;
    fixed.parts();
    fixed.traffic();
    plan.reset_traffic();
};

static_assert(PlanOf<spmv::Plan<double>, spmv::Policy, spmv::Features, CsrView<double>>);
static_assert(PlanOf<spmv::Plan<double, float>, spmv::Policy, spmv::Features, CsrView<float>>);
static_assert(PlanOf<spmm::Plan<float>, spmm::Policy, spmm::Features, CsrView<float>>);
static_assert(PlanOf<spgemm::Plan<double>, spgemm::Policy, spgemm::Features, CsrView<double>, CsrView<double>>);
static_assert(PlanOf<sptrsv::Plan<double>, sptrsv::Policy, sptrsv::Features, CsrView<double>>);
static_assert(PlanOf<sddmm::Plan<float>, sddmm::Policy, sddmm::Features, CsrView<float>>);
static_assert(PlanOf<solve::Plan<double>, solve::Recipe, solve::Features, CsrView<double>>);
static_assert(AnyPlan<factor::Plan<double>, CsrView<double>>);
static_assert(AnyPlan<amg::Plan<double>, CsrView<double>>);

static_assert(PlanOfTeam<spmv::TeamPlan<double>, CsrView<double>>);
static_assert(PlanOfTeam<spmm::TeamPlan<float>, CsrView<float>>);
static_assert(PlanOfTeam<spgemm::TeamPlan<double>, CsrView<double>, CsrView<double>>);
static_assert(PlanOfTeam<solve::TeamPlan<double>, CsrView<double>>);

static_assert(Movable<mpi::SpmvPlan<double>> && Movable<mpi::SpmmPlan<double>> && Movable<mpi::SpgemmPlan<double>> &&
              Movable<mpi::AmgPlan<double>> && Movable<mpi::SolvePlan<double>>);

// One part of a team's work alone has one name.
static_assert(requires(spmv::TeamPlan<double>& plan) { plan.run_on(0, 1.0, 0.0); });
static_assert(requires(spmm::TeamPlan<double>& plan, DenseView<const double> b, DenseView<double> c) {
    plan.run_on(0, 1.0, b, 0.0, c);
});
static_assert(requires(spgemm::TeamPlan<double>& plan) { plan.run_on(0); });
// clang-format on

// A plan that was moved works, and one that was moved from can be assigned to.
TEST(Plans, MoveWithTheirData)
{
    const Context ctx = Context::cpu();
    const Csr<double> a = io::generate<double>(ctx, "stencil5:4");
    auto first = spmv::Plan<double>::make(ctx, a.view());
    auto second = std::move(first);
    const std::vector<double> x(16, 1.0);
    std::vector<double> y(16), again(16);
    second.run(x, y);
    first = std::move(second);
    first.run(x, again);
    EXPECT_EQ(y[0], 2.0);
    EXPECT_EQ(y, again);
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
