// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The values of a C that is there, computed once more: by places kept, and by places found again. The bits must be those of a first fill.
#include <gtest/gtest.h>

#include "spgemm/products.hpp"
#include "support/backends.hpp"
#include "support/faults.hpp"
#include "tulle/matrix/move.hpp"
#include "tulle/spgemm/places.hpp"
#include "tulle/spgemm/spgemm.hpp"

namespace tulle::spgemm {
namespace {

using namespace tulle::test;

class SpgemmRefill : public OnBackend {};

constexpr std::array ways{Refill::find_places, Refill::keep_places};

std::vector<Policy> repeatable_policies(const Context& ctx)
{
    std::vector<Policy> all = candidates({ctx.backend(), ctx.host().threads, true});
    return all;
}

// Other numbers for the same pattern.
template <class V>
HostCsr<V> with_values(HostCsr<V> a, std::uint64_t seed)
{
    for (std::size_t k = 0; k < a.value.size(); ++k) a.value[k] = test_value<V>(Values::reals, seed, static_cast<index_t>(k % 1000), static_cast<index_t>(k / 1000));
    return a;
}

template <class V>
void spoil(const Context& ctx, Csr<V>& c)
{
    ctx.run([&](const auto& q) { fill_zero(q, c.value.data(), c.nonzeros()); });
}

// The first fill, then new values of A, of B, of both, and the old ones again: always what a plan of its own gives.
template <class V>
void check_refills(const Context& ctx, const Pair<V>& pair, const Options& options)
{
    const auto a = to_device(ctx, pair.a.view()), b = to_device(ctx, pair.b.view());
    const auto a2 = to_device(ctx, with_values(pair.a, 91).view()), b2 = to_device(ctx, with_values(pair.b, 92).view());
    auto plan = Plan<V>::make(ctx, a.view(), b.view(), options);
    Csr<V> c = plan.run();
    const auto first = host_of(ctx, c.view());
    ASSERT_TRUE(matches(first, oracle_product(pair.a, pair.b)));
    for (const auto& [now_a, now_b] : {std::pair{&a2, &b}, {&a, &b2}, {&a2, &b2}, {&a, &b}}) {
        plan.update_values(now_a->view(), now_b->view());
        spoil(ctx, c);
        plan.run(c);
        const auto got = host_of(ctx, c.view()), want = host_of(ctx, multiply(ctx, now_a->view(), now_b->view(), {.force = options.force}).view());
        ASSERT_EQ(got.col, want.col);
        ASSERT_TRUE(same_bits(got.value, want.value));
    }
    ASSERT_TRUE(same_bits(host_of(ctx, plan.run().view()).value, first.value)) << "a C of its own after refills";
}

TEST_P(SpgemmRefill, GivesTheBitsOfAFirstFill)
{
    const auto c = ctx();
    for (const auto& pair : products<double>(Values::reals))
        for (const Refill way : ways) {
            SCOPED_TRACE(pair.name + (way == Refill::keep_places ? ", places kept" : ""));
            check_refills(c, pair, {.refill = way});
        }
}

TEST_P(SpgemmRefill, GivesTheBitsOfAFirstFillInSinglePrecisionAndWithEveryPolicy)
{
    const auto c = ctx();
    for (const auto& pair : products<float>(Values::reals))
        for (const Policy& policy : repeatable_policies(c)) {
            if (!is_drawn("refill " + pair.name + to_text(policy), 3)) continue;
            SCOPED_TRACE(pair.name + ", " + to_text(policy));
            for (const Refill way : ways) check_refills(c, pair, {.force = policy, .refill = way});
        }
}

TULLE_ON_BACKENDS(SpgemmRefill);

}  // namespace
}  // namespace tulle::spgemm
