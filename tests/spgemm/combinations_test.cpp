// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Options of SpGEMM in all combinations on one pair of matrices: ops of both, sorted or not, policies, refills, types,
// factors that are out of order or store positions twice, at once, by a plan, by a plan with new values, and in chunks.
// Other tests change an option at a time.
#include <gtest/gtest.h>

#include "spgemm/products.hpp"
#include "support/backends.hpp"
#include "tulle/memory.hpp"
#include "tulle/spgemm.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::spgemm {
namespace {

using namespace tulle::test;

class SpgemmCombinationsOn : public OnBackend {};

enum class Way { once, plan, refill, chunks, chunks_on_host };
constexpr Way all_ways[] = {Way::once, Way::plan, Way::refill, Way::chunks, Way::chunks_on_host};
constexpr const char* way_names[] = {"once", "a plan", "a refill", "chunks", "chunks on the host"};

// op(A) is 60 x 50, op(B) 50 x 70: short, long, empty and equal rows in both.
template <class V>
HostCsr<V> left(std::uint64_t seed)
{
    return matrix_of_columns<V>(60, 50, seed, [](index_t i) {
        std::vector<index_t> col;
        for (index_t j = 0; j < 50; ++j)
            if (i == 20 || (i >= 30 && i < 36 && j % 4 == 1) ||
                (i % 11 != 7 && i < 57 && (j == i % 50 || j == (i * 3) % 50 || (i % 5 == 0 && j % 6 == 0))))
                col.push_back(j);
        return col;
    });
}
template <class V>
HostCsr<V> right(std::uint64_t seed)
{
    return matrix_of_columns<V>(50, 70, seed, [](index_t i) {
        std::vector<index_t> col;
        for (index_t j = 0; j < 70; ++j)
            if (i == 12 || (i >= 24 && i < 28 && j % 7 == 3) ||
                (i % 9 != 4 && (j == i || j == (i * 5) % 70 || (i % 4 == 0 && j > 50))))
                col.push_back(j);
        return col;
    });
}

template <class V>
std::vector<V> there_and_back(const Context& c, const Buffer<V>& data, bool on_host)
{
    std::vector<V> all(static_cast<std::size_t>(data.size()));
    const Context where = on_host ? Context::cpu(1) : c;
    where.run([&](const auto& q) { download(q, data.data(), all.data(), data.size()); });
    return all;
}

// Chunks joined on the host.
template <class V>
HostCsr<V> by_chunks(const Context& c, const CsrView<V>& a, const CsrView<V>& b, Options options, std::size_t budget)
{
    HostCsr<V> joined{.rows = 0, .cols = 70, .row_begin = {0}, .col = {}, .value = {}};
    options.budget = budget;
    for_each_chunk(
        c, a, b,
        [&](index_t first, Csr<V> rows) {
            EXPECT_EQ(first, joined.rows);
            const offset_t before = joined.row_begin.back();
            const auto begin = there_and_back(c, rows.row_begin, options.to_host);
            for (std::size_t i = 1; i < begin.size(); ++i) joined.row_begin.push_back(before + begin[i]);
            const auto col = there_and_back(c, rows.col, options.to_host);
            joined.col.insert(joined.col.end(), col.begin(), col.end());
            const auto value = there_and_back(c, rows.value, options.to_host);
            joined.value.insert(joined.value.end(), value.begin(), value.end());
            joined.rows += rows.rows;
            joined.sorted = joined.sorted && rows.sorted;
        },
        options);
    return joined;
}

// Rows put in order, so that a C that need not be sorted can be compared.
template <class V>
HostCsr<V> in_order(const HostCsr<V>& c)
{
    auto entries = c.entries();
    std::sort(entries.begin(), entries.end());
    return csr_of<V>(c.rows, c.cols, entries);
}

template <class V>
HostCsr<V> multiply_by(const Context& c, Way way, const CsrView<V>& a, const CsrView<V>& b, const CsrView<V>& a2,
                       const CsrView<V>& b2, Options options)
{
    if (way == Way::once) return host_of(c, multiply(c, a2, b2, options));
    if (way == Way::chunks || way == Way::chunks_on_host) {
        options.to_host = way == Way::chunks_on_host;
        const MemoryNeed need = Plan<V>::make(c, a2, b2, options).memory();
        return by_chunks(c, a2, b2, options, need.plan + need.workspace + 3 * need.result + 40000);
    }
    auto plan = Plan<V>::make(c, a, b, options);
    if (way == Way::plan) {
        plan.update_values(a2, b2);
        return host_of(c, plan.run());
    }
    Csr<V> product = plan.run();
    plan.update_values(a2, b2);
    plan.run(product);
    return host_of(c, product.view());
}

template <class V>
void check_pair(const Context& c, Op op_a, Op op_b, bool shuffled, unsigned one_in)
{
    const auto given = [&](const HostCsr<V>& m, Op op) {
        const HostCsr<V> stored = op == Op::transpose ? transposed(m) : m;
        return shuffled ? shuffled_with_duplicates(stored, 7) : stored;
    };
    const auto a = given(left<V>(1), op_a), b = given(right<V>(2), op_b);
    HostCsr<V> a2 = a, b2 = b;
    for (V& v : a2.value) v = V(3) - v;
    for (V& v : b2.value) v = V(1) - 2 * v;
    const auto a_there = to_device(c, a.view()), b_there = to_device(c, b.view()), a2_there = to_device(c, a2.view()),
               b2_there = to_device(c, b2.view());
    const SparseProduct want =
        oracle_product(op_a == Op::transpose ? transposed(a2) : a2, op_b == Op::transpose ? transposed(b2) : b2);
    std::vector<std::optional<Policy>> policies{std::nullopt};
    for (const Policy& p : candidates({c.backend(), c.host().threads})) policies.emplace_back(p);
    for (const auto& policy : policies)
        for (const bool sorted : {true, false})
            for (const NumericReuse refill : {NumericReuse::find_places, NumericReuse::keep_places,
                                              NumericReuse::keep_products, NumericReuse::fastest})
                for (const Way way : all_ways) {
                    if (way != Way::refill && way != Way::plan && refill != NumericReuse::find_places) continue;
                    if (policy && refill != NumericReuse::find_places && !is_repeatable(*policy, c.backend())) continue;
                    const std::string what =
                        std::string(sizeof(V) == 4 ? "f32" : "f64") + (op_a == Op::transpose ? ", A transposed" : "") +
                        (op_b == Op::transpose ? ", B transposed" : "") + (shuffled ? ", shuffled, " : ", ") +
                        (policy ? to_text(*policy) : "chosen") + (sorted ? ", sorted, " : ", in any order, ") +
                        to_text(refill) + ", " + way_names[static_cast<int>(way)];
                    if (!is_drawn(what, policy && policy->method == Method::deltasparse ? 4 * one_in : one_in))
                        continue;
                    SCOPED_TRACE(what);
                    const auto got = multiply_by<V>(
                        c, way, a_there.view(), b_there.view(), a2_there.view(), b2_there.view(),
                        {.op_a = op_a, .op_b = op_b, .force = policy, .sorted = sorted, .refill = refill});
                    if (sorted) {
                        ASSERT_TRUE(matches(got, want));
                        ASSERT_TRUE(got.sorted);
                    } else {
                        ASSERT_TRUE(matches(in_order(got), want));
                    }
                }
}

TEST_P(SpgemmCombinationsOn, OfAllOptions)
{
    const auto c = ctx();
    for (const Op op_a : {Op::none, Op::transpose})
        for (const Op op_b : {Op::none, Op::transpose})
            for (const bool shuffled : {false, true}) {
                check_pair<double>(c, op_a, op_b, shuffled, 60);
                check_pair<float>(c, op_a, op_b, shuffled, 60);
            }
}

TULLE_ON_BACKENDS(SpgemmCombinationsOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI::spgemm
