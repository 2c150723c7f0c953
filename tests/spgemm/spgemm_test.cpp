// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// C = op(A) op(B) on every backend with every policy, against the oracle.
#include "tulle/spgemm.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "spgemm/oracle.hpp"
#include "spgemm/products.hpp"
#include "support/backends.hpp"
#include "support/battery.hpp"
#include "support/faults.hpp"
#include "support/older_gpu.hpp"
#include "tulle/convert.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::spgemm {
namespace {

using namespace tulle::test;

class SpgemmOn : public OnBackend {};

Limits limits_of(const Context& ctx) { return {ctx.backend(), ctx.host().threads}; }

// Policies for one of the products. On a simulated GPU nsparse takes long for long rows, too: it compares all columns
// of a row with each other.
template <class V>
std::vector<Policy> policies_for(const Context& ctx, const Pair<V>& pair)
{
    std::vector<Policy> all = candidates(limits_of(ctx));
    if (ctx.backend() != Backend::cuda) return all;
    const bool long_rows = build::simulated && pair.b.col.size() > 30000;
    if (slow_by_blocks(pair) || !is_drawn("blocks " + pair.name, 5))
        std::erase_if(all, [](const Policy& p) { return p.method == Method::deltasparse; });
    if (long_rows) std::erase_if(all, [](const Policy& p) { return p.method == Method::nsparse; });
    return all;
}

template <class V>
void check_policies(const Context& ctx, const Pair<V>& pair)
{
    const auto a = to_device(ctx, pair.a.view()), b = to_device(ctx, pair.b.view());
    const SparseProduct want = oracle_product(pair.a, pair.b);
    for (const Policy& policy : policies_for(ctx, pair)) {
        SCOPED_TRACE(pair.name + ": " + to_text(policy));
        const Csr<V> c = multiply(ctx, a.view(), b.view(), {.force = policy});
        ASSERT_TRUE(matches(host_of(ctx, c.view()), want));
    }
}

TEST_P(SpgemmOn, MatchesTheOracle)
{
    const auto c = ctx();
    for (const auto& pair : products<double>(Values::reals)) check_policies(c, pair);
}

// Rows that are too long for the tables and windows of GPUs whose blocks may have less shared memory: the same bits as
// elsewhere.
template <class V>
void check_older_gpus(const Context& ctx)
{
    for (const auto& pair : {long_row<V>("3000 columns", 30, 150, 100, 333, Values::reals),
                             long_row<V>("9000 columns of 873000", 20, 700, 450, 90, Values::reals)}) {
        const auto a = to_device(ctx, pair.a.view()), b = to_device(ctx, pair.b.view());
        const SparseProduct want = oracle_product(pair.a, pair.b);
        const auto newest = host_of(ctx, multiply(ctx, a.view(), b.view()));
        for (const int compute : {80, 86}) {
            SCOPED_TRACE(pair.name + ", compute capability " + std::to_string(compute));
            const OlderGpu gpu(compute);
            auto plan = Plan<V>::make(ctx, a.view(), b.view());
            const Csr<V> first = plan.run();
            const auto c = host_of(ctx, first.view());
            EXPECT_TRUE(matches(c, want));
            EXPECT_TRUE(same_bits(c.value, newest.value));
            const Policy at_once{.columns_first = false};  // columns and values of long rows in one kernel
            EXPECT_TRUE(matches(host_of(ctx, multiply(ctx, a.view(), b.view(), {.force = at_once})), want));
            const Policy delta{Method::deltasparse, false, {.grouping = delta::Grouping::grouped, .dense_share = 0}};
            EXPECT_TRUE(matches(host_of(ctx, multiply(ctx, a.view(), b.view(), {.force = delta})), want));
        }
    }
}

TEST_P(SpgemmOn, OlderGpusHaveLessSharedMemory)
{
    const auto c = ctx();
    if (c.backend() == Backend::cpu) GTEST_SKIP() << "about GPUs";
    check_older_gpus<double>(c);
    if (!simt::under_tsan) check_older_gpus<float>(c);
}

// Without the sort: the same entries with the same bits, in rows that say what they are.
TEST(SpgemmOnCpu, LeavesRowsUnsortedWhereNobodyAsksForMore)
{
    const auto a = random_matrix<double>(200, 150, 0.1, Values::reals, 3),
               b = random_matrix<double>(150, 180, 0.1, Values::reals, 4);
    for (const int threads : {1, 3}) {
        const Context c = Context::cpu(threads);
        const Csr<double> sorted = multiply(c, a.view(), b.view());
        auto plan = Plan<double>::make(c, a.view(), b.view(), {.sorted = false});
        Csr<double> plain = plan.run();
        EXPECT_TRUE(sorted.sorted);
        EXPECT_FALSE(plain.sorted);
        EXPECT_TRUE(plain.unique);
        const auto is_sorted = [&](index_t i) {
            return std::is_sorted(plain.col.data() + plain.row_begin.data()[i],
                                  plain.col.data() + plain.row_begin.data()[i + 1]);
        };
        EXPECT_FALSE(is_sorted(0) && is_sorted(1) && is_sorted(2)) << "sorted for nothing";
        const Csr<double> ordered = sort_rows(c, plain.view());
        EXPECT_TRUE(std::ranges::equal(ordered.col.span(), sorted.col.span()));
        EXPECT_TRUE(std::ranges::equal(ordered.value.span(), sorted.value.span())) << "the same bits";
        auto doubled = a;
        for (double& v : doubled.value) v *= 2;
        plan.update_values(doubled.view(), b.view());
        const std::vector<double> before(plain.value.data(), plain.value.data() + plain.value.size());
        plan.run(plain);
        for (std::size_t k = 0; k < before.size(); ++k) ASSERT_EQ(plain.value.data()[k], 2 * before[k]);
    }
}

// An array as long as a row is not made for a matrix with hardly an entry.
TEST(SpgemmOnCpu, UnsortedRowsOfHugeMatricesTakeLittleMemory)
{
    constexpr index_t huge = max_index - 1;
    const std::vector<offset_t> a_begin{0, 2}, b_begin{0, 2, 4};
    const std::vector<index_t> a_col{0, 1}, b_col{5, huge - 1, 5, 7};
    const std::vector<double> value{1, 2, 3, 4};
    const CsrView<double> a{
        .rows = 1, .cols = 2, .nonzeros = 2, .row_begin = a_begin.data(), .col = a_col.data(), .value = value.data()};
    const CsrView<double> b{.rows = 2,
                            .cols = huge,
                            .nonzeros = 4,
                            .row_begin = b_begin.data(),
                            .col = b_col.data(),
                            .value = value.data()};
    const auto plan = Plan<double>::make(Context::cpu(2), a, b, {.sorted = false});
    EXPECT_LT(plan.memory().workspace, 100'000u);
    EXPECT_EQ(plan.run().nonzeros(), 3);
}

TEST_P(SpgemmOn, MatchesTheOracleInSinglePrecision)
{
    if (simt::under_tsan) GTEST_SKIP() << "what numbers do is no race, and others run the same kernels";
    const auto c = ctx();
    for (const auto& pair : products<float>(Values::reals))
        if (is_drawn("float " + pair.name, 2)) check_policies(c, pair);
}

TEST_P(SpgemmOn, TransposesEitherFactor)
{
    const auto c = ctx();
    for (const auto& pair : products<double>(Values::integers)) {
        if (!is_drawn("transposed " + pair.name, 2)) continue;
        SCOPED_TRACE(pair.name);
        const SparseProduct want = oracle_product(pair.a, pair.b);
        const auto a = to_device(c, pair.a.view()), b = to_device(c, pair.b.view());
        const auto at = to_device(c, transposed(pair.a).view()), bt = to_device(c, transposed(pair.b).view());
        EXPECT_TRUE(matches(host_of(c, multiply(c, at.view(), b.view(), {.op_a = Op::transpose})), want));
        EXPECT_TRUE(matches(host_of(c, multiply(c, a.view(), bt.view(), {.op_b = Op::transpose})), want));
        EXPECT_TRUE(
            matches(host_of(c, multiply(c, at.view(), bt.view(), {.op_a = Op::transpose, .op_b = Op::transpose})),
                    want));
    }
}

TEST_P(SpgemmOn, PlansKnowTheSizeAndTakeNewValues)
{
    const auto c = ctx();
    for (const auto& pair : products<double>(Values::integers)) {
        if (!is_drawn("plan " + pair.name, 2)) continue;
        auto twice = pair;
        for (double& v : twice.a.value) v *= 2;
        for (double& v : twice.b.value) v += 1;
        const auto a = to_device(c, pair.a.view()), b = to_device(c, pair.b.view()), a2 = to_device(c, twice.a.view()),
                   b2 = to_device(c, twice.b.view());
        const SparseProduct want = oracle_product(pair.a, pair.b), want2 = oracle_product(twice.a, twice.b);
        const offset_t multiplications = Plan<double>::make(c, a.view(), b.view()).products();
        for (const Policy& policy : policies_for(c, pair)) {
            SCOPED_TRACE(pair.name + ": " + to_text(policy));
            auto plan = Plan<double>::make(c, a.view(), b.view(), {.force = policy});
            EXPECT_EQ(plan.nonzeros(), want.nonzeros());
            EXPECT_EQ(plan.products(), multiplications);
            EXPECT_EQ(plan.rows(), pair.a.rows);
            EXPECT_EQ(plan.cols(), pair.b.cols);
            EXPECT_EQ(plan.features().inner, pair.a.cols);
            EXPECT_EQ(plan.features().nonzeros_b, b.view().nonzeros);
            Csr<double> product = plan.run();
            EXPECT_EQ(product.bytes(), plan.memory().result);
            EXPECT_TRUE(matches(host_of(c, product.view()), want));
            plan.update_values(a2.view(), b2.view());
            plan.run(product);
            EXPECT_TRUE(matches(host_of(c, product.view()), want2));
            EXPECT_NE(plan.describe().find(to_text(policy)), std::string::npos);
        }
    }
}

TEST_P(SpgemmOn, UpdatesTransposedFactors)
{
    const auto c = ctx();
    const auto a = random_matrix<double>(40, 30, 0.2, Values::integers, 1),
               b = random_matrix<double>(50, 40, 0.2, Values::integers, 2);
    auto a2 = a, b2 = b;
    for (double& v : a2.value) v = 3 * v + 1;
    for (double& v : b2.value) v = 5 - v;
    const auto ta = to_device(c, a.view()), tb = to_device(c, b.view()), ta2 = to_device(c, a2.view()),
               tb2 = to_device(c, b2.view());
    auto plan = Plan<double>::make(c, ta.view(), tb.view(), {.op_a = Op::transpose, .op_b = Op::transpose});
    EXPECT_TRUE(matches(host_of(c, plan.run()), oracle_product(transposed(a), transposed(b))));
    plan.update_values(ta2.view(), tb2.view());
    EXPECT_TRUE(matches(host_of(c, plan.run()), oracle_product(transposed(a2), transposed(b2))));
}

TEST_P(SpgemmOn, GivesTheSameBitsEveryTime)
{
    const auto c = ctx();
    for (const auto& pair : products<double>(Values::reals)) {
        if (!is_drawn("bits " + pair.name, 2)) continue;
        SCOPED_TRACE(pair.name);
        const auto a = to_device(c, pair.a.view()), b = to_device(c, pair.b.view());
        const auto first = host_of(c, multiply(c, a.view(), b.view()));
        for (int k = 0; k < (build::simulated ? 1 : 5); ++k) {
            const auto again = host_of(c, multiply(c, a.view(), b.view()));
            ASSERT_EQ(first.col, again.col);
            for (std::size_t n = 0; n < first.value.size(); ++n) ASSERT_EQ(first.value[n], again.value[n]) << n;
        }
    }
}

TEST_P(SpgemmOn, NotANumberAndInfinityPassThrough)
{
    const auto c = ctx();
    const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
    const auto a = csr_of<double>(
        4, 4,
        {{0, 0, nan}, {0, 1, 1.0}, {1, 1, inf}, {1, 2, -1.0}, {2, 2, 0.0}, {2, 3, 1.0}, {3, 0, inf}, {3, 3, -inf}});
    const auto b =
        csr_of<double>(4, 3,
                       {{0, 0, 1.0}, {1, 0, 2.0}, {1, 1, -3.0}, {2, 0, inf}, {2, 2, 4.0}, {3, 0, 1.0}, {3, 1, -0.0}});
    const auto da = to_device(c, a.view()), db = to_device(c, b.view());
    for (const Policy& policy : candidates(limits_of(c)))
        EXPECT_TRUE(matches(host_of(c, multiply(c, da.view(), db.view(), {.force = policy})), oracle_product(a, b)));
}

TEST_P(SpgemmOn, ProductsThatCancelKeepTheirEntry)
{
    const auto c = ctx();
    const auto a = csr_of<double>(1, 2, {{0, 0, 1.0}, {0, 1, -1.0}}),
               b = csr_of<double>(2, 3, {{0, 1, 2.0}, {1, 1, 2.0}});
    const auto da = to_device(c, a.view()), db = to_device(c, b.view());
    const auto product = host_of(c, multiply(c, da.view(), db.view()));
    ASSERT_EQ(product.col, std::vector<index_t>{1});
    EXPECT_EQ(product.value[0], 0.0);
}

TEST_P(SpgemmOn, RefusesShapesThatDoNotFit)
{
    const auto c = ctx();
    const auto a = to_device(c, random_matrix<double>(5, 6, 0.5, Values::integers, 1).view()),
               b = to_device(c, random_matrix<double>(5, 6, 0.5, Values::integers, 2).view());
    EXPECT_THROW(multiply(c, a.view(), b.view()), ShapeError);
    EXPECT_NO_THROW(multiply(c, a.view(), b.view(), {.op_a = Op::transpose}));
    EXPECT_THROW(multiply(c, a.view(), b.view(), {.op_a = Op::transpose, .op_b = Op::transpose}), ShapeError);
}

TEST_P(SpgemmOn, RefusesDamagedMatricesAndOtherPlans)
{
    const auto c = ctx();
    auto damaged = random_matrix<double>(6, 6, 0.5, Values::integers, 1);
    const auto good = to_device(c, damaged.view());
    damaged.col[3] = 77;
    const auto bad = to_device(c, damaged.view());
    EXPECT_THROW(multiply(c, bad.view(), good.view()), ValueError);
    EXPECT_THROW(multiply(c, good.view(), bad.view()), ValueError);
    auto plan = Plan<double>::make(c, good.view(), good.view());
    const auto other = to_device(c, random_matrix<double>(6, 6, 0.9, Values::integers, 2).view());
    EXPECT_THROW(plan.update_values(other.view(), good.view()), PlanMismatch);
    EXPECT_THROW(plan.update_values(good.view(), other.view()), PlanMismatch);
    Csr<double> wrong = multiply(c, other.view(), other.view(), {.checked = false});
    ASSERT_NE(wrong.nonzeros(), plan.nonzeros());
    EXPECT_THROW(plan.run(wrong), PlanMismatch);
}

// Puts chunks together again, on the host, in memory that no context counts.
struct Joined {
    HostCsr<double> c;
    int chunks = 0;

    template <class T>
    static void append(const Context& ctx, const Buffer<T>& more, std::vector<T>& all)
    {
        const std::size_t before = all.size();
        all.resize(before + static_cast<std::size_t>(more.size()));
        ctx.run([&](const auto& q) { download(q, more.data(), all.data() + before, more.size()); });
    }

    void add(const Context& ctx, index_t first, const Csr<double>& rows)
    {
        EXPECT_EQ(first, static_cast<index_t>(c.row_begin.size()) - 1);
        const offset_t base = c.row_begin.back();
        c.row_begin.pop_back();
        append(ctx, rows.row_begin, c.row_begin);
        for (auto i = static_cast<std::size_t>(first); i < c.row_begin.size(); ++i) c.row_begin[i] += base;
        append(ctx, rows.col, c.col);
        append(ctx, rows.value, c.value);
        ++chunks;
    }
};

void expect_equal(const HostCsr<double>& got, const HostCsr<double>& want)
{
    EXPECT_EQ(got.row_begin, want.row_begin);
    EXPECT_EQ(got.col, want.col);
    EXPECT_EQ(got.value, want.value);
}

TEST_P(SpgemmOn, ChunksTogetherAreC)
{
    const auto c = ctx();
    for (const auto& pair : products<double>(Values::integers)) {
        if (!is_drawn("chunks " + pair.name, 2)) continue;
        SCOPED_TRACE(pair.name);
        const auto a = to_device(c, pair.a.view()), b = to_device(c, pair.b.view());
        Joined joined;
        for_each_chunk(c, a.view(), b.view(), [&](index_t first, Csr<double> rows) { joined.add(c, first, rows); });
        expect_equal(joined.c, host_of(c, multiply(c, a.view(), b.view())));
    }
}

// Rows merged from lists: beside C no more than where each row stands; others keep what they look at.
TEST_P(SpgemmOn, ShortRowsNeedLittleBesideC)
{
    const auto c = ctx();
    if (c.backend() == Backend::cpu) GTEST_SKIP() << "lists are of the GPU";
    const index_t rows = 3000;
    HostCsr<double> a{.rows = rows, .cols = rows, .row_begin = {0}, .col = {}, .value = {}};
    for (index_t i = 0; i < rows; ++i) {
        for (index_t j = std::max(i - 1, 0); j <= std::min(i + 1, rows - 1); ++j) a.col.push_back(j);
        a.row_begin.push_back(std::ssize(a.col));
    }
    a.value.assign(a.col.size(), 1);
    const auto there = to_device(c, a.view());
    const std::size_t before = c.memory().live(Space::device);
    c.memory().reset_peak();
    const Csr<double> product = multiply(c, there.view(), there.view(), {.checked = false});
    EXPECT_LE(c.memory().peak(Space::device) - before, product.bytes() + std::size_t{rows} * 8 + 4096)
        << "of C " << product.bytes();
}

// A few rows whose kernels look at facts, by ranks, by hash tables of a block and by its bitmap, do not keep those of
// all others.
TEST_P(SpgemmOn, FewRowsKeepFewFacts)
{
    const auto c = ctx();
    const index_t rows = 2000, apart = 10;
    const auto chosen = [](index_t i, index_t j) {
        return i == 7 ? j % 5 == 0 : i == 900 ? j < 50 : i == 1999 || i == j;
    };
    const auto a = matrix_where<double>(rows, rows, Values::integers, 51, chosen);
    const auto b = matrix_where<double>(rows, rows * apart, Values::integers, 52,
                                        [](index_t i, index_t j) { return j / apart == i && j % apart < 5; });
    const auto left = to_device(c, a.view()), right = to_device(c, b.view());
    const auto space = c.backend() == Backend::cpu ? Space::host : Space::device;
    for (const bool small : {true, false}) {
        const Options options{.force = c.backend() == Backend::cpu ? std::optional<Policy>{}
                                                                   : Policy{.use_runs = false, .at_once = small},
                              .checked = false};
        const std::size_t before = c.memory().live(space);
        c.memory().reset_peak();
        const Csr<double> product = multiply(c, left.view(), right.view(), options);
        const std::size_t beside = c.memory().peak(space) - before - product.bytes();
        if (c.backend() == Backend::cuda) {
            EXPECT_LE(beside, std::size_t{rows} * 8 + 4096) << "facts of all rows are " << rows * 16;
        }
        EXPECT_TRUE(matches(host_of(c, product.view()), oracle_product(a, b)));
    }
}

// More than fits at once: several chunks, never more than the budget, and the same C.
TEST_P(SpgemmOn, SmallBudgetsMeanManyChunks)
{
    const auto c = ctx();
    const auto a = repeated(matrix_where<double>(130, 130, Values::integers, 3,
                                                 [](index_t i, index_t j) { return std::abs(i - j) <= 4; }),
                            3, Values::integers);
    const auto there = to_device(c, a.view());
    const MemoryNeed need = Plan<double>::make(c, there.view(), there.view()).memory();
    const auto whole = host_of(c, multiply(c, there.view(), there.view()));
    const auto space = c.backend() == Backend::cpu ? Space::host : Space::device;
    const std::size_t budget = need.plan + need.workspace + need.result / 3 + 20000, before = c.memory().live(space);
    Joined joined;
    c.memory().reset_peak();
    for_each_chunk(c, there.view(), there.view(), [&](index_t first, Csr<double> rows) { joined.add(c, first, rows); },
                   {.checked = false, .budget = budget});
    EXPECT_GT(joined.chunks, 2);
    EXPECT_LE(c.memory().peak(space), before + budget);
    EXPECT_EQ(c.memory().budget(space), Memory::unlimited) << "the ceiling is taken away again";
    expect_equal(joined.c, whole);

    Joined spilled;  // kept on the host, all of them: the budget is the device's
    std::vector<Csr<double>> kept;
    const std::size_t room = c.backend() == Backend::cpu ? budget + need.result + 20000 : budget;
    for_each_chunk(c, there.view(), there.view(), [&](index_t, Csr<double> rows) { kept.push_back(std::move(rows)); },
                   {.checked = false, .budget = room, .to_host = true});
    for (const auto& rows : kept)
        spilled.add(Context::cpu(1), static_cast<index_t>(spilled.c.row_begin.size()) - 1, rows);
    expect_equal(spilled.c, whole);
    try {
        for_each_chunk(c, there.view(), there.view(), [](index_t, const Csr<double>&) {},
                       {.checked = false, .budget = 1000});
        FAIL() << "a thousand bytes are enough?";
    } catch (const OutOfMemory& fault) {
        EXPECT_GT(fault.needed(), 1000u);
    }
    EXPECT_EQ(c.memory().budget(space), Memory::unlimited);
}

// Whatever the budget: rows are refused before the first chunk, or all are delivered.
TEST(Spgemm, ABudgetThatAllowsTheFirstChunkAllowsAll)
{
    if (build::simulated) GTEST_SKIP() << "hundreds of products, all on the CPU";
    const Context c = Context::cpu(1);
    const auto a = to_device(c, random_matrix<double>(60, 60, 0.1, Values::integers, 8).view());
    const auto whole = multiply(c, a.view(), a.view());
    offset_t refused = 0, delivered = 0;
    for (std::size_t budget = 1000; budget < 60'000; budget += 97) {
        index_t rows = 0;
        try {
            for_each_chunk(c, a.view(), a.view(), [&](index_t, const Csr<double>& some) { rows += some.rows; },
                           {.checked = false, .budget = budget});
            EXPECT_EQ(rows, whole.rows);
            ++delivered;
        } catch (const OutOfMemory& e) {
            EXPECT_EQ(rows, 0) << "budget " << budget << ": " << e.what();
            ++refused;
        }
    }
    EXPECT_GT(refused, 0);
    EXPECT_GT(delivered, 0);
}

TEST_P(SpgemmOn, LeavesNothingBehindWhenMemoryRunsOut)
{
    if (simt::under_tsan) GTEST_SKIP() << "what is left is no race, and others run the same kernels";
    const auto c = ctx();
    const index_t n = build::simulated ? 15 : 40;  // dozens of products, each with another failure
    const auto a = shuffled_with_duplicates(random_matrix<double>(n, n, 0.2, Values::integers, 8), 3);
    const auto there = to_device(c, a.view()),
               small =
                   to_device(c,
                             shuffled_with_duplicates(random_matrix<double>(6, 6, 0.3, Values::integers, 8), 3).view());
    for (const Policy& policy : candidates(limits_of(c))) {
        SCOPED_TRACE(to_text(policy));
        expect_clean_failures(c, [&] {
            const auto view = policy.method == Method::deltasparse ? small.view() : there.view();
            multiply(c, view, view, {.op_a = Op::transpose, .force = policy});
        });
    }
    expect_clean_failures(c, [&] { Plan<double>::make(c, there.view(), there.view()).run(); });
    expect_clean_failures(c,
                          [&] { for_each_chunk(c, there.view(), there.view(), [](index_t, const Csr<double>&) {}); });
}

TULLE_ON_BACKENDS(SpgemmOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI::spgemm
