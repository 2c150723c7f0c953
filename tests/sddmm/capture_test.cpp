// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// SDDMM and sparse attention in a CUDA graph.
#include "support/capture.hpp"

#include "support/battery.hpp"
#include "tulle/sddmm.hpp"

namespace tulle::inline TULLE_ABI::sddmm {
namespace {

using namespace tulle::test;

class SddmmCapturedOn : public CapturedOn {};

TEST_P(SddmmCapturedOn, EveryPolicy)
{
    constexpr index_t rows = 60, k = 24;
    const Context c = Context::cuda(0, stream.get());
    const Csr<float> a = to_device(c, random_matrix<float>(rows, rows, 0.1, Values::integers, 3).view());
    const auto x = to_device<float>(c, std::span<const float>(std::vector<float>(rows * k, 2.0F)));
    auto out = to_device<float>(c, std::span<const float>(std::vector<float>(static_cast<std::size_t>(a.nonzeros()))));
    auto heads = to_device<float>(c, std::span<const float>(std::vector<float>(rows * k)));
    const DenseView<const float> view{rows, k, k, Layout::row_major, x.data()};
    for (const Policy& policy : candidates(c.backend())) {
        SCOPED_TRACE(to_text(policy));
        const auto plan = Plan<float>::make(c, a.view(), {.k = k, .force = policy});
        EXPECT_EQ(replay(c, out, [&] { plan.run(view, view, out.span()); }), 1u);
        replay(c, heads, [&] {
            plan.attend(0.5F, view, view, view, DenseView<float>{rows, k, k, Layout::row_major, heads.data()});
        });
    }
}

TULLE_ON_CUDA(SddmmCapturedOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI::sddmm
