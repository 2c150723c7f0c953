// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Products of SpMV one behind the other, in every policy.
#include "support/chain.hpp"

#include "support/backends.hpp"
#include "support/battery.hpp"
#include "tulle/spmv.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::spmv {
namespace {

using namespace tulle::test;

class SpmvChainOn : public OnBackend {
protected:
    static constexpr index_t size = 300;
    static constexpr int products = 3;

    // prepare() is the last on the stream before the first product.
    template <class Prepare>
    std::vector<double> chain(const Context& c, const Plan<double>& plan, Prepare&& prepare)
    {
        const std::vector<double> ones(size, 1.0);
        std::vector<Buffer<double>> x;
        for (int k = 0; k <= products; ++k) x.push_back(to_device<double>(c, std::span<const double>(ones)));
        prepare();
        for (std::size_t k = 0; k < products; ++k) plan.run(x[k].span(), x[k + 1].span());
        return host_vector(c, x.back());
    }
};

TEST_P(SpmvChainOn, EveryPolicySeesWhatIsAhead)
{
    const Context c = ctx();
    const auto a = random_matrix<double>(size, size, 0.02, Values::integers, 3);  // integers: any order of additions
    const auto b = negated(a);
    const Csr<double> matrix = to_device(c, a.view()), other = to_device(c, b.view());
    const auto first = Plan<double>::make(c, matrix.view(), {});
    for (const Policy& policy : candidates(first.features(), {c.backend()})) {
        SCOPED_TRACE(to_text(policy));
        auto plan = Plan<double>::make(c, matrix.view(), {.force = policy});
        EXPECT_EQ(chain(c, plan, [] {}), applied(a, 1, products));
        EXPECT_EQ(chain(c, plan, [&] { plan.update_values(other.view()); }), applied(b, 1, products));
    }
}

TEST_P(SpmvChainOn, EveryPolicySeesAPatternThatIsWrittenAhead)
{
    const Context c = ctx();
    WrittenAhead<double> a(c, size);
    const auto first = Plan<double>::make(c, a.view(), {});
    for (const Policy& policy : candidates(first.features(), {c.backend()})) {
        SCOPED_TRACE(to_text(policy));
        auto plan = Plan<double>::make(c, a.view(), {.force = policy});
        chain(c, plan, [] {});
        a.give_to(plan,
                  [&](const auto& prepare) { EXPECT_EQ(chain(c, plan, prepare), applied(a.host(), 1, products)); });
    }
}

TULLE_ON_BACKENDS(SpmvChainOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI::spmv
