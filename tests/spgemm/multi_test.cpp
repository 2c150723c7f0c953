// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// C = op(A) op(B) on teams of every kind: CPU queues, GPUs, streams of one GPU, and CPUs and GPUs together.
#include "spgemm/team/split_rows.hpp"
#include "tulle/spgemm_team.hpp"

#include <gtest/gtest.h>

#include <array>

#include "base/hash.hpp"
#include "spgemm/oracle.hpp"
#include "spgemm/products.hpp"
#include "support/battery.hpp"
#include "support/faults.hpp"
#include "support/teams.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::spgemm {
namespace {

using namespace tulle::test;

class SpgemmOnTeam : public OnTeam {};

TULLE_ON_TEAMS(SpgemmOnTeam);

// Parts that lie with the members, put together on the host.
template <class V>
HostCsr<V> joined(const Team& team, const TeamPlan<V>& plan, const std::vector<Csr<V>>& parts)
{
    HostCsr<V> all;
    all.rows = plan.rows();
    all.cols = plan.cols();
    all.row_begin.assign(1, 0);
    for (int m = 0; m < team.size(); ++m) {
        const HostCsr<V> part = host_of(team[m], parts[static_cast<std::size_t>(m)].view());
        EXPECT_EQ(static_cast<index_t>(all.row_begin.size()) - 1, plan.first_row(m));
        const offset_t base = all.row_begin.back();
        for (std::size_t i = 1; i < part.row_begin.size(); ++i) all.row_begin.push_back(base + part.row_begin[i]);
        all.col.insert(all.col.end(), part.col.begin(), part.col.end());
        all.value.insert(all.value.end(), part.value.begin(), part.value.end());
    }
    EXPECT_EQ(plan.first_row(team.size()), plan.rows());
    return all;
}

template <class V>
HostCsr<V> on_host(const Csr<V>& c)
{
    return host_of(Context::cpu(1), c.view());
}

template <class V>
void expect_equal(const HostCsr<V>& got, const HostCsr<V>& want)
{
    EXPECT_EQ(got.row_begin, want.row_begin);
    EXPECT_EQ(got.col, want.col);
    EXPECT_EQ(got.value, want.value);
}

TEST_P(SpgemmOnTeam, MatchesTheOracleWhereverCIsGathered)
{
    for (const auto& pair : products<double>(Values::integers)) {
        if (hash_of(1, pair.name.size(), pair.a.rows) % 2 != 0 || !is_drawn("team " + pair.name, 2)) continue;
        const std::array<int, 5> sizes{1, 2, 3, 5, 8};
        const int members = sizes[hash_of(3, pair.name.size(), pair.a.rows, pair.b.cols) % sizes.size()];
        SCOPED_TRACE(concat(pair.name, ", ", members, " members"));
        const SparseProduct want = oracle_product(pair.a, pair.b);
        const Team all = team(members);
        auto plan = TeamPlan<double>::make(all, pair.a.view(), pair.b.view());
        EXPECT_EQ(plan.nonzeros(), want.nonzeros());
        const HostCsr<double> c = on_host(plan.run());
        ASSERT_TRUE(matches(c, want));
        expect_equal(host_of(all[members - 1], plan.run_on(members - 1)), c);
        expect_equal(joined(all, plan, plan.run_parts()), c);
    }
}

TEST_P(SpgemmOnTeam, MatchesTheOracleWithEveryPolicy)
{
    if (GetParam() == "mixed") GTEST_SKIP() << "few policies exist on CPUs and GPUs";
    const Team all = team(3);
    for (const auto& pair : products<float>(Values::reals)) {
        if (hash_of(pair.name.size(), pair.a.rows, pair.b.cols) % 4 != 0 || !is_drawn("team policies " + pair.name, 3))
            continue;
        const SparseProduct want = oracle_product(pair.a, pair.b);
        for (const Policy& policy : candidates({all[0].backend(), all[0].host().threads})) {
            if (policy.method == Method::deltasparse &&
                (slow_by_blocks(pair) || !is_drawn("team blocks " + pair.name, 3)))
                continue;
            if (!is_drawn("team of " + GetParam() + " " + pair.name + to_text(policy), 1))
                continue;  // half of them before sanitizers, others for other teams
            SCOPED_TRACE(concat(pair.name, ", ", to_text(policy)));
            ASSERT_TRUE(matches(on_host(multiply(all, pair.a.view(), pair.b.view(), {.force = policy})), want));
        }
    }
}

TEST_P(SpgemmOnTeam, TransposesEitherFactor)
{
    const auto a = random_matrix<double>(30, 41, 0.1, Values::integers, 1),
               b = random_matrix<double>(41, 27, 0.1, Values::integers, 2);
    const auto at = transposed(a), bt = transposed(b);
    const SparseProduct want = oracle_product(a, b);
    const Team all = team(3);
    EXPECT_TRUE(matches(on_host(multiply(all, at.view(), b.view(), {.op_a = Op::transpose})), want));
    EXPECT_TRUE(matches(on_host(multiply(all, a.view(), bt.view(), {.op_b = Op::transpose})), want));
    EXPECT_TRUE(
        matches(on_host(multiply(all, at.view(), bt.view(), {.op_a = Op::transpose, .op_b = Op::transpose})), want));
}

// More members than rows, nothing at all, all of it in one row, rows at the end that nobody wants.
TEST_P(SpgemmOnTeam, WorksWithMoreMembersThanThereIsWork)
{
    const auto dense_row = matrix_where<double>(40, 60, Values::integers, 3,
                                                [](index_t i, index_t j) { return i == 17 || (i + j) % 41 == 0; });
    const auto empty_end = matrix_where<double>(50, 60, Values::integers, 4,
                                                [](index_t i, index_t j) { return i < 9 && (i * j) % 5 == 1; });
    const auto b = random_matrix<double>(60, 60, 0.1, Values::integers, 5), none = csr_of<double>(60, 60, {});
    const std::vector<std::pair<HostCsr<double>, HostCsr<double>>> cases{
        {csr_of<double>(2, 60, {{0, 3, 2.0}, {1, 7, 1.0}}), b},
        {csr_of<double>(0, 60, {}), b},
        {csr_of<double>(9, 60, {}), b},
        {csr_of<double>(5, 0, {}), csr_of<double>(0, 4, {})},
        {csr_of<double>(1, 1, {{0, 0, 3.0}}), csr_of<double>(1, 1, {{0, 0, 5.0}})},
        {dense_row, b},
        {empty_end, b},
        {dense_row, none}};
    for (const auto& [left, right] : cases)
        for (const int members : {2, 7}) {
            SCOPED_TRACE(
                concat(left.rows, " x ", left.cols, " with ", left.col.size(), " nonzeros, ", members, " members"));
            auto plan = TeamPlan<double>::make(team(members), left.view(), right.view());
            ASSERT_TRUE(matches(on_host(plan.run()), oracle_product(left, right)));
            index_t counted = 0, filled = 0;
            offset_t products = 0, nonzeros = 0;
            for (const TeamPart& part : plan.parts()) {
                counted += part.symbolic_rows;
                filled += part.numeric_rows;
                products += part.products;
                nonzeros += part.nonzeros;
            }
            EXPECT_EQ(counted, left.rows);  // every row has one owner in either phase
            EXPECT_EQ(filled, left.rows);
            EXPECT_EQ(products, plan.products());
            EXPECT_EQ(nonzeros, plan.nonzeros());
        }
}

// Rows whose products fall together, the first half or the last: dealt out by products they are not dealt out by
// nonzeros, so rows change hands, forwards or backwards.
Pair<double> lopsided(Values values, bool first = true)
{
    const auto a = matrix_where<double>(60, 80, values, 5, [=](index_t i, index_t j) {
        return (i < 30) == first ? j < 12 : (i + j) % 9 == 0;
    });
    const auto b = matrix_where<double>(80, 300, values, 6,
                                        [](index_t i, index_t j) { return i < 12 ? j < 10 : (3 * i + j) % 20 == 0; });
    return {"lopsided", a, b};
}

TEST_P(SpgemmOnTeam, DealsRowsOutAgainByNonzeros)
{
    for (const bool first : {true, false}) {
        const auto pair = lopsided(Values::integers, first);
        auto plan = TeamPlan<double>::make(team(4), pair.a.view(), pair.b.view());
        ASSERT_TRUE(matches(on_host(plan.run()), oracle_product(pair.a, pair.b)));
        EXPECT_LT(plan.symbolic_imbalance(), 1.2);
        EXPECT_LT(plan.numeric_imbalance(), 1.2);
        offset_t moved = 0;
        for (const TeamPart& part : plan.parts()) moved += part.moved;
        EXPECT_GT(moved, 0) << "nobody got other rows to fill than it counted";
    }
}

// The same bits for any number of members, with either way of cutting; "mixed" teams add by other instructions on CPUs
// than on GPUs.
TEST_P(SpgemmOnTeam, GivesTheSameBitsForAnyNumberOfMembers)
{
    if (GetParam() == "mixed") GTEST_SKIP() << "GPUs fuse multiplication and addition, CPUs need not";
    const auto runs = repeated(random_matrix<double>(20, 20, 0.2, Values::reals, 33), 3, Values::reals);
    const std::vector<Pair<double>> pairs{lopsided(Values::reals),
                                          {"runs", runs, runs},
                                          long_row<double>("1500 columns", 25, 100, 60, 800, Values::reals)};
    for (const auto& pair : pairs) {
        const HostCsr<double> alone = on_host(multiply(team(1, true), pair.a.view(), pair.b.view()));
        for (const int members : {2, 3, 7, 8})
            for (const CutMethod cut_method : {CutMethod::search, CutMethod::scan}) {
                SCOPED_TRACE(concat(pair.name, ", ", members, " members"));
                expect_equal(on_host(multiply(team(members, true), pair.a.view(), pair.b.view(),
                                              {.cut_method = cut_method})),
                             alone);
            }
    }
    EXPECT_THROW(multiply(team(2, true), pairs[0].a.view(), pairs[0].b.view(),
                          {.force = Policy{Method::nsparse, false}}),
                 ValueError);
}

TEST_P(SpgemmOnTeam, TakesNewValues)
{
    const auto pair = lopsided(Values::integers);
    const auto square = random_matrix<double>(50, 50, 0.1, Values::integers, 9),
               unsorted = shuffled_with_duplicates(square, 3);
    for (const auto& [a, b] : {std::pair(pair.a, pair.b), std::pair(square, square), std::pair(unsorted, unsorted)}) {
        auto a2 = a, b2 = b;
        for (double& v : a2.value) v *= 3;
        for (double& v : b2.value) v -= 2;
        auto plan = TeamPlan<double>::make(team(3), a.view(), b.view(), {.checked = false});
        ASSERT_TRUE(matches(on_host(plan.run()), oracle_product(a, b)));
        plan.update_values(a2.view(), b2.view());
        ASSERT_TRUE(matches(on_host(plan.run()), oracle_product(a2, b2)));
        EXPECT_THROW(plan.update_values(pair.b.view(), b2.view()), PlanMismatch);
    }
}

TEST_P(SpgemmOnTeam, RefillsPartsInPlace)
{
    const auto pair = lopsided(Values::reals);
    auto a2 = pair.a, b2 = pair.b;
    for (double& v : a2.value) v *= 3;
    for (double& v : b2.value) v -= 2;
    for (const NumericReuse way :
         {NumericReuse::find_places, NumericReuse::keep_places, NumericReuse::keep_products, NumericReuse::fastest}) {
        const Team members = team(3);
        auto plan = TeamPlan<double>::make(members, pair.a.view(), pair.b.view(), {.refill = way});
        auto parts = plan.run_parts();
        const auto first = joined(members, plan, parts);
        for (int times = 0; times < 2; ++times) {  // places are noted by the first refill
            plan.update_values(a2.view(), b2.view());
            plan.run_parts(parts);
            expect_equal(joined(members, plan, parts), joined(members, plan, plan.run_parts()));
            plan.update_values(pair.a.view(), pair.b.view());
            plan.run_parts(parts);
            expect_equal(joined(members, plan, parts), first);
        }
        std::swap(parts.front(), parts.back());
        EXPECT_THROW(plan.run_parts(parts), PlanMismatch);
        parts.pop_back();
        EXPECT_THROW(plan.run_parts(parts), PlanMismatch);
    }
    if (GetParam() == "cpu" || GetParam() == "mixed") return;
    for (const NumericReuse way : {NumericReuse::keep_places, NumericReuse::keep_products})
        EXPECT_THROW(TeamPlan<double>::make(team(2), pair.a.view(), pair.b.view(),
                                            {.force = Policy{Method::nsparse, false}, .refill = way}),
                     ValueError);
}

// A times itself: a member gets the matrix once, as B, and its rows of A are a slice of that.
TEST_P(SpgemmOnTeam, SendsASquareOnce)
{
    const auto a = random_matrix<double>(60, 60, 0.1, Values::integers, 9);
    const auto copy = a;
    auto plan = TeamPlan<double>::make(team(3), a.view(), a.view()),
         other = TeamPlan<double>::make(team(3), a.view(), copy.view());
    const auto matrix =
        static_cast<std::size_t>(a.view().nonzeros) * (sizeof(double) + sizeof(index_t)) + 61 * sizeof(offset_t);
    const std::size_t sent = GetParam() == "cpu" ? 0 : GetParam() == "mixed" ? 2 : 3;
    EXPECT_GE(plan.traffic().host_to_device, sent * matrix);
    EXPECT_LE(plan.traffic().host_to_device, sent * (matrix + 2 * 62 * sizeof(offset_t)));
    EXPECT_TRUE(sent == 0 || other.traffic().host_to_device > plan.traffic().host_to_device);
    expect_equal(on_host(plan.run()), on_host(other.run()));
    EXPECT_TRUE(sent < 3 || plan.traffic().device_to_host ==
                                static_cast<std::size_t>(plan.nonzeros()) * 12 + 60 * sizeof(offset_t));
    std::size_t held = 0;
    for (const TeamPart& part : plan.parts()) held += part.bytes;
    EXPECT_GE(plan.bytes(), held + 2 * 61 * sizeof(offset_t));  // and products and offsets of all rows on the host
    plan.reset_traffic();
    EXPECT_EQ(plan.traffic().host_to_device + plan.traffic().device_to_host, 0u);
}

TEST_P(SpgemmOnTeam, SurvivesFailedAllocations)
{
    const auto pair = lopsided(Values::integers);
    const Team members = team(2);
    expect_clean_failures(members[1], [&] { TeamPlan<double>::make(members, pair.a.view(), pair.b.view()).run(); });
    auto plan = TeamPlan<double>::make(members, pair.a.view(), pair.b.view());
    expect_clean_failures(members[1], [&] { plan.run_on(1); });
    expect_clean_failures(members[1], [&] { plan.run_parts(); });
    ASSERT_TRUE(matches(on_host(plan.run()), oracle_product(pair.a, pair.b)));  // and goes on as if nothing had been
}

TEST_P(SpgemmOnTeam, SaysWhatIsWrongAndWhatItDoes)
{
    auto a = random_matrix<double>(20, 30, 0.2, Values::integers, 1);
    const auto b = random_matrix<double>(30, 20, 0.2, Values::integers, 1);
    EXPECT_THROW(multiply(team(2), a.view(), a.view()), ShapeError);
    EXPECT_THROW(multiply(team(2), a.view(), b.view(),
                          {.force = Policy{GetParam() == "cpu" ? Method::nsparse : Method::dense, false}}),
                 ValueError);
    auto plan = TeamPlan<double>::make(team(2), a.view(), b.view(), {.take_turns = true});
    EXPECT_THROW(plan.run_on(2), ValueError);
    EXPECT_THROW(plan.run_on(-1), ValueError);
    EXPECT_THROW(plan.first_row(3), ValueError);
    plan.run();
    for (const TeamPart& part : plan.parts()) {
        EXPECT_GT(part.symbolic_seconds, 0);
        EXPECT_GT(part.numeric_seconds, 0);
    }
    const std::string text = plan.describe();
    for (const char* word : {"team of 2", "20 x 30 times 30 x 20", "dealt out by products", "dealt out by nonzeros",
                             GetParam() == "cpu" ? "cpu:2" : "adaptive"})
        EXPECT_NE(text.find(word), std::string::npos) << word << " in\n" << text;
    a.col[7] = 30;
    EXPECT_THROW(multiply(team(2), a.view(), b.view()), ValueError);
}

// ---- the two ways of cutting ----

TEST(SpgemmCuts, ScanAndSearchGiveTheSame)
{
    std::vector<Context> places{Context::cpu(3)};
    if (why_no_cuda().empty()) places.push_back(Context::cuda(0));
    for (const Context& ctx : places)
        for (std::uint64_t seed = 0; seed < 40; ++seed) {
            const auto rows = static_cast<offset_t>(below(hash_of(seed, 1), seed < 20 ? 12 : 700));
            std::vector<offset_t> prefix{0};
            for (offset_t i = 0; i < rows; ++i)
                prefix.push_back(prefix.back() +
                                 (below(hash_of(seed, 2, i), 3) == 0
                                      ? 0
                                      : static_cast<offset_t>(below(hash_of(seed, 3, i), seed % 2 == 0 ? 9 : 100000))));
            const Buffer<offset_t> there = to_device(ctx, std::span<const offset_t>(prefix));
            for (const int parts : {1, 2, 3, 7, 8, 64}) {
                SCOPED_TRACE(concat(ctx.name(), ", seed ", seed, ", ", rows, " rows in ", parts));
                const auto cut = [&](CutMethod how) {
                    return ctx.run([&](const auto& q) { return cut_rows(q, there.data(), rows, parts, how); });
                };
                EXPECT_EQ(cut(CutMethod::scan), cut(CutMethod::search));
            }
        }
    EXPECT_THROW(cut_rows(CpuQueue(1), std::vector<offset_t>{0}.data(), 0, 0, CutMethod::scan), ValueError);
}

}  // namespace
}  // namespace tulle::inline TULLE_ABI::spgemm
