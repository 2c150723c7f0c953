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

template <class... Arguments>
concept CanPlan = requires(const Context& ctx, Arguments&&... a)
{
    spmv::Plan<double>::make(ctx, std::forward<Arguments>(a)...);
};
static_assert(CanPlan<CsrView<double>>);
static_assert(!CanPlan<Csr<double>>, "an owner is not taken for a view");

TEST(Temporaries, GiveNoViews) { SUCCEED() << "what is to be seen was seen by the compiler"; }

}  // namespace
}  // namespace tulle::test
