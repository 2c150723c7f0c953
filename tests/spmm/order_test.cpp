// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Row orders: BSA against its sequential definition, the same permutation everywhere; what every order keeps; what is
// refused.
#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <vector>

#include "spmm/order/encoding.hpp"
#include "spmm/order/steps.hpp"
#include "spmm/order_oracle.hpp"
#include "support/backends.hpp"
#include "support/battery.hpp"
#include "support/faults.hpp"
#include "tulle/spmm.hpp"

namespace tulle::inline TULLE_ABI::spmm {
namespace {

using namespace tulle::test;

RowOrder order_of(const Context& ctx, const HostCsr<float>& a, const OrderOptions& options)
{
    const auto there = to_device(ctx, a.view());
    return order_rows(ctx, pattern_of(there.view()), options);
}

bool is_permutation_of(const std::vector<index_t>& row, index_t rows)
{
    std::set<index_t> seen(row.begin(), row.end());
    return std::ssize(row) == rows && std::ssize(seen) == rows &&
           (rows == 0 || (*seen.begin() == 0 && *seen.rbegin() == rows - 1));
}

// Where a similarity is not within rounding of alpha, the definition leaves no choice.
void expect_as_defined(const Context& ctx, const HostCsr<float>& a, const OrderOptions& options)
{
    long double margin = 1;
    const oracle::Order want = oracle::order(a, options, &margin);
    if (margin < 1e-12L && options.alpha > 0 && options.alpha < 1) return;
    const RowOrder got = order_of(ctx, a, options);
    EXPECT_EQ(rows_of(ctx, got), want.row);
    EXPECT_EQ(got.leading_empty, want.empty);
    EXPECT_EQ(got.clusters, want.clusters);
}

// Clustered rows with noise, short and long ones, empty ones: something to join, and representatives that gain blocks
// on the way.
HostCsr<float> clustered(index_t rows, index_t cols, std::uint64_t seed)
{
    return matrix_where<float>(rows, cols, Values::integers, seed, [&](index_t i, index_t j) {
        const auto kind = below(hash_of(seed, i), 9);
        if (kind == 8) return false;
        const bool home = below(hash_of(seed + 1, kind % 5, j / 3), 5) == 0;
        return unit(hash_of(seed + 2, i, j)) < (home ? 0.5 : kind == 7 ? 0.1 : 0.01);
    });
}

// ---- the paper's numbers

TEST(OrderEncoding, DispersionsOfThePapersRows)
{
    EXPECT_EQ(dispersion_paper(32, 4, 39), 217);
    EXPECT_EQ(dispersion_released(32, 4, 39), 245);
    EXPECT_EQ(dispersion_paper(32, 3, 35), 157);
    EXPECT_EQ(dispersion_released(32, 3, 35), 166);
    EXPECT_EQ(dispersion_paper(32, 0, 0), 0);
    EXPECT_EQ(dispersion_released(32, 0, 0), 0);
    EXPECT_EQ(oracle::dispersion({8, 10, 18, 0, 3}, 32, Dispersion::paper), 217);
    EXPECT_EQ(oracle::dispersion({1, 20, 0, 14, 0}, 32, Dispersion::released), 166);
}

// The similarity of the paper's pair is 0.1818: the last alpha at which they still join.
TEST(OrderEncoding, SimilarityOfThePapersRows)
{
    EXPECT_NEAR(static_cast<double>(oracle::similarity({8, 10, 18, 0, 3}, {1, 20, 0, 14, 0})), 0.18181, 1e-4);
    const Extent x{std::sqrt(497.0), 39 / std::sqrt(497.0)}, y{std::sqrt(597.0), 35 / std::sqrt(597.0)};
    Overlap overlap;
    overlap.add(8, 1, x, y);
    overlap.add(10, 20, x, y);
    const double s = overlap.share(x, y);
    EXPECT_NEAR(s / (x.mass + y.mass - s), 0.18181, 1e-4);
    EXPECT_TRUE(resembles(s, x, y, 0.1817));
    EXPECT_FALSE(resembles(s, x, y, 0.1819));
}

TEST(OrderEncoding, SimilarityNeverExceedsOne)
{
    for (int times = 1; times < 200; ++times) {
        const Extent x{std::sqrt(102.0), 16 / std::sqrt(102.0)};
        const double length = std::sqrt(102.0 * times * times);
        const Extent y{length, 16.0 * times / length};
        Overlap overlap;
        for (const int n : {2, 7, 7}) overlap.add(n, n * times, x, y);
        EXPECT_FALSE(resembles(overlap.share(x, y), x, y, 1.0)) << times;
        EXPECT_TRUE(resembles(overlap.share(x, y), x, y, 0.999)) << times;
    }
}

// ---- on every backend

class OrderOn : public OnBackend {};

TEST_P(OrderOn, EncodesThePapersRows)
{
    const std::vector<int> first{8, 10, 18, 0, 3}, second{1, 20, 0, 14, 0};
    const auto a = matrix_where<float>(3, 160, Values::integers, 1, [&](index_t i, index_t j) {
        return i != 1 && j % 32 < (i == 0 ? first : second)[static_cast<std::size_t>(j / 32)];
    });
    const Context c = ctx();
    const auto there = to_device(c, a.view());
    c.run([&](const auto& q) {
        const Encodings e = encode_rows(q, pattern_of(there.view()), 32);
        const auto blocks = to_host<index_t>(c, e.blocks.span()), sum = to_host<index_t>(c, e.sum.span());
        EXPECT_EQ(std::vector<index_t>(blocks.span().begin(), blocks.span().end()), (std::vector<index_t>{4, 0, 3}));
        EXPECT_EQ(std::vector<index_t>(sum.span().begin(), sum.span().end()), (std::vector<index_t>{39, 0, 35}));
        const auto last = read_value<BlockCount>(q, e.entry.data() + 3),
                   other = read_value<BlockCount>(q, e.entry.data() + 39 + 2);  // between rows nothing is written
        EXPECT_EQ(last.block, 4);
        EXPECT_EQ(last.count, 3);
        EXPECT_EQ(other.block, 3);
        EXPECT_EQ(other.count, 14);
        Buffer<std::uint64_t> key(q, 3);
        for (const auto which : {Dispersion::paper, Dispersion::released}) {
            write_dispersions(q, e.view(), which, key.data());
            const auto d = to_host<std::uint64_t>(c, key.span());
            EXPECT_EQ(d.data()[0], which == Dispersion::paper ? 217u : 245u);
            EXPECT_EQ(d.data()[1], 0u);
            EXPECT_EQ(d.data()[2], which == Dispersion::paper ? 157u : 166u);
        }
    });
    EXPECT_EQ(rows_of(c, order_of(c, a, {.kind = OrderKind::bsa, .alpha = 0.1817})), (std::vector<index_t>{1, 2, 0}));
    EXPECT_EQ(order_of(c, a, {.kind = OrderKind::bsa, .alpha = 0.1817}).clusters, 1);
    EXPECT_EQ(order_of(c, a, {.kind = OrderKind::bsa, .alpha = 0.1819}).clusters, 2);
}

TEST_P(OrderOn, BsaIsTheSequentialDefinitionOnTheBattery)
{
    const Context c = ctx();
    for (const auto& [name, a] : battery<float>(Values::integers)) {
        SCOPED_TRACE(name);
        for (const index_t tau : {1, 3, 32})
            for (const double alpha : {0.0, 0.3141, 0.77, 1.0})
                if (is_drawn(concat(name, tau, alpha), 3))
                    expect_as_defined(c, a, {.kind = OrderKind::bsa, .tau = tau, .alpha = alpha});
        if (is_drawn(name, 3))
            expect_as_defined(c, a,
                              {.kind = OrderKind::bsa, .tau = 8, .alpha = 0.3141, .dispersion = Dispersion::released});
    }
}

// A warp has 32 lanes: rows of more blocks take it several rounds, and so do counters of more blocks.
TEST_P(OrderOn, RowsOfMoreBlocksThanAWarpHasLanes)
{
    const auto a = random_matrix<float>(40, 150, 0.5, Values::integers, 21);
    for (const double alpha : {0.3, 0.6, 0.9})
        expect_as_defined(ctx(), a, {.kind = OrderKind::bsa, .tau = 1, .alpha = alpha});
}

TEST_P(OrderOn, BsaIsTheSequentialDefinitionOnRandomMatrices)
{
    const Context c = ctx();
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        const auto draw = [&](int what, std::uint64_t m) {
            return static_cast<index_t>(below(hash_of(seed, what), m));
        };
        const std::string name = concat("seed ", seed);
        if (!is_drawn(name, 8)) continue;
        SCOPED_TRACE(name);
        const auto a = draw(0, 2) == 0
                           ? clustered(20 + draw(1, 100), 10 + draw(2, 150), seed)
                           : random_matrix<float>(10 + draw(1, 90), 10 + draw(2, 90),
                                                  0.02 + 0.1 * unit(hash_of(seed, 9)), Values::integers, seed);
        const OrderOptions options{.kind = OrderKind::bsa,
                                   .tau = 1 + draw(3, 12),
                                   .alpha = 0.01 + 0.9 * unit(hash_of(seed, 4)),
                                   .dispersion = draw(5, 2) == 0 ? Dispersion::paper : Dispersion::released};
        expect_as_defined(c, a, options);
    }
}

// In the first, row 2 shares nothing with the seed, row 0, but a block with row 1, which joins before it. In the
// second, row 1 was rejected before row 2 joined and is not asked again.
TEST_P(OrderOn, BlocksGainedOnTheWayBringCandidates)
{
    const Context c = ctx();
    const auto a = csr_of<float>(3, 60,
                                 {{0, 0, 1},
                                  {0, 1, 1},
                                  {1, 0, 1},
                                  {1, 1, 1},
                                  {1, 10, 1},
                                  {1, 11, 1},
                                  {2, 10, 1},
                                  {2, 11, 1},
                                  {2, 20, 1},
                                  {2, 21, 1}});
    const OrderOptions options{.kind = OrderKind::bsa, .tau = 10, .alpha = 0.15};
    EXPECT_EQ(order_of(c, a, options).clusters, 1);
    expect_as_defined(c, a, options);
    const auto b = csr_of<float>(3, 60, {{0, 0, 1}, {1, 10, 1}, {2, 0, 1}, {2, 10, 1}});
    EXPECT_EQ(rows_of(c, order_of(c, b, {.kind = OrderKind::bsa, .tau = 10, .alpha = 0.2})),
              (std::vector<index_t>{0, 2, 1}));
    EXPECT_EQ(order_of(c, b, {.kind = OrderKind::bsa, .tau = 10, .alpha = 0.2}).clusters, 2);
}

// More rows than a portion of the GPU's pipeline, in clusters that interleave; also with one row a cluster, the longest
// pipeline.
TEST_P(OrderOn, BsaOfManyClusters)
{
    const Context c = ctx();
    const index_t rows = takes_all() ? 700 : 130;
    const auto a = matrix_where<float>(rows, 400, Values::integers, 3, [](index_t i, index_t j) {
        return j / 4 == i * 7 % 100 || j == (i * 11) % 400;
    });
    for (const double alpha : {0.05, 0.51, 1.0})
        expect_as_defined(c, a, {.kind = OrderKind::bsa, .tau = 4, .alpha = alpha});
}

// A wait that runs out of spin_limit ends the launch with an error, whoever waited; with spin_limit everything is as
// before.
TEST_P(OrderOn, ImpatientWaitsAreReported)
{
    const Context c = ctx();
    if (c.backend() != Backend::cuda) GTEST_SKIP() << "only a GPU waits";
    if constexpr (build::has_cuda) {
        const auto a = matrix_where<float>(400, 40, Values::integers, 3,
                                           [](index_t i, index_t j) { return (i * 7 + j) % 11 == 0; });
        const auto there = to_device(c, a.view());
        c.run([&](const auto& q) {
            if constexpr (std::is_same_v<std::remove_cvref_t<decltype(q)>, CudaQueue>) {
                const Encodings e = encode_rows(q, pattern_of(there.view()), 4);
                std::vector<offset_t> all(400);
                std::iota(all.begin(), all.end(), offset_t{0});
                const auto row = to_queue(q, all.data(), 400);
                Buffer<index_t> cluster(q, 400);
                int reported = 0;
                for (int run = 0; run < 20 && reported == 0; ++run) {
                    try {
                        cluster_rows(q, e.view(), row.data(), 400, 1.0, cluster.data(), 0);
                    } catch (const DeviceError& error) {
                        EXPECT_NE(std::string(error.what()).find("waited too long"), std::string::npos) << error.what();
                        ++reported;
                    }
                }
                EXPECT_GT(reported, 0);
                EXPECT_EQ(cluster_rows(q, e.view(), row.data(), 400, 1.0, cluster.data()), 400);
            }
        });
    }
}

// At ties with alpha rounding decides; it must decide alike everywhere.
TEST_P(OrderOn, BackendsAgreeAtTies)
{
    const Context c = ctx();
    const Context cpu = Context::cpu(1);
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        if (!is_drawn(concat("ties ", seed), 6)) continue;
        const auto a = random_matrix<float>(90, 24, 0.15, Values::integers, seed);
        for (const double alpha : {0.2, 0.25, 1.0 / 3, 0.5}) {
            const OrderOptions options{.kind = OrderKind::bsa,
                                       .tau = 1 + static_cast<index_t>(seed % 3),
                                       .alpha = alpha};
            EXPECT_EQ(rows_of(c, order_of(c, a, options)), rows_of(cpu, order_of(cpu, a, options)))
                << seed << " " << alpha;
        }
    }
}

