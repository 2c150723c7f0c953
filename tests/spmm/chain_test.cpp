// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Products of SpMM one behind the other, in every policy.
#include "support/chain.hpp"

#include "support/backends.hpp"
#include "support/dense.hpp"
#include "tulle/spmm.hpp"

namespace tulle::inline TULLE_ABI::spmm {
namespace {

using namespace tulle::test;

class SpmmChainOn : public OnBackend {
protected:
    static constexpr index_t size = 150, n = 40;
    static constexpr int products = 3;

    // prepare() is the last on the stream before the first product.
    template <class V, class Prepare>
    std::vector<double> chain(const Context& c, const Plan<V, V>& plan, Prepare&& prepare)
    {
        const std::vector<V> ones(static_cast<std::size_t>(size * n), V(1.0F));
        std::vector<Buffer<V>> x;
        for (int k = 0; k <= products; ++k) x.push_back(to_device<V>(c, std::span<const V>(ones)));
        prepare();
        for (std::size_t k = 0; k < products; ++k)
            plan.run({size, n, n, Layout::row_major, x[k].data()}, {size, n, n, Layout::row_major, x[k + 1].data()});
        std::vector<double> numbers;
        for (const V& value : host_vector(c, x.back())) numbers.push_back(static_cast<double>(value));
        return numbers;
    }

    template <class V>
    void check()
    {
        const Context c = ctx();
        auto a = random_matrix<double>(size, size, 0.02, Values::integers, 3);
        for (double& value : a.value) value = value < 0 ? -1 : 1;  // so that f16 has all sums
        const auto b = negated(a);
        const auto typed = in_type<V>(a), typed_b = in_type<V>(b);
        const Csr<V> matrix = to_device(c, typed.view()), other = to_device(c, typed_b.view());
        const auto first = Plan<V, V>::make(c, matrix.view(), {.n = n});
        for (const Policy& policy : candidates(first.features(), {c.backend()})) {
            SCOPED_TRACE(name_of<V>() + ", " + to_text(policy));
            auto plan = Plan<V, V>::make(c, matrix.view(), {.n = n, .force = policy});
            EXPECT_EQ(chain(c, plan, [] {}), applied(a, n, products));
            EXPECT_EQ(chain(c, plan, [&] { plan.update_values(other.view()); }), applied(b, n, products));
        }
    }
};

TEST_P(SpmmChainOn, EveryPolicySeesWhatIsAhead)
{
    check<float>();
    check<Float16>();
}

TEST_P(SpmmChainOn, EveryPolicySeesAPatternThatIsWrittenAhead)
{
    const Context c = ctx();
    WrittenAhead<double> a(c, size);
    const std::vector<double> expected = applied(a.host(), n, products);
    const auto first = Plan<double>::make(c, a.view(), {.n = n});
    for (const Policy& policy : candidates(first.features(), {c.backend()})) {
        if (!is_drawn("written ahead of " + to_text(policy), 4)) continue;
        SCOPED_TRACE(to_text(policy));
        auto plan = Plan<double>::make(c, a.view(), {.n = n, .force = policy});
        chain(c, plan, [] {});
        a.give_to(plan, [&](const auto& prepare) { EXPECT_EQ(chain(c, plan, prepare), expected); });
    }
}

TULLE_ON_BACKENDS(SpmmChainOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI::spmm
