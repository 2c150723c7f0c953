// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Choices without a device.
#include "tulle/spgemm.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tulle/error.hpp"

namespace tulle::inline TULLE_ABI::spgemm {
namespace {

TEST(SpgemmPolicy, ChoosesAmongTheCandidates)
{
    for (const Backend backend : {Backend::cpu, Backend::cuda})
        for (const index_t cols : {0, 1, 1000, 1 << 18, (1 << 18) + 1, max_index}) {
            const Limits limits{backend, 4};
            const auto all = candidates(limits);
            Choice choice = choose({.rows = 5, .inner = 5, .cols = cols}, limits);
            choice.policy.one_kernel = false;  // beside any of the others
            EXPECT_NE(std::find(all.begin(), all.end(), choice.policy), all.end()) << to_text(choice.policy);
            EXPECT_FALSE(choice.why.empty());
        }
}

TEST(SpgemmPolicy, UsesAnArrayWhereItStaysInTheCache)
{
    EXPECT_EQ(choose({.cols = 1000}, {Backend::cpu, 2}).policy.method, Method::dense);
    EXPECT_EQ(choose({.cols = 10'000'000}, {Backend::cpu, 2}).policy.method, Method::adaptive);
}

TEST(SpgemmPolicy, LooksForRunsWhereRowsAreNotShort)
{
    const auto use_runs = [](offset_t nonzeros) {
        return choose({.rows = 100'000, .inner = 100, .cols = 100, .nonzeros_a = nonzeros}, {Backend::cuda, 1})
            .policy.use_runs;
    };
    EXPECT_FALSE(use_runs(800'000));
    EXPECT_TRUE(use_runs(800'001));
}

TEST(SpgemmPolicy, DoesSmallProductsAtOnce)
{
    const auto choice = [](index_t rows, index_t cols, offset_t nonzeros) {
        return choose({.rows = rows, .inner = 100, .cols = cols, .nonzeros_a = nonzeros}, {Backend::cuda, 1}).policy;
    };
    EXPECT_TRUE(choice(11'397, 11'397, 150'645).at_once) << "cage10";
    EXPECT_FALSE(choice(11'397, 11'397, 150'645).use_runs);
    EXPECT_FALSE(choice(1 << 16, 11'397, 150'645).at_once) << "many rows";
    EXPECT_FALSE(choice(11'397, 65'537, 150'645).at_once) << "rows of C longer than a warp's bitmap";
    EXPECT_FALSE(choice(4'884, 4'884, 290'378).at_once) << "long rows: bcsstk16 has equal ones";
    EXPECT_TRUE(choice(8'192, 8'192, 49'094).at_once && choice(1'000, 1'000, 3'000).at_once)
        << "delaunay_n13, and few short rows";
    EXPECT_FALSE(choice(22'963, 22'963, 96'872).at_once) << "many short rows: as-22july06";
    EXPECT_FALSE(choose({.rows = 10, .inner = 10, .cols = 10}, {Backend::cpu, 1}).policy.at_once);
}

TEST(SpgemmPolicy, ForcedPoliciesMustExistThere)
{
    for (const Backend backend : {Backend::cpu, Backend::cuda})
        for (const Policy& p : candidates({backend, 2})) EXPECT_NO_THROW(check_policy(p, {backend, 2}));
    EXPECT_THROW(check_policy({Method::nsparse, false}, {Backend::cpu, 2}), ValueError);
    EXPECT_THROW(check_policy({Method::dense, true}, {Backend::cuda, 1}), ValueError);
    EXPECT_THROW(check_policy({Method::nsparse, false}, {Backend::cuda, 1, true}), ValueError)
        << "it adds in no fixed order";
    EXPECT_THROW(check_policy({Method::deltasparse, false}, {Backend::cuda, 1, true}), ValueError);
    EXPECT_NO_THROW(check_policy({Method::deltasparse, false}, {Backend::cpu, 1, true})) << "a thread adds in order";
    EXPECT_NO_THROW(check_policy({.merge_lists = 0, .columns_first = false}, {Backend::cuda, 1}));
    EXPECT_NO_THROW(check_policy({.use_runs = false, .merge_lists = 4, .cut_above = 512}, {Backend::cuda, 1}));
    EXPECT_THROW(check_policy({.merge_lists = 5}, {Backend::cuda, 1}), ValueError) << "kernels are for 4 and 8";
    EXPECT_THROW(check_policy({.cut_above = 32}, {Backend::cuda, 1}), ValueError) << "a thread merges so few at once";
    EXPECT_THROW(check_policy({.merge_lists = 0}, {Backend::cpu, 1}), ValueError) << "there is nothing to leave out";
    EXPECT_THROW(check_policy({.method = Method::nsparse, .use_runs = false, .columns_first = false},
                              {Backend::cuda, 1}),
                 ValueError);
    EXPECT_NO_THROW(
        check_policy({.method = Method::nsparse, .use_runs = false, .side_by_side = false}, {Backend::cuda, 1}));
    EXPECT_THROW(check_policy({.method = Method::deltasparse, .use_runs = false, .side_by_side = false},
                              {Backend::cuda, 1}),
                 ValueError);
    EXPECT_THROW(check_policy({.side_by_side = false}, {Backend::cpu, 1}), ValueError);
    EXPECT_THROW(check_policy({.ranks = false}, {Backend::cpu, 1}), ValueError);
    EXPECT_THROW(check_policy({.at_once = true}, {Backend::cuda, 1}), ValueError) << "equal rows are not looked for";
    EXPECT_THROW(check_policy({.one_kernel = true}, {Backend::cpu, 1}), ValueError) << "a kernel";
    EXPECT_THROW(check_policy({.method = Method::nsparse, .use_runs = false, .at_once = true}, {Backend::cuda, 1}),
                 ValueError);
    for (const Policy& p : candidates({Backend::cuda, 1, true})) EXPECT_TRUE(is_repeatable(p, Backend::cuda));
}

TEST(SpgemmPolicy, NamesAreReadBack)
{
    for (const Method m : {Method::adaptive, Method::dense, Method::hash, Method::nsparse, Method::deltasparse})
        EXPECT_EQ(parse_method(to_text(m)), m);
    EXPECT_THROW(parse_method("magic"), ValueError);
    EXPECT_NE(to_text(Policy{Method::adaptive, true}), to_text(Policy{Method::adaptive, false}));
    EXPECT_EQ(to_text(Policy{.use_runs = false, .merge_lists = 0, .columns_first = false}),
              "adaptive, each row for itself, no lists merged, long rows at once");
    EXPECT_EQ(to_text(Policy{.use_runs = false, .at_once = true}), "adaptive, each row for itself, at once");
    EXPECT_EQ(to_text(Policy{Method::deltasparse, false}), "deltasparse");
    EXPECT_EQ(to_text(Policy{Method::deltasparse, false, {delta::Grouping::plain, 200, 64}}),
              "deltasparse, plain, dense above 2.00 %, counted up to 64");
}

}  // namespace
}  // namespace tulle::inline TULLE_ABI::spgemm