TEST_P(OrderOn, EveryOrderIsAPermutationAndTheSameOnTheCpu)
{
    const Context c = ctx();
    const Context cpu = Context::cpu(1);
    for (const auto& [name, a] : battery<float>(Values::integers)) {
        SCOPED_TRACE(name);
        for (const auto kind :
             {OrderKind::natural, OrderKind::degree, OrderKind::minhash, OrderKind::pack, OrderKind::bsa}) {
            SCOPED_TRACE(to_text(kind));
            const RowOrder order = order_of(c, a, {.kind = kind});
            const auto row = rows_of(c, order);
            EXPECT_TRUE(is_permutation_of(row, a.rows));
            EXPECT_EQ(row, rows_of(cpu, order_of(cpu, a, {.kind = kind})));
            const auto length = [&row, &begin = a.row_begin](index_t p) {
                const auto i = static_cast<std::size_t>(row[static_cast<std::size_t>(p)]);
                return begin[i + 1] - begin[i];
            };
            index_t leading = 0;
            while (leading < a.rows && length(leading) == 0) ++leading;
            EXPECT_EQ(order.leading_empty, leading);
            for (index_t p = 1; kind == OrderKind::degree && p < a.rows; ++p) EXPECT_GE(length(p - 1), length(p));
        }
    }
}

