// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Every policy of SpMV in a CUDA graph.
#include "support/capture.hpp"

#include "support/battery.hpp"
#include "tulle/convert.hpp"
#include "tulle/spmv.hpp"

namespace tulle::inline TULLE_ABI::spmv {
namespace {

using namespace tulle::test;

class SpmvCapturedOn : public CapturedOn {};

// Launches of a kernel that reads op(A) by rows; what scatters has y to clear before.
std::size_t most_launches(Kernel kernel)
{
    return kernel == Kernel::rows || kernel == Kernel::groups || kernel == Kernel::stream || kernel == Kernel::sell ? 1
                                                                                                                    : 2;
}

TEST_P(SpmvCapturedOn, EveryPolicy)
{
    const Context c = Context::cuda(0, stream.get());
    const auto a = random_matrix<double>(70, 70, 0.08, Values::integers, 3);  // integers: any order of additions
    const Csr<double> csr = to_device(c, a.view());
    const Coo<double> coo = to_coo(c, csr.view());
    const BlockedEll<double> bell = to_blocked_ell(c, csr.view(), 3);
    const auto x = to_device<double>(c, std::span<const double>(std::vector<double>(70, 2.0)));
    auto y = to_device<double>(c, std::span<const double>(std::vector<double>(70, 0.0)));
    for (const AnyView<double>& view :
         {AnyView<double>(csr.view()), AnyView<double>(coo.view()), AnyView<double>(bell.view())})
        for (const Op op : {Op::none, Op::transpose}) {
            const auto first = Plan<double>::make(c, view, {.op = op});
            for (const Policy& policy : candidates(first.features(), {c.backend()})) {
                SCOPED_TRACE(to_text(static_cast<Format>(view.index())) + ", " + to_text(policy));
                const auto plan = Plan<double>::make(c, view, {.op = op, .force = policy});
                const std::size_t nodes = replay(c, y, [&] { plan.run(x.span(), y.span()); });
                EXPECT_LE(nodes, most_launches(policy.kernel));
            }
        }
}

TEST_P(SpmvCapturedOn, DotProducts)
{
    const Context c = Context::cuda(0, stream.get());
    const Csr<double> a = to_device(c, random_matrix<double>(70, 70, 0.08, Values::reals, 3).view());
    const auto x = to_device<double>(c, std::span<const double>(std::vector<double>(70, 2.0)));
    auto y = to_device<double>(c, std::span<const double>(std::vector<double>(70, 0.0)));
    auto dots = to_device<double>(c, std::span<const double>(std::vector<double>(2, 0.0)));
    const auto plan = Plan<double>::make(c, a.view(), {.dots = true});
    replay(c, dots, [&] { plan.run(1.0, x.span(), 0.0, y.span(), dots.span()); });
}

TULLE_ON_CUDA(SpmvCapturedOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI::spmv
