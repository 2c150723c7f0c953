// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Limits of narrow types and of tables, and columns near 2^31 in tiny matrices: every policy and every refill.
//
//     where                                      holds                                      switches at
//                                                           seen by
//     Places (places.hpp)                        places of 16 or 32 bits                    65536 nonzeros of a row of
//                                                C           LongRowsOfC…
//     most_list_columns, list_bits               column << 3 | list in 32 bits              cols 2^29 - 1
//                                                           ColumnsOfLists…
//     listed.hpp                                 nonzero of A << 32 | of B, sign: last      2^31, 2^32 nonzeros
//                                                           WordsOfProducts…
//     RunByte (runs.hpp)                         like, place, length in 8 bits              3 rows
//                                                           WordsOfRuns…
//     RowStats                                   products in 32 bits, saturated             2^32 - 1
//                                                           groups_test
//     small_map_, large_map_columns, at_once     bitmaps by width                           8192, 65536 columns
//                                                           near_limits, ColumnsOfBitmaps…
//     FoundColumns::at_key (refill.cu)           places in a part of C, 16 bits             parts of a row
//                                                           LongRowsOfC…
//     Digits of deltasparse/sort.cu              places of 16 bits, digits of a column      bits_for(cols)
//                                                           near_limits, hypersparse
//     hash tables                                columns of 31 bits, -1: vacant             cols 2^31 - 1
//                                                           hypersparse
#include <gtest/gtest.h>

