// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Rows of A, of B and of C a little shorter or longer than the batches that kernels read and write, in arrays that end
// where the memory does. See support/exact.hpp.
#include <gtest/gtest.h>

#include "spgemm/products.hpp"
#include "support/backends.hpp"
#include "support/exact.hpp"
#include "tulle/spgemm.hpp"

namespace tulle::inline TULLE_ABI::spgemm {
namespace {

using namespace tulle::test;

class SpgemmEndsOn : public OnBackend {};

template <class V>
void check_ends(const Context& c, const Pair<V>& pair, Edge edge, unsigned one_in)
{
    const ExactCsr<V> a(c, pair.a, edge, 1), b(c, pair.b, edge, 3);
    const SparseProduct want = oracle_product(pair.a, pair.b);
    for (const Policy& policy : candidates({c.backend(), c.host().threads}))
        for (const NumericReuse refill :
             {NumericReuse::find_places, NumericReuse::keep_places, NumericReuse::keep_products}) {
            if (refill != NumericReuse::find_places && !is_repeatable(policy, c.backend())) continue;
            const std::string what = pair.name + (edge == Edge::end ? ", " : ", after the edge, ") +
                                     (sizeof(V) == 4 ? "f32, " : "f64, ") + to_text(policy) + ", " + to_text(refill);
            if (!is_drawn(what, policy.method == Method::deltasparse ? 4 * one_in : one_in)) continue;
            SCOPED_TRACE(what);
            auto plan = Plan<V>::make(c, a.view(), b.view(), {.force = policy, .refill = refill});
            Csr<V> product = plan.run();
            plan.run(product);
            ASSERT_TRUE(matches(host_of(c, product.view()), want));
        }
}

// Rows of A around a batch by rows of B with one or two entries, and a few nonzeros of A by rows of B around a batch.
TEST_P(SpgemmEndsOn, RowsAroundEveryBatch)
{
    const auto c = ctx(threads_at_ends);
    for (const index_t n : sizes_around_batches(1024))
        for (const auto& lengths : rows_around(n))
            for (const Edge edge : {Edge::end, Edge::begin}) {
                if (edge == Edge::begin && c.backend() == Backend::cuda) continue;
                std::string name = "rows of";
                for (const index_t k : lengths) name += " " + std::to_string(k);
                const auto around = matrix_of_lengths<double>(lengths, n, 5);
                std::vector<index_t> short_rows(static_cast<std::size_t>(n), 2);
                short_rows.back() = 1;
                const auto narrow = matrix_of_lengths<double>(short_rows, 3, 6);
                const auto rows = static_cast<index_t>(lengths.size());
                const auto few = matrix_of_lengths<double>({rows, 1, rows}, rows, 7);
                check_ends<double>(c, {name + " by short ones", around, narrow}, edge, 60);
                check_ends<double>(c, {"short ones by " + name, few, around}, edge, 60);
            }
}

TULLE_ON_BACKENDS(SpgemmEndsOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI::spgemm
