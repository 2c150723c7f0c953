// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// New values of C in a CUDA graph, by plans that keep what this needs.
#include "support/capture.hpp"

#include "support/battery.hpp"
#include "tulle/spgemm.hpp"

namespace tulle::inline TULLE_ABI::spgemm {
namespace {

using namespace tulle::test;

class SpgemmCapturedOn : public CapturedOn {};

TEST_P(SpgemmCapturedOn, NewValues)
{
    const Context c = Context::cuda(0, stream.get());
    for (const double density : {0.02, 0.2}) {
        const Csr<double> a = to_device(c, random_matrix<double>(120, 120, density, Values::integers, 3).view());
        for (const NumericReuse reuse : {NumericReuse::keep_places, NumericReuse::keep_products}) {
            SCOPED_TRACE(concat(density, reuse == NumericReuse::keep_places ? ", places" : ", products"));
            const auto plan = Plan<double>::make(c, a.view(), a.view(), {.refill = reuse});
            Csr<double> product = plan.run();
            replay(c, product.value, [&] { plan.run(product); });
        }
    }
}

TULLE_ON_CUDA(SpgemmCapturedOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI::spgemm
