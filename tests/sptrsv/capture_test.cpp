// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Every policy of SpTRSV in a CUDA graph.
#include "support/capture.hpp"

#include "sptrsv/triangles.hpp"
#include "support/battery.hpp"
#include "tulle/sptrsv.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {
namespace {

using namespace tulle::test;

class SptrsvCapturedOn : public CapturedOn {
protected:
    void check_every_policy(index_t sides)
    {
        constexpr index_t rows = 70;
        const Context c = Context::cuda(0, stream.get());
        const auto a = matrix_where<double>(rows, rows, Values::integers, 3, [](index_t i, index_t j) {
            return i == j || (j < i && unit(hash_of(5, i, j)) < 0.1);
        });
        const Csr<double> there = to_device(c, a.view());
        const std::vector<double> twos(static_cast<std::size_t>(rows * sides), 2.0);
        const auto b = to_device<double>(c, std::span<const double>(twos));
        auto x = to_device<double>(c, std::span<const double>(twos));
        const Limits limits = limits_of(c);
        for (const Policy& policy : candidates(limits)) {
            if (!fits(policy, rows, sizeof(double), limits)) continue;
            if (policy.execution_scope != ExecutionScope::device && without_regimes()) continue;
            SCOPED_TRACE(to_text(policy));
            const auto plan = Plan<double>::make(c, there.view(),
                                                 {.unit_diagonal = true, .right_hand_sides = sides, .force = policy});
            replay(c, x, [&] {
                plan.solve(1.0, DenseView<const double>{rows, sides, sides, Layout::row_major, b.data()},
                           DenseView<double>{rows, sides, sides, Layout::row_major, x.data()});
            });
            plan.wait();
        }
    }
};

TEST_P(SptrsvCapturedOn, EveryPolicy)
{
    check_every_policy(1);
    check_every_policy(3);
}

TULLE_ON_CUDA(SptrsvCapturedOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI::sptrsv