TEST_P(OrderOn, UnsortedColumnsAndRepeatsChangeNothing)
{
    const Context c = ctx();
    const auto a = clustered(70, 60, 5);
    const auto mixed = shuffled_with_duplicates(a, 3);
    ASSERT_FALSE(mixed.sorted);
    for (const auto kind : {OrderKind::minhash, OrderKind::bsa})
        EXPECT_EQ(rows_of(c, order_of(c, mixed, {.kind = kind, .tau = 4})),
                  rows_of(c, order_of(c, a, {.kind = kind, .tau = 4})));
    EXPECT_TRUE(is_permutation_of(rows_of(c, order_of(c, mixed, {.kind = OrderKind::pack})), a.rows));
}

TEST_P(OrderOn, RefusesWhatIsWrong)
{
    const Context c = ctx();
    const auto a = random_matrix<float>(10, 12, 0.3, Values::integers, 2);
    EXPECT_THROW(order_of(c, a, {.kind = OrderKind::bsa, .tau = 0}), ValueError);
    EXPECT_THROW(order_of(c, a, {.kind = OrderKind::bsa, .alpha = -0.1}), ValueError);
    EXPECT_THROW(order_of(c, a, {.kind = OrderKind::bsa, .alpha = 1.1}), ValueError);
    EXPECT_THROW(order_of(c, a, {.kind = OrderKind::minhash, .hashes = 0}), ValueError);
    EXPECT_THROW(order_of(c, a, {.kind = OrderKind::pack, .panel = 0}), ValueError);
    auto outside = a;
    outside.col[3] = 12;
    EXPECT_THROW(order_of(c, outside, {.kind = OrderKind::degree}), ValueError);
    auto falling = a;
    std::swap(falling.col[0], falling.col[1]);
    EXPECT_THROW(order_of(c, falling, {.kind = OrderKind::bsa}), ValueError);
    falling.sorted = false;
    EXPECT_NO_THROW(order_of(c, falling, {.kind = OrderKind::bsa}));
    auto offsets = a;
    offsets.row_begin[4] = 1000;
    EXPECT_THROW(order_of(c, offsets, {.kind = OrderKind::pack}), ValueError);
    EXPECT_THROW(parse_order("bsb"), ValueError);
    EXPECT_EQ(parse_order("minhash"), OrderKind::minhash);
    EXPECT_EQ(to_text(Dispersion::released), "released");
}

