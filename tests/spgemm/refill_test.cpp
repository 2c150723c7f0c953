// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The values of a C that is there, computed once more: by places found again, by places kept, and by products listed.
// The bits must be those of a first fill.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "prim/scan.hpp"
#include "spgemm/products.hpp"
#include "spgemm/reuse/kept.hpp"
#include "support/backends.hpp"
#include "support/faults.hpp"
#include "tulle/memory.hpp"
#include "tulle/spgemm.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::spgemm {
namespace {

using namespace tulle::test;

class SpgemmRefill : public OnBackend {};

constexpr std::array ways{NumericReuse::find_places, NumericReuse::keep_places, NumericReuse::keep_products};
constexpr std::array keeping{NumericReuse::keep_places, NumericReuse::keep_products};

// Other numbers for the same pattern.
template <class V>
HostCsr<V> with_values(HostCsr<V> a, std::uint64_t seed)
{
    for (std::size_t k = 0; k < a.value.size(); ++k)
        a.value[k] = test_value<V>(Values::reals, seed, static_cast<index_t>(k % 1000), static_cast<index_t>(k / 1000));
    return a;
}

template <class V>
void spoil(const Context& ctx, Csr<V>& c)
{
    ctx.run([&](const auto& q) { fill_zero(q, c.value.data(), c.nonzeros()); });
}

// The first fill, then new values of A, of B, of both, and the old ones again: always what a plan of its own gives.
template <class V>
void check_refills(const Context& ctx, const Pair<V>& pair, const SparseProduct& product, const Options& options)
{
    const auto a = to_device(ctx, pair.a.view()), b = to_device(ctx, pair.b.view());
    const auto a2 = to_device(ctx, with_values(pair.a, 91).view()), b2 = to_device(ctx, with_values(pair.b, 92).view());
    auto plan = Plan<V>::make(ctx, a.view(), b.view(), options);
    Csr<V> c = plan.run();
    const auto first = host_of(ctx, c.view());
    ASSERT_TRUE(matches(first, product));
    for (const auto& [now_a, now_b] : {std::pair{&a2, &b}, {&a2, &b2}}) {
        plan.update_values(now_a->view(), now_b->view());
        spoil(ctx, c);
        plan.run(c);
        const auto got = host_of(ctx, c.view()),
                   want = host_of(ctx, multiply(ctx, now_a->view(), now_b->view(), {.force = options.force}));
        ASSERT_EQ(got.col, want.col);
        ASSERT_TRUE(same_bits(got.value, want.value));
    }
    plan.update_values(a.view(), b.view());
    plan.run(c);
    ASSERT_TRUE(same_bits(host_of(ctx, c.view()).value, first.value)) << "the old values again";
    ASSERT_TRUE(same_bits(host_of(ctx, plan.run()).value, first.value)) << "a C of its own after refills";
}

template <class V>
void check_refills(const Context& ctx, const Pair<V>& pair, const Options& options)
{
    check_refills(ctx, pair, oracle_product(pair.a, pair.b), options);
}

TEST_P(SpgemmRefill, GivesTheBitsOfAFirstFill)
{
    const auto c = ctx();
    for (const auto& pair : products<double>(Values::reals)) {
        const SparseProduct product = oracle_product(pair.a, pair.b);
        for (const NumericReuse way : ways) {
            if (!is_drawn("refill " + pair.name + to_text(way), 3)) continue;
            SCOPED_TRACE(pair.name + ", " + to_text(way));
            check_refills(c, pair, product, {.refill = way});
        }
    }
}

TEST_P(SpgemmRefill, GivesTheBitsOfAFirstFillInSinglePrecisionAndWithEveryPolicy)
{
    const auto c = ctx();
    for (const auto& pair : products<float>(Values::reals)) {
        const SparseProduct product = oracle_product(pair.a, pair.b);
        for (const Policy& policy : candidates({c.backend(), c.host().threads, true}))
            for (const NumericReuse way : ways) {
                if (!is_drawn("refill " + pair.name + to_text(policy) + to_text(way), 20)) continue;
                SCOPED_TRACE(pair.name + ", " + to_text(policy) + ", " + to_text(way));
                check_refills(c, pair, product, {.force = policy, .refill = way});
            }
    }
}

TEST_P(SpgemmRefill, RunsOfRows)
{
    const auto c = ctx();
    const auto a = repeated(matrix_where<double>(12, 12, Values::reals, 32,
                                                 [](index_t i, index_t j) { return std::abs(i - j) <= 2; }),
                            4, Values::reals);
    for (const NumericReuse way : ways) {
        Options options{.refill = way};
        if (c.backend() == Backend::cuda)
            options.force = Policy{Method::adaptive, true};  // a small product would look for no runs
        check_refills(c, Pair<double>{"", a, a}, options);
    }
}

// Rows of C from few nonzeros of A: short and long, with lists that are equal, follow each other, or need several
// turns.
TEST_P(SpgemmRefill, MergesLists)
{
    const auto c = ctx();
    std::vector<Pair<double>> pairs{lists_of_all_lengths<double>(90, 4, 12, 2000, Values::reals),
                                    lists_of_all_lengths<double>(70, 8, 12, 500, Values::reals),
                                    lists_of_all_lengths<double>(60, 4, 200, 3000, Values::reals),
                                    lists_of_all_lengths<double>(50, 8, 97, 300, Values::reals),
                                    long_row<double>("", 3, 96, 96, 2, Values::reals),
                                    long_row<double>("", 5, 130, 0, 3, Values::reals),
                                    crowded_lists<double>(Values::reals)};
    Options in_pieces;
    if (c.backend() == Backend::cuda) in_pieces.force = Policy{.use_runs = false, .cut_above = 64};
    for (const auto& pair : pairs) {
        check_refills(c, pair, in_pieces);
        if (c.backend() == Backend::cuda) check_refills(c, pair, {});
    }
}

TEST_P(SpgemmRefill, LongRowsOfCInParts)
{
    const auto c = ctx();
    const auto pair = long_row<double>("", 25, 100, 60, 800, Values::reals);
    for (const NumericReuse way : ways) check_refills(c, pair, {.refill = way});
}

// The columns of C are taken to be right. Where they are not, values are wrong, but nothing else is touched, and the
// plan is as good as before.
TEST_P(SpgemmRefill, AnotherCsColumnsDoNoHarm)
{
    if (simt::under_tsan)
        GTEST_SKIP()
            << "where products belong nowhere, two threads may add them at the same place: the values are nobody's";
    const auto c = ctx();
    std::vector<Pair<double>> pairs{long_row<double>("in parts", 25, 100, 60, 800, Values::reals),
                                    long_row<double>("hashed", 30, 40, 9, 1001, Values::reals)};
    const auto band = matrix_where<double>(60, 60, Values::reals, 3, [](index_t i, index_t j) {
        return std::abs(i - j) <= 18 && (i - j) % 2 == 0;
    });
    pairs.push_back({"ranked", band, band});
    pairs.push_back(lists_of_all_lengths<double>(40, 4, 200, 3000, Values::reals));
    const auto runs = repeated(matrix_where<double>(12, 12, Values::reals, 32,
                                                    [](index_t i, index_t j) { return std::abs(i - j) <= 2; }),
                               3, Values::reals);
    pairs.push_back({"runs", runs, runs});
    for (const auto& pair : pairs) {
        SCOPED_TRACE(pair.name);
        const auto a = to_device(c, pair.a.view()), b = to_device(c, pair.b.view());
        const auto plan = Plan<double>::make(c, a.view(), b.view());
        Csr<double> product = plan.run();
        const auto right = host_of(c, product.view());
        for (const index_t foreign :
             {0, pair.b.cols - 1, -1, -2}) {  // the same everywhere; the order turned round; moved together to the left
            std::vector<index_t> other(right.col.size());
            for (std::size_t i = 0; i < static_cast<std::size_t>(right.rows); ++i)
                for (auto k = static_cast<std::size_t>(right.row_begin[i]), first = k;
                     k < static_cast<std::size_t>(right.row_begin[i + 1]); ++k)
                    other[k] = foreign >= 0    ? foreign
                               : foreign == -1 ? pair.b.cols - 1 - right.col[k]
                                               : right.col[first] + static_cast<index_t>(k - first);
            c.run([&](const auto& q) { upload(q, other.data(), product.col.data(), product.col.size()); });
            plan.run(product);
            c.run([&](const auto& q) { upload(q, right.col.data(), product.col.data(), product.col.size()); });
            plan.run(product);
            ASSERT_TRUE(same_bits(host_of(c, product.view()).value, right.value)) << foreign;
        }
    }
}

// A C whose arrays are the caller's: what is kept is found in its columns at the first call.
TEST_P(SpgemmRefill, RunsIntoArraysOfTheCallers)
{
    const auto c = ctx();
    auto pairs = products<double>(Values::reals);
    pairs.push_back(
        {"aggregates",
         matrix_where<double>(90, 90, Values::reals, 8, [](index_t i, index_t j) { return std::abs(i - j) % 9 <= 1; }),
         matrix_where<double>(90, 23, Values::reals, 9, [](index_t i, index_t j) { return j == i / 4; })});
    pairs.push_back({"as many nonzeros as rows", pairs.back().a,
                     matrix_where<double>(90, 23, Values::reals, 9, [](index_t i, index_t j) {
                         return i % 2 == 0 && (j == i / 4 || j == (i / 4 + 5) % 23);
                     })});
    for (const auto& pair : pairs)
        for (const NumericReuse way : {NumericReuse::find_places, NumericReuse::keep_places,
                                       NumericReuse::keep_products, NumericReuse::fastest}) {
            if (!is_drawn("arrays of the caller's " + pair.name + to_text(way), 4)) continue;
            SCOPED_TRACE(pair.name + ", " + to_text(way));
            const auto a = to_device(c, pair.a.view()), b = to_device(c, pair.b.view());
            const auto a2 = to_device(c, with_values(pair.a, 91).view());
            auto plan = Plan<double>::make(c, a.view(), b.view(), {.refill = way});
            for (const auto* now : {&a, &a2}) {
                Csr<double> product = multiply(c, now->view(), b.view());
                const auto want = host_of(c, product.view());
                plan.update_values(now->view(), b.view());
                spoil(c, product);
                plan.run(product.col.data(), product.value.data());
                const auto got = host_of(c, product.view());
                ASSERT_EQ(got.col, want.col);
                ASSERT_TRUE(same_bits(got.value, want.value));
            }
        }
    const auto one = to_device(c, csr_of<double>(1, 1, {{0, 0, 2.0}}).view());
    const auto none = to_device(c, csr_of<double>(3, 3, {}).view());
    const auto plan = Plan<double>::make(c, one.view(), one.view());
    Csr<double> product = plan.run();
    EXPECT_THROW(plan.run(nullptr, product.value.data()), ValueError);
    EXPECT_THROW(plan.run(product.col.data(), nullptr), ValueError);
    EXPECT_NO_THROW(
        Plan<double>::make(c, none.view(), none.view(), {.refill = NumericReuse::keep_places}).run(nullptr, nullptr));
}

// Rows whose pattern follows from the row before have its places, whatever is between the ranges of such rows.
TEST(SpgemmRefills, RowsThatFollowFromEachOtherSharePlaces)
{
    const auto c = Context::cpu(2);
    const auto band = matrix_where<double>(300, 300, Values::reals, 4,
                                           [](index_t i, index_t j) { return std::abs(i - j) <= 2 && i % 50 != 7; });
    const auto nodes = repeated(matrix_where<double>(30, 30, Values::reals, 5,
                                                     [](index_t i, index_t j) { return (i * 7 + j * 3) % 11 < 2; }),
                                3, Values::reals);
    for (const auto* a : {&band, &nodes}) {
        const Pair<double> pair{"", *a, *a};
        check_refills(c, pair, {.refill = NumericReuse::keep_places});
        const auto plan = Plan<double>::make(c, a->view(), a->view(), {.refill = NumericReuse::keep_places});
        EXPECT_LT(plan.memory().refill, static_cast<std::size_t>(plan.products()) + 301 * sizeof(offset_t));
    }
}

// Columns that are another C's: values are wrong, nothing else is touched. The product of the last row falls into a
// column of the row before alone.
TEST(SpgemmRefills, PlacesInAnotherCsColumnsDoNoHarm)
{
    const auto c = Context::cpu(1);
    constexpr index_t width = 60;
    const auto a = csr_of<double>(2, 2, {{0, 0, 1.0}, {0, 1, 1.0}, {1, 1, 2.0}});
    const auto b =
        matrix_where<double>(2, width, Values::reals, 6, [](index_t i, index_t j) { return i == 0 || j == width - 1; });
    for (const index_t foreign : {0, -1, 1 << 30}) {
        const auto plan = Plan<double>::make(c, a.view(), b.view(), {.refill = NumericReuse::keep_places});
        ASSERT_EQ(plan.nonzeros(), width + 1);
        std::vector<index_t> col(width + 1, foreign);
        for (index_t j = 0; j < width; ++j) col[static_cast<std::size_t>(j)] = j;
        std::vector<double> value(2 * width + 1, 7.0);
        plan.run(col.data(), value.data());
        EXPECT_EQ(std::count(value.begin() + width + 1, value.end(), 7.0), width) << foreign;
    }
}

// Without memory for places, the fastest way keeps nothing; a way that is asked for is an error.
TEST(SpgemmRefills, TheFastestKeepsNothingWhereThereIsNoRoom)
{
    const auto c = Context::cpu(1);
    const auto a = matrix_where<double>(400, 400, Values::reals, 3,
                                        [](index_t i, index_t j) { return (i * 31 + j * 17) % 97 == 0; });
    const auto need = Plan<double>::make(c, a.view(), a.view()).memory();
    const std::size_t budget = need.plan + need.result + need.workspace + 100;
    EXPECT_THROW(Plan<double>::make(c, a.view(), a.view(), {.budget = budget, .refill = NumericReuse::keep_places}),
                 OutOfMemory);
    const auto plan = Plan<double>::make(c, a.view(), a.view(), {.budget = budget, .refill = NumericReuse::fastest});
    EXPECT_EQ(plan.memory().refill, 0u);
    EXPECT_NE(plan.describe().find("by the columns of C"), std::string::npos);
}

// 2^16 entries have 16-bit places, one more has 32-bit ones; a row of C among short ones, so that wide places begin at
// odd halves too.
TEST_P(SpgemmRefill, KnowsNarrowAndWidePlaces)
{
    const auto c = ctx();
    if (simt::under_tsan && c.backend() == Backend::cuda)
        GTEST_SKIP() << "the same kernels as in the other tests, for long";
    for (const index_t width : {index_t{narrow_limit} / 2, index_t{narrow_limit} / 2 + 1}) {
        if (c.backend() == Backend::cuda && !is_drawn("places of " + std::to_string(width), 2)) continue;
        std::vector<std::tuple<index_t, index_t, float>> a, b;
        for (const index_t i : {0, 2, 4}) a.insert(a.end(), {{i, 0, 1.5f}, {i, 1, -2.0f}, {i, 2, 0.25f}});
        for (const index_t i : {1, 3}) a.insert(a.end(), {{i, 2, 3.0f}, {i, 3, 2.0f}});
        for (index_t w = 0; w < width; ++w)
            b.insert(b.end(), {{0, 2 * w, static_cast<float>(w % 7)}, {1, 2 * w + 1, static_cast<float>(w % 5)}});
        a.emplace_back(3, 4, -1.0f);
        b.insert(b.end(),
                 {{2, 4, 1.0f}, {2, 7, 1.0f}, {2, 2 * width - 1, 1.0f}, {3, 7, 1.0f}, {3, 9, 1.0f}, {4, 11, 2.0f}});
        const Pair<float> pair{"", csr_of<float>(5, 5, a), csr_of<float>(5, 2 * width, b)};
        Options options{.refill = NumericReuse::keep_places};
        if (c.backend() == Backend::cuda)
            options.force = Policy{.use_runs = false, .merge_lists = 0};  // rows merged from lists keep no places
        check_refills(c, pair, options);
    }
}

TEST_P(SpgemmRefill, FactorsMayBeTransposedOrHaveDuplicates)
{
    const auto c = ctx();
    const auto a = shuffled_with_duplicates(random_matrix<double>(40, 30, 0.2, Values::reals, 1), 3),
               b = shuffled_with_duplicates(random_matrix<double>(50, 40, 0.2, Values::reals, 2), 4);
    const auto ta = to_device(c, a.view()), tb = to_device(c, b.view()), ta2 = to_device(c, with_values(a, 5).view()),
               tb2 = to_device(c, with_values(b, 6).view());
    for (const NumericReuse way : ways) {
        Options options{.op_a = Op::transpose,
                        .op_b = Op::transpose,
                        .sorted = way == NumericReuse::find_places,
                        .refill = way};  // places need an order
        auto plan = Plan<double>::make(c, ta.view(), tb.view(), options);
        Csr<double> product = plan.run();
        plan.update_values(ta2.view(), tb2.view());
        plan.run(product);
        options.refill = NumericReuse::find_places;
        options.sorted = true;
        const auto got = host_of(c, product.view()), want = host_of(c, multiply(c, ta2.view(), tb2.view(), options));
        EXPECT_EQ(got.col, want.col);
        EXPECT_TRUE(same_bits(got.value, want.value));
    }
}

// Entries of one product and of many; an entry that begins with one warp and ends with the next but one, between short
// ones.
TEST_P(SpgemmRefill, SumsOfListedProductsGoFromWarpToWarp)
{
    const auto c = ctx();
    for (const index_t inner : {1, 31, 32, 33, 511, 512, 513, 1100}) {
        std::vector<std::tuple<index_t, index_t, double>> a, b;
        for (const index_t i : {0, 1, 2})
            for (index_t k = 0; k < inner; ++k)
                if (i != 1 || k % 3 == 0) a.emplace_back(i, k, 1.0 / (1 + i + k));
        for (index_t k = 0; k < inner; ++k) {
            b.emplace_back(k, 2, 1.0 / (3 + k));
            if (k % 7 == 0) b.emplace_back(k, 1, 0.5 + k);
            if (k < 40) b.emplace_back(k, 3 + k, -1.0 - k);
        }
        b.emplace_back(0, 0, 3.0);
        check_refills(c, Pair<double>{"", csr_of<double>(4, inner, a), csr_of<double>(inner, 50, b)},
                      {.refill = NumericReuse::keep_products});
    }
}

// All rows at a time, some, and one by one: the same list as on a CPU. A row without nonzeros, one without products,
// one with most of them.
TEST_P(SpgemmRefill, ListsTheSameProductsHoweverManyAtATime)
{
    const auto c = ctx();
    const auto cpu = Context::cpu();
    auto host = random_matrix<double>(50, 50, 0.1, Values::reals, 12);
    const auto b_host = matrix_where<double>(50, 700, Values::reals, 5, [](index_t i, index_t j) {
        return i % 9 != 0 && (i == 4 || (i * 31 + j * 17) % 13 == 0);
    });
    const auto list_on = [&](const Context& where, offset_t at_once) {
        const auto a = to_device(where, host.view()), b = to_device(where, b_host.view());
        const Csr<double> product = multiply(where, a.view(), b.view());
        return where.run([&](const auto& q) {
            Workspace work;
            Buffer<offset_t> counts(q, offset_t{a.rows} + 1);
            count_products(q, a.view(), b.view(), counts.data());
            const auto of_rows =
                to_host<offset_t>(where, std::as_const(counts).span().first(static_cast<std::size_t>(a.rows)));
            for (const offset_t n : of_rows.span()) work.products += n, work.longest = std::max(work.longest, n);
            ProductList list = reserve_list(q, a.view(), b.view(), work);
            const RowRange<double> all{
                0, a.rows, product.row_begin.data(), 0, const_cast<index_t*>(product.col.data()), nullptr};
            if constexpr (std::is_same_v<std::decay_t<decltype(q)>, CpuQueue>)
                list_products(q, a.view(), b.view(), work, all, list);
            else list_products(q, a.view(), b.view(), work, all, list, at_once);
            const auto found = to_host<offset_t>(where, std::as_const(list.product).span());
            return std::vector<offset_t>(found.span().begin(), found.span().end());
        });
    };
    const auto want = list_on(cpu, 0);
    ASSERT_GT(want.size(), 3 * static_cast<std::size_t>(listed_step));
    for (const offset_t at_once : {offset_t{1}, offset_t{600}, listed_at_once})
        EXPECT_EQ(list_on(c, at_once), want) << at_once;
}

TEST(SpgemmRefills, TheFastestIsAListOrPlacesWhereProductsAreFew)
{
    constexpr auto gpu = Backend::cuda, cpu = Backend::cpu;
    const Features some{10, 10, 10, 100, 100};
    EXPECT_EQ(choose_reuse(some, 300, 150, gpu), NumericReuse::keep_products);
    EXPECT_EQ(choose_reuse(some, 3000, 100, gpu), NumericReuse::find_places);
    EXPECT_EQ(choose_reuse({10, 10, 10, offset_t{1} << 31, 100}, 300, 150, gpu), NumericReuse::find_places)
        << "31 bits for a nonzero of A";
    EXPECT_EQ(choose_reuse({10, 10, 10, 100, (offset_t{1} << 32) + 1}, 300, 150, gpu), NumericReuse::find_places);
    EXPECT_EQ(choose_reuse({10, 10, 10, 100, offset_t{1} << 32}, 0, 0, gpu), NumericReuse::keep_products);
    EXPECT_EQ(choose_reuse(some, 900, 100, cpu), NumericReuse::keep_places);
    EXPECT_EQ(choose_reuse(some, 901, 100, cpu), NumericReuse::find_places);
    EXPECT_EQ(choose_reuse({10, 10, 10, offset_t{1} << 31, 100}, 300, 150, cpu), NumericReuse::keep_places);
    for (const NumericReuse way :
         {NumericReuse::find_places, NumericReuse::keep_places, NumericReuse::keep_products, NumericReuse::fastest})
        EXPECT_EQ(parse_reuse(to_text(way)), way);
    EXPECT_THROW(parse_reuse("slowest"), ValueError);
    const CsrView<double> few{10, 10, 100, nullptr, nullptr, nullptr},
        many{10, 10, offset_t{1} << 31, nullptr, nullptr, nullptr};
    Workspace work;
    work.products = 300;
    EXPECT_EQ(decide_refill(NumericReuse::fastest, many, few, work, 150, gpu), NumericReuse::find_places);
    EXPECT_EQ(decide_refill(NumericReuse::keep_products, few, many, work, 150, gpu), NumericReuse::keep_products);
    EXPECT_THROW(decide_refill(NumericReuse::keep_products, many, few, work, 150, gpu), ValueError);
    EXPECT_EQ(of_a(as_last(listed((offset_t{1} << 31) - 1, (offset_t{1} << 32) - 1))), (offset_t{1} << 31) - 1);
    EXPECT_EQ(of_b(as_last(listed((offset_t{1} << 31) - 1, (offset_t{1} << 32) - 1))), (offset_t{1} << 32) - 1);
}

TEST_P(SpgemmRefill, TheFastestIsDecidedWhenCIsCounted)
{
    const auto c = ctx();
    const auto loose = to_device(c, matrix_where<double>(40, 40, Values::integers, 2,
                                                         [](index_t i, index_t j) { return i == j; })
                                        .view()),
               dense = to_device(c, random_matrix<double>(40, 40, 0.8, Values::integers, 3).view());
    EXPECT_NE(Plan<double>::make(c, loose.view(), loose.view(), {.refill = NumericReuse::fastest})
                  .describe()
                  .find(c.backend() == Backend::cpu ? "by the places of all products" : "by a list of all products"),
              std::string::npos);
    const auto plan = Plan<double>::make(c, dense.view(), dense.view(), {.refill = NumericReuse::fastest});
    EXPECT_NE(plan.describe().find("by the columns of C"), std::string::npos);
    EXPECT_EQ(plan.memory().refill, 0u);
}

TEST_P(SpgemmRefill, CountsWhatIsKeptBeforeItIsThere)
{
    const auto c = ctx();
    for (const NumericReuse way : keeping) {
        SCOPED_TRACE(to_text(way));
        const std::size_t each = way == NumericReuse::keep_places ? 2 : 8;
        const auto a = to_device(c, random_matrix<double>(60, 60, 0.2, Values::integers, 7).view());
        const auto space = c.backend() == Backend::cpu ? Space::host : Space::device;
        const MemoryNeed without = Plan<double>::make(c, a.view(), a.view()).memory();
        const std::size_t before = c.memory().live(space);
        auto plan = Plan<double>::make(c, a.view(), a.view(), {.refill = way});
        const MemoryNeed need = plan.memory();
        EXPECT_EQ(c.memory().live(space) - before, need.plan);
        EXPECT_EQ(need.plan, without.plan + need.refill);
        EXPECT_EQ(without.refill, 0u);
        EXPECT_GE(need.refill, each * static_cast<std::size_t>(plan.products()));
        EXPECT_LE(need.refill, each * static_cast<std::size_t>(plan.products()) + 100 * sizeof(offset_t));
        EXPECT_NE(plan.describe().find(way == NumericReuse::keep_places ? "by the places of all products"
                                                                        : "by a list of all products"),
                  std::string::npos);
        c.memory().reset_peak();
        Csr<double> product = plan.run();
        EXPECT_EQ(c.memory().live(space) - before, need.plan + need.result);
        EXPECT_LE(c.memory().peak(space) - before, need.plan + need.result + need.workspace + 64)
            << "64: no room at all takes a byte";
        c.memory().reset_peak();
        plan.run(product);
        EXPECT_EQ(c.memory().peak(space) - before, need.plan + need.result)
            << "a refill by what is kept allocates nothing";

        EXPECT_NO_THROW(Plan<double>::make(c, a.view(), a.view(),
                                           {.budget = need.plan + need.result + need.workspace + 4096, .refill = way}));
        try {
            Plan<double>::make(c, a.view(), a.view(),
                               {.budget = need.plan + need.result + need.workspace - 1, .refill = way});
            FAIL() << "a byte less is enough?";
        } catch (const OutOfMemory& fault) {
            EXPECT_NE(std::string(fault.what()).find("find_places"), std::string::npos) << fault.what();
        }
        EXPECT_EQ(c.memory().budget(space), Memory::unlimited);
        EXPECT_EQ(c.memory().live(space), before + need.plan + need.result);
    }
}

// Rows with more products than 32 bits hold, as far as their facts say.
TEST_P(SpgemmRefill, CountsPlacesThatFactsCannotCount)
{
    const auto c = ctx();
    const auto host = random_matrix<double>(40, 40, 0.3, Values::integers, 9);
    const auto there = to_device(c, host.view());
    c.run([&](const auto& q) {
        const CsrView<double> a = there.view();
        Workspace work;
        Buffer<offset_t> begin(q, offset_t{a.rows} + 1);
        analyse(q, a, a, Policy{}, work);
        count_nonzeros(q, a, a, Policy{}, work, begin.data());
        prim::exclusive_scan(q, begin.data(), begin.data(), a.rows);
        group_rows(q, a, Policy{}, work, 0, a.rows, begin.data());
        const Places right = reserve_places(q, a, a, work, begin.data());
        std::vector<RowStats> facts(static_cast<std::size_t>(work.facts.size()));
        download(q, work.facts.data(), facts.data(), work.facts.size());
        for (RowStats& f : facts) f.products = f.pattern = static_cast<std::uint32_t>(-1);
        upload(q, facts.data(), work.facts.data(), work.facts.size());
        const Places counted = reserve_places(q, a, a, work, begin.data());
        const auto got = to_host<offset_t>(c, counted.begin.span()), want = to_host<offset_t>(c, right.begin.span());
        EXPECT_TRUE(std::ranges::equal(got.span(), want.span()));
        EXPECT_EQ(counted.half.size(), right.half.size());
    });
}

TEST_P(SpgemmRefill, KeepsNothingWhereSumsHaveNoOrder)
{
    const auto c = ctx();
    const auto a = to_device(c, random_matrix<double>(6, 6, 0.5, Values::integers, 1).view());
    for (const Policy& policy : candidates({c.backend(), c.host().threads})) {
        for (const NumericReuse way : keeping) {
            const auto make = [&] { Plan<double>::make(c, a.view(), a.view(), {.force = policy, .refill = way}); };
            if (is_repeatable(policy, c.backend())) EXPECT_NO_THROW(make());
            else EXPECT_THROW(make(), ValueError);
        }
    }
}

TEST_P(SpgemmRefill, LeavesNothingBehindWhenMemoryRunsOut)
{
    const auto c = ctx();
    const auto a =
        to_device(c, shuffled_with_duplicates(random_matrix<double>(8, 8, 0.3, Values::integers, 8), 3).view());
    for (const NumericReuse way : keeping)
        expect_clean_failures(c, [&] {
            const auto plan = Plan<double>::make(c, a.view(), a.view(), {.refill = way});
            Csr<double> product = plan.run();
            plan.run(product);
        });
}

TULLE_ON_BACKENDS(SpgemmRefill);

}  // namespace
}  // namespace tulle::inline TULLE_ABI::spgemm
