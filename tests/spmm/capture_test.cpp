// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Every policy of SpMM in a CUDA graph.
#include "support/capture.hpp"

#include "support/dense.hpp"
#include "tulle/spmm.hpp"

namespace tulle::inline TULLE_ABI::spmm {
namespace {

using namespace tulle::test;

class SpmmCapturedOn : public CapturedOn {
protected:
    template <class V>
    void check_every_policy(Layout layout)
    {
        constexpr index_t rows = 80, n = 40;
        const Context c = Context::cuda(0, stream.get());
        const auto a = in_type<V>(random_matrix<double>(rows, rows, 0.1, Values::integers, 3));
        const Csr<V> there = to_device(c, a.view());
        const auto b = to_device<V>(c, std::span<const V>(std::vector<V>(rows * n, V(2.0F))));
        auto out = to_device<float>(c, std::span<const float>(std::vector<float>(rows * n)));
        const index_t leading = layout == Layout::row_major ? n : rows;
        const DenseView<const V> b_view{rows, n, leading, layout, b.data()};
        const DenseView<float> c_view{rows, n, leading, layout, out.data()};
        const auto first = Plan<V, float>::make(c, there.view(), {.n = n, .b_layout = layout});
        for (const Policy& policy : candidates(first.features(), {c.backend()})) {
            SCOPED_TRACE(name_of<V>() + ", " + to_text(policy));
            const auto plan = Plan<V, float>::make(c, there.view(), {.n = n, .b_layout = layout, .force = policy});
            const std::size_t nodes = replay(c, out, [&] { plan.run(b_view, c_view); });
            const std::size_t most = policy.kernel == Kernel::tiles ? 2 : 1;  // and B by rows, where it must be turned
            EXPECT_LE(nodes, layout == Layout::row_major ? most : most + 1);
        }
    }
};

TEST_P(SpmmCapturedOn, EveryPolicy)
{
    check_every_policy<float>(Layout::row_major);
    check_every_policy<Float16>(Layout::row_major);
    check_every_policy<Float16>(Layout::col_major);
}

TULLE_ON_CUDA(SpmmCapturedOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI::spmm