TEST_P(OrderOn, FailsCleanlyWithoutMemory)
{
    const Context c = ctx();
    const auto there = to_device(c, clustered(60, 50, 8).view());
    auto unsorted = pattern_of(there.view());
    unsorted.sorted = false;
    for (const auto kind : {OrderKind::minhash, OrderKind::pack, OrderKind::bsa})
        expect_clean_failures(c, [&] { order_rows(c, unsorted, {.kind = kind}); });
    const RowOrder order = order_rows(c, unsorted);
    expect_clean_failures(c, [&] { panel_cost(c, unsorted, order); });
}

// The released code needs M * K / tau counters: here that would be 4 * 10^13.
TEST(OrderMemory, IsLinearInTheNonzeros)
{
    const index_t n = 20000, cols = 2'000'000'000;
    std::vector<offset_t> row_begin(static_cast<std::size_t>(n) + 1);
    std::vector<index_t> col(static_cast<std::size_t>(n) * 4);
    for (index_t i = 0; i <= n; ++i) row_begin[static_cast<std::size_t>(i)] = offset_t{4} * i;
    for (std::size_t k = 0; k < col.size(); ++k) col[k] = static_cast<index_t>(k / 4 % 100 * 20'000'000 + k % 4 * 1000);
    Context ctx = Context::cpu(1);
    ctx.budget(64_MiB);
    const RowOrder order = order_rows(ctx, {n, cols, std::ssize(col), row_begin.data(), col.data()},
                                      {.kind = OrderKind::bsa, .tau = 1000, .alpha = 0.5});
    EXPECT_EQ(order.clusters, 100);
}

TULLE_ON_BACKENDS(OrderOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI::spmm
