// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A temporary owner gives no view and no span, which would dangle: Plan::make(ctx, io::generate<double>(ctx,
// "…").view()) does not compile.
#include <gtest/gtest.h>

#include <concepts>
#include <utility>

#include "tulle/tulle.hpp"

namespace tulle::test {
namespace {

template <class Owner>
concept LvalueHasView = requires(Owner& a, const Owner& b)
{
    a.view();
    b.view();
};
template <class Owner>
concept TemporaryHasView = requires(Owner&& a)
{
    std::move(a).view();
}
|| requires(const Owner&& a) { std::move(a).view(); };
template <class Owner>
concept LvalueHasSpan = requires(Owner& a, const Owner& b)
{
    a.span();
    b.span();
};
template <class Owner>
concept TemporaryHasSpan = requires(Owner&& a)
{
    std::move(a).span();
}
|| requires(const Owner&& a) { std::move(a).span(); };

template <class... Owners>
constexpr bool all_have_views = (LvalueHasView<Owners> && ...);
template <class... Owners>
constexpr bool no_temporary_has_a_view = (!TemporaryHasView<Owners> && ...);

static_assert(all_have_views<Csr<double>, Csc<double>, Coo<double>, BlockedEll<double>, Dense<double>, Csr<float>,
                             Dense<Float16>>);
static_assert(no_temporary_has_a_view<Csr<double>, Csc<double>, Coo<double>, BlockedEll<double>, Dense<double>,
                                      Csr<float>, Dense<Float16>>);
static_assert(LvalueHasSpan<Buffer<double>> && !TemporaryHasSpan<Buffer<double>>);

template <class Plan, class Where, class... Matrices>
concept CanPlan = requires(const Where& where, const Matrices&... a)
{
    Plan::make(where, a...);
};
// A plan takes views, and an owner is not taken for one.
template <class Plan, class Where, class V>
constexpr bool takes_views_only = CanPlan<Plan, Where, CsrView<V>> && !CanPlan<Plan, Where, Csr<V>>;

static_assert(takes_views_only<spmv::Plan<double>, Context, double>);
static_assert(takes_views_only<spmv::Plan<double, float>, Context, float>);
static_assert(takes_views_only<spmm::Plan<float>, Context, float>);
static_assert(takes_views_only<sptrsv::Plan<double>, Context, double>);
static_assert(takes_views_only<sddmm::Plan<float>, Context, float>);
static_assert(takes_views_only<factor::Plan<double>, Context, double>);
static_assert(takes_views_only<amg::Plan<double>, Context, double>);
static_assert(takes_views_only<solve::Plan<double>, Context, double>);
static_assert(takes_views_only<spmv::TeamPlan<double>, Team, double>);
static_assert(takes_views_only<spmm::TeamPlan<double>, Team, double>);
static_assert(takes_views_only<solve::TeamPlan<double>, Team, double>);
static_assert(CanPlan<spgemm::Plan<double>, Context, CsrView<double>, CsrView<double>>);
static_assert(!CanPlan<spgemm::Plan<double>, Context, Csr<double>, CsrView<double>>);
static_assert(!CanPlan<spgemm::Plan<double>, Context, CsrView<double>, Csr<double>>);
static_assert(CanPlan<spgemm::TeamPlan<double>, Team, CsrView<double>, CsrView<double>>);
static_assert(!CanPlan<spgemm::TeamPlan<double>, Team, Csr<double>, CsrView<double>>);

TEST(Temporaries, GiveNoViews) { SUCCEED() << "what is to be seen was seen by the compiler"; }

}  // namespace
}  // namespace tulle::test