#include "spgemm/adaptive/groups.hpp"
#include "spgemm/adaptive/runs.hpp"
#include "spgemm/products.hpp"
#include "spgemm/reuse/listed.hpp"
#include "support/backends.hpp"
#include "support/reserved.hpp"
#include "tulle/spgemm.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::spgemm {
namespace {

using namespace tulle::test;

class SpgemmLimitsOn : public OnBackend {};

// A CPU finds the places and products that are kept with an array as long as a row of C for each thread.
bool needs_all_columns(const Context& c, const Pair<double>& pair)
{
    return c.backend() == Backend::cpu && pair.b.cols > 1 << 22;
}

// Each policy fills C, and each refill fills it again.
void check_filled_twice(const Context& c, const Pair<double>& pair, const std::vector<Policy>& policies,
                        unsigned one_in)
{
    const auto a = to_device(c, pair.a.view()), b = to_device(c, pair.b.view());
    const SparseProduct want = oracle_product(pair.a, pair.b);
    for (const Policy& policy : policies)
        for (const NumericReuse refill :
             {NumericReuse::find_places, NumericReuse::keep_places, NumericReuse::keep_products}) {
            if (refill != NumericReuse::find_places &&
                (!is_repeatable(policy, c.backend()) || needs_all_columns(c, pair)))
                continue;
            const std::string what = pair.name + ": " + to_text(policy) + ", " + to_text(refill);
            if (!is_drawn(what, one_in)) continue;
            SCOPED_TRACE(what);
            auto plan = Plan<double>::make(c, a.view(), b.view(), {.force = policy, .refill = refill});
            Csr<double> product = plan.run();
            ASSERT_TRUE(matches(host_of(c, product.view()), want));
            c.run([&](const auto& q) { fill_zero(q, product.value.data(), product.nonzeros()); });
            plan.run(product);
            ASSERT_TRUE(matches(host_of(c, product.view()), want)) << "filled again";
        }
}

std::vector<Policy> policies_for_width(const Context& c, bool wide)
{
    std::vector<Policy> all = candidates({c.backend(), c.host().threads});
    if (!wide) return all;
    std::erase_if(all, [](const Policy& p) {
        return p.method == Method::dense;
    });  // an array as long as a row of C, by definition
    return all;
}

// The rows of `b` in several combinations, so that rows of C have one, few and many of them, and equal neighbours.
Pair<double> multiplied(const std::string& name, const HostCsr<double>& b)
{
    const index_t n = b.rows;
    return {name,
            matrix_of_columns<double>(n + 6, n, 71,
                                      [n](index_t i) {
                                          std::vector<index_t> col;
                                          for (index_t j = 0; j < n; ++j)
                                              if (i == n ? j < 40
                                                  : i > n
                                                      ? j % 3 == i % 2
                                                      : j == i || j == (i * 3 + 1) % n || (i % 4 == 0 && j % 8 == 0))
                                                  col.push_back(j);
                                          return col;
                                      }),
            b};
}

TEST_P(SpgemmLimitsOn, DimensionsAndDistancesAtTheEndsOf8And16Bits)
{
    const auto c = ctx();
    for (const auto& [name, b] : near_limits<double>())
        check_filled_twice(c, multiplied(name, b), policies_for_width(c, false), 2);
}

TEST_P(SpgemmLimitsOn, ColumnsUpTo31Bits)
{
    const auto c = ctx();
    for (const auto& [name, b] : hypersparse<double>())
        check_filled_twice(c, multiplied(name, b), policies_for_width(c, true), 3);
    for (const auto& [name, b] : hypersparse<double>()) {  // and what is chosen for it
        const auto pair = multiplied(name, b);
        const auto there_a = to_device(c, pair.a.view()), there_b = to_device(c, pair.b.view());
        ASSERT_TRUE(matches(host_of(c, multiply(c, there_a.view(), there_b.view())), oracle_product(pair.a, pair.b)))
            << name;
    }
}

// Widths at which bitmaps, lists and small products give way to something else.
TEST_P(SpgemmLimitsOn, ColumnsOfListsAndBitmaps)
{
    const auto c = ctx();
    for (const index_t limit : {small_map_columns, large_map_columns, map_block_columns, most_list_columns})
        for (const index_t n : {limit - 1, limit, limit + 1}) {
            const auto b = matrix_of_columns<double>(12, n, 81, [n](index_t i) {
                return i % 5 == 4 ? std::vector{n - 1} : std::vector{0, i + 1, n / 2 + i, n - 13 + i, n - 1};
            });
            auto few = multiplied(std::to_string(n) + " columns", b);
            check_filled_twice(c, few, policies_for_width(c, n > 1 << 22), 3);
        }
}

// Rows of C with 65535, 65536 and 65537 nonzeros: the last to be told by 16 bits, and the first that are not.
TEST_P(SpgemmLimitsOn, LongRowsOfCAtTheEndOf16Bits)
{
    const auto c = ctx();
    for (const index_t n : {65535, 65536, 65537}) {
        const auto b = matrix_of_columns<double>(3, n + 10, 83, [n](index_t i) {
            std::vector<index_t> col;
            for (index_t j = i == 0 ? 0 : i == 1 ? n / 2 : n - 3; j < (i == 0 ? n / 2 + 5 : n); ++j) col.push_back(j);
            return col;
        });
        const Pair<double> pair{std::to_string(n) + " nonzeros",
                                matrix_of_columns<double>(2, 3, 84,
                                                          [](index_t i) {
                                                              return i == 0 ? std::vector{0, 1, 2} : std::vector{2};
                                                          }),
                                b};
        check_filled_twice(c, pair,
                           {c.backend() == Backend::cuda ? Policy{.use_runs = false, .merge_lists = 0}
                                                         : Policy{Method::adaptive, true}},
                           build::simulated ? 5 : 1);
    }
}

TEST(SpgemmLimits, WordsOfProductsHoldAllOfThem)
{
    constexpr offset_t last_a = (offset_t{1} << 31) - 1, last_b = (offset_t{1} << 32) - 1;
    for (const offset_t a : {offset_t{0}, offset_t{65536}, last_a - 1, last_a})
        for (const offset_t b : {offset_t{0}, offset_t{65536}, offset_t{1} << 31, last_b - 1, last_b}) {
            EXPECT_EQ(of_a(listed(a, b)), a);
            EXPECT_EQ(of_b(listed(a, b)), b);
            EXPECT_FALSE(is_last(listed(a, b)));
            EXPECT_EQ(of_a(as_last(listed(a, b))), a);
            EXPECT_EQ(of_b(as_last(listed(a, b))), b);
            EXPECT_TRUE(is_last(as_last(listed(a, b))));
        }
    EXPECT_TRUE(can_list(last_a, last_b + 1));
    EXPECT_FALSE(can_list(last_a + 1, 1));
    EXPECT_FALSE(can_list(1, last_b + 2));
}

TEST(SpgemmLimits, WordsOfRunsHoldAllOfThem)
{
    for (const bool like : {false, true})
        for (int place = 0; place < run_limit; ++place)
            for (int length = 1; length <= run_limit; ++length) {
                const RunByte back = unpack(pack({like, place, length}));
                EXPECT_TRUE(back.like == like && back.place == place && back.length == length);
            }
}

TULLE_ON_BACKENDS(SpgemmLimitsOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI::spgemm
