// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Distributed matrices with threads as ranks; mpi/tests/run runs the same checks with MPI.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "mpi/exchange.hpp"
#include "mpi/nccl.hpp"
#include "simt/sanitizers.hpp"
#include "tests/mpi/amg_checks.hpp"
#include "tests/mpi/fault_checks.hpp"
#include "tests/mpi/product_checks.hpp"
#include "tests/mpi/setup_checks.hpp"
#include "vector/binned_sum.hpp"

namespace tulle::testing {
namespace {

class OnRanks : public ::testing::TestWithParam<int> {};

// Sanitizers look at accesses rather than at numbers: a third of the matrices for each number of ranks, all together.
constexpr unsigned one_in = simt::under_asan || simt::under_tsan ? 3 : 1;

TEST_P(OnRanks, HasTheBitsOfOneProcessInDouble)
{
    on_ranks(GetParam(), [](const mpi::Cluster& cluster) { check_all<double>(cluster, one_in); });
}

TEST_P(OnRanks, HasTheBitsOfOneProcessInFloat)
{
    on_ranks(GetParam(), [](const mpi::Cluster& cluster) { check_all<float>(cluster, one_in); });
}

TEST_P(OnRanks, FaultsAreExceptionsOfAll)
{
    on_ranks(GetParam(), [](const mpi::Cluster& cluster) { check_agreement(cluster); });
}

TEST_P(OnRanks, AnyAllocationMayFail)
{
    if (GetParam() > 3) GTEST_SKIP() << "with three ranks there are all kinds";
    on_ranks(GetParam(), [](const mpi::Cluster& cluster) { check_all_failures(cluster, one_in > 1 ? 7 : 1); },
             {.deadline = 20});
}

TEST_P(OnRanks, SolvesEndForTheReasonsOfOneProcess)
{
    on_ranks(GetParam(), [](const mpi::Cluster& cluster) {
        check_reasons(cluster);
        check_refused(cluster);
        check_empty_system(cluster);
    });
}

TEST_P(OnRanks, FilesAreReadTogether)
{
    on_ranks(GetParam(), [](const mpi::Cluster& cluster) { check_files(cluster); });
}

TEST_P(OnRanks, MatricesAreGeneratedTogether)
{
    on_ranks(GetParam(), [](const mpi::Cluster& cluster) { check_generators(cluster); });
}

TEST_P(OnRanks, ColumnsHave64Bits)
{
    on_ranks(GetParam(), [](const mpi::Cluster& cluster) { check_wide(cluster); });
}

TEST_P(OnRanks, MultigridNeedsTheIterationsOfOneProcess)
{
    on_ranks(GetParam(), [](const mpi::Cluster& cluster) {
        check_iterations<double>(cluster, "stencil7:14", "amg");
        check_methods(cluster, "stencil7:12");
    });
}

TEST_P(OnRanks, MultigridIsSymmetric)
{
    on_ranks(GetParam(), [](const mpi::Cluster& cluster) {
        check_multigrid<double>(cluster, "stencil7:12");
        check_multigrid<float>(cluster, "stencil5:30");
    });
}

TEST_P(OnRanks, MultigridTakesNewValues)
{
    on_ranks(GetParam(), [](const mpi::Cluster& cluster) {
        check_amg_updates<double>(cluster, "stencil7:9");
        check_amg_updates<float>(cluster, "stencil5:25");
        check_bad_updates(cluster);
        check_no_new_values(cluster, "stencil5:25");
    });
}

TEST_P(OnRanks, MultigridTakesRigidBodyModes)
{
    on_ranks(GetParam(), [](const mpi::Cluster& cluster) { check_rigid_body_modes(cluster, "30,30"); });
}

TEST_P(OnRanks, MultigridOfLittle)
{
    on_ranks(GetParam(), [](const mpi::Cluster& cluster) {
        check_little(cluster);
        check_amg_refused(cluster);
    });
}

TEST_P(OnRanks, MetisOrdersRowsAndBack)
{
    if (!has_metis()) GTEST_SKIP() << "METIS is not here (Debian: libmetis5)";
    on_ranks(GetParam(), [](const mpi::Cluster& cluster) { check_metis<double>(cluster); });
    on_ranks(GetParam(), [](const mpi::Cluster& cluster) { check_metis<float>(cluster); });
}

TEST_P(OnRanks, RowsGoToThePartsOfTheCaller)
{
    on_ranks(GetParam(), [](const mpi::Cluster& cluster) { check_parts(cluster); });
}

mpi::Traffic rows_sent()
{
    const mpi::Traffic col = sent_by_tag()[mpi::tag_columns], value = sent_by_tag()[mpi::tag_values];
    return {col.messages + value.messages, col.bytes + value.bytes};
}

// Runs twice; the rows of B that are sent are those that the plan tells. Returns the bytes of both.
std::pair<std::uint64_t, std::uint64_t> run_as_told(mpi::SpgemmPlan<double>& plan)
{
    std::optional<mpi::DistCsr<double>> c;
    std::uint64_t bytes[2];
    for (std::uint64_t& sent : bytes) {
        const mpi::Traffic told = plan.sent_per_run(), before = rows_sent();
        if (c) plan.run(*c);
        else c = plan.run();
        sent = rows_sent().bytes - before.bytes;
        expect(sent == told.bytes && rows_sent().messages - before.messages == told.messages,
               "other rows of B were sent than planned");
    }
    return {bytes[0], bytes[1]};
}

// Row i of A picks row i + 30 of B: other ranks' rows, each for one row of A. With a budget below what they need, there
// are several batches, each with the next on its way; patterns are sent once where there is room for them.
void check_batches(const mpi::Cluster& cluster)
{
    const auto b = mpi::DistCsr<double>::generate(cluster, "uniform:60,60,6");
    std::vector<offset_t> begin{0};
    std::vector<mpi::global_t> col;
    for (mpi::global_t i = b.row_cuts()[here(cluster)]; i < b.row_cuts()[here(cluster) + 1]; ++i) {
        col.push_back((i + 30) % 60);
        begin.push_back(std::ssize(col));
    }
    const auto a =
        mpi::DistCsr<double>::from_rows(cluster, 60, begin, col, std::vector<double>(col.size(), 2.0), b.row_cuts());
    auto whole = mpi::SpgemmPlan<double>::make(a, b);
    run_as_told(whole);
    const auto need = static_cast<std::size_t>(cluster.largest(static_cast<mpi::global_t>(whole.most_held())));
    expect(need > 0 || cluster.ranks() == 1, "nothing is fetched");
    for (const bool keeps : {true, false}) {
        const std::size_t budget = need * (keeps ? 75 : 40) / 100;
        auto plan = mpi::SpgemmPlan<double>::make(a, b, {.budget = budget});
        const auto [first, again] = run_as_told(plan);
        expect(again == first / (keeps || cluster.ranks() == 1 ? 2 : 1), "patterns of B: other bytes the second time");
        if (cluster.ranks() == 1) continue;
        expect(plan.batches() > 1, "one batch");
        expect(plan.most_held() <= budget, concat("holds ", plan.most_held(), " bytes, budget ", budget));
        expect(plan.most_held() > plan.largest_batch() + (keeps ? need / 4 : 0), "the next batch is not on its way");
    }
}

TEST_P(OnRanks, FetchesTheNextBatchWithinTheBudget)
{
    on_ranks(GetParam(), [](const mpi::Cluster& cluster) { check_batches(cluster); });
}

TEST_P(OnRanks, BatchesTakeNewValues)
{
    on_ranks(GetParam(), [](const mpi::Cluster& cluster) {
        check_batched_values<double>(cluster, "uniform:60,50,4");
        if (cluster.ranks() <= 3) check_batched_values<float>(cluster, "banded:60,4");
    });
}

TEST_P(OnRanks, RowsMayBeInAnyOrderOnAnyRank)
{
    on_ranks(GetParam(), [](const mpi::Cluster& cluster) {
        check_orders<double>(cluster, "uniform:60,60,4");
        if (cluster.ranks() > 3) return;
        check_orders<float>(cluster, "stencil5:8");
        check_solve_orders(cluster, "stencil5:14");
    });
}

TEST_P(OnRanks, AnyRankMayHaveWhatIsNotFinite)
{
    on_ranks(GetParam(), [](const mpi::Cluster& cluster) { check_special_sums(cluster); });
}

INSTANTIATE_TEST_SUITE_P(Mpi, OnRanks, ::testing::Values(1, 2, 3, 7));

// A rank that does not come is named, and the job ends.
TEST(Cluster, NamesTheSilentRank)
{
    int code = 0;
    ::testing::internal::CaptureStderr();
    try {
        on_ranks(4,
                 [](const mpi::Cluster& cluster) {
                     if (cluster.rank() != 2) cluster.sum(1);
                 },
                 {.deadline = 0.3});
    } catch (const JobEnded& ended) {
        code = ended.code;
    }
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(code, mpi::lost_rank_exit_code);
    EXPECT_NE(said.find("phase 'sum': rank 2 sends nothing"), std::string::npos) << said;
}

// Another library in which a rank waits for ever: the process ends.
TEST(Cluster, EndsWhereAnotherLibraryDoesNot)
{
    const auto wait = [](double seconds) {
        const mpi::Cluster cluster(std::make_unique<ThreadTransport>(std::make_shared<World>(1), 0), Context::cpu(1),
                                   {.deadline = 0.5});
        cluster.run_with_deadline("a library",
                                  [&] { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); });
    };
    EXPECT_EXIT(wait(30), ::testing::ExitedWithCode(mpi::lost_rank_exit_code),
                "tulle: rank 0 of 1, phase 'a library': has not ended in 0.5 s; the job ends");
    wait(0);
    EXPECT_THROW(alone().run_with_deadline("a library", [] { throw ValueError("no"); }), ValueError);
}

TEST(Cluster, RefusesAWrongDeadline)
{
    for (const char* text : {"soon", "nan", "-1"}) {
        setenv("TULLE_MPI_DEADLINE", text, 1);
        EXPECT_THROW(alone(), ValueError) << text;
    }
    for (const char* text : {"inf", "1e10", "0"}) {
        setenv("TULLE_MPI_DEADLINE", text, 1);
        const mpi::Cluster cluster = alone();
        EXPECT_NE(cluster.describe().find("no deadline"), std::string::npos) << text;
        bool done = false;
        cluster.run_with_deadline("a library", [&] { done = true; });
        EXPECT_TRUE(done);
    }
    unsetenv("TULLE_MPI_DEADLINE");
}

// Runs f on ranks until the job ends; what is said then.
template <class F>
std::string last_words(int ranks, double deadline, const F& f)
{
    int code = 0;
    ::testing::internal::CaptureStderr();
    try {
        on_ranks(ranks, f, {.deadline = deadline});
    } catch (const JobEnded& ended) {
        code = ended.code;
    }
    EXPECT_EQ(code, mpi::lost_rank_exit_code);
    return ::testing::internal::GetCapturedStderr();
}

// For a message that nobody sends.
void wait_for(const mpi::Cluster& cluster, int rank, const char* phase)
{
    int never = 0;
    mpi::Messages messages(cluster);
    messages.add_receive(&never, sizeof never, rank, mpi::tag_exchange);
    messages.start(phase);
    messages.finish(phase);
}

// Rank 2 waits longest, for rank 0, which came late and waits for rank 1.
TEST(Cluster, NamesWhomAllWaitForInTheEnd)
{
    const std::string said = last_words(3, 1, [](const mpi::Cluster& cluster) {
        if (cluster.rank() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(800));
        if (cluster.rank() != 1) wait_for(cluster, cluster.rank() == 0 ? 1 : 0, "a chain");
    });
    EXPECT_NE(said.find("tulle: rank 0 of 3, phase 'a chain': rank 1 sends nothing for 1."), said.npos) << said;
}

TEST(Cluster, TellsOfRanksThatWaitForEachOther)
{
    const std::string said =
        last_words(2, 0.3, [](const mpi::Cluster& cluster) { wait_for(cluster, 1 - cluster.rank(), "a circle"); });
    EXPECT_NE(said.find("sends nothing for 0.9 s and waits itself"), said.npos) << said;
}

// A rank that is late, but not too late, is waited for, also when it has been asked.
TEST(Cluster, GoesOnAfterQuestions)
{
    on_ranks(3,
             [](const mpi::Cluster& cluster) {
                 for (int round = 0; round < 2; ++round) {
                     if (cluster.rank() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(500));
                     if (cluster.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(1300));
                     expect(cluster.sum(1) == 3, "sum");
                 }
             },
             {.deadline = 1.2});
}

// Tells what it is asked to send and receive, and does nothing: of data that nobody has.
class ListingTransport final : public mpi::Transport {
public:
    struct Piece {
        const char* begin;
        int bytes, peer, tag;
        bool sends;
        bool operator==(const Piece&) const = default;
    };
    explicit ListingTransport(std::vector<Piece>& list) : list_(list) {}
    int rank() const override { return 0; }
    int ranks() const override { return 2; }
    std::string name() const override { return "list"; }
    Request send_init(const void* data, int bytes, int to, int tag) override
    {
        return put({static_cast<const char*>(data), bytes, to, tag, true});
    }
    Request receive_init(void* data, int bytes, int from, int tag) override
    {
        return put({static_cast<const char*>(data), bytes, from, tag, false});
    }
    void start(Request) override {}
    bool test(Request) override { return true; }
    void release(Request) noexcept override {}
    [[noreturn]] void abort(int code) override { throw JobEnded{code}; }

private:
    Request put(const Piece& piece)
    {
        list_.push_back(piece);
        return this;
    }
    std::vector<Piece>& list_;
};

// Messages of any length go in pieces that MPI can count: one behind the other, without a gap, the same on both sides.
TEST(Messages, OfAnyLengthGoInPieces)
{
    std::vector<ListingTransport::Piece> list;
    const mpi::Cluster cluster(std::make_unique<ListingTransport>(list), Context::cpu(1), {});
    char base = 0;
    const auto pieces_of = [&](std::size_t bytes, bool sends) {
        list.clear();
        mpi::Messages messages(cluster);
        if (sends) messages.add_send(&base, bytes, 1, mpi::tag_values);
        else messages.add_receive(&base, bytes, 1, mpi::tag_values);
        return list;
    };
    for (const int bits : {0, 10, 29, 30, 31, 32, 33})
        for (const std::size_t bytes : {(std::size_t{1} << bits) - 1, std::size_t{1} << bits,
                                        (std::size_t{1} << bits) + 1, (std::size_t{3} << bits) + 5}) {
            SCOPED_TRACE(bytes);
            std::size_t reached = 0;
            auto sent = pieces_of(bytes, true);
            for (const auto& piece : sent) {
                EXPECT_EQ(static_cast<std::size_t>(piece.begin - &base), reached);
                EXPECT_GT(piece.bytes, 0);
                EXPECT_EQ(piece.peer, 1);
                reached += static_cast<std::size_t>(piece.bytes);
            }
            EXPECT_EQ(reached, bytes);
            for (auto& piece : sent) piece.sends = false;
            EXPECT_EQ(pieces_of(bytes, false), sent);
        }
    list.clear();
}

// What TULLE_TRANSPORT must not be, by backend.
std::string refusal_of(const char* wish, Backend backend)
{
    setenv("TULLE_TRANSPORT", wish, 1);
    std::string said;
    try {
        mpi::transports(backend);
    } catch (const ValueError& e) {
        said = e.message() + "; " + e.hint();
    }
    unsetenv("TULLE_TRANSPORT");
    return said;
}

// Only what exists can be asked for; plans tell what is used, and why.
TEST(Transport, IsNamedByTheEnvironment)
{
    EXPECT_EQ(refusal_of("auto", Backend::cpu) + refusal_of("host", Backend::cpu), "");
    EXPECT_EQ(
        refusal_of("pigeon", Backend::cuda),
        "TULLE_TRANSPORT is 'pigeon', which ranks on GPUs do not have; possible here: auto, nccl, gpu-aware, staged");
    EXPECT_EQ(refusal_of("staged", Backend::cpu),
              "TULLE_TRANSPORT is 'staged', which ranks on CPUs do not have; possible here: auto, host");
    setenv("TULLE_TRANSPORT", "staged", 1);
    EXPECT_THROW(on_ranks(2, [](const mpi::Cluster&) {}), ValueError);
    EXPECT_EQ(alone().transport().name, "host");  // nothing is sent
    setenv("TULLE_TRANSPORT", "pigeon", 1);
    EXPECT_THROW(alone(), ValueError);
    unsetenv("TULLE_TRANSPORT");
    const auto a = mpi::DistCsr<double>::generate(alone(), "stencil5:3");
    for (const std::string& text :
         {mpi::SpmvPlan<double>::make(a).describe(), mpi::SpmmPlan<double>::make(a, 2).describe(),
          mpi::SpgemmPlan<double>::make(a, a).describe()})
        EXPECT_NE(text.find("1 rank on threads, transport host (ranks work on CPUs), deadline"), text.npos) << text;
}

TEST(Transport, TellsWhyThereIsNoNccl)
{
    setenv("TULLE_NCCL", "there/is/no/libnccl.so", 1);
    const auto all = mpi::transports(Backend::cuda, "");
    ASSERT_EQ(all.size(), 3U);
    EXPECT_EQ(all[0].name, "nccl");
    EXPECT_FALSE(all[0].usable);
    EXPECT_NE(all[0].why.find("NCCL cannot be loaded: there/is/no/libnccl.so"), std::string::npos) << all[0].why;
    try {
        mpi::nccl_version();
        ADD_FAILURE() << "it was found";
    } catch (const NotBuilt& e) {
        EXPECT_NE(e.hint().find("TULLE_NCCL"), std::string::npos) << e.hint();
    }
    unsetenv("TULLE_NCCL");
}

// ---- binned sums ----

double binned(std::vector<double> x, std::size_t cut)
{
    const std::vector<double> ones(x.size(), 1.0);
    vector::BinnedSum low, high;
    low.add_products(x.data(), ones.data(), static_cast<int>(cut));
    high.add_products(x.data() + cut, ones.data() + cut, static_cast<int>(x.size() - cut));
    high.add(low);
    return high.value();
}

TEST(BinnedSum, DoesNotDependOnOrderAndCuts)
{
    for (const int scale : {-1060, -1000, -500, 0, 500, 960}) {
        std::vector<double> x(600);
        for (std::size_t i = 0; i < x.size(); ++i)
            x[i] = std::ldexp(io::pattern_value(static_cast<index_t>(i), 1) - 1, scale + static_cast<int>(i * 7 % 61));
        const double sum = binned(x, 0);
        for (const std::size_t cut : {1U, 17U, 300U, 599U, 600U})
            EXPECT_EQ(binned(x, cut), sum) << scale << ", cut " << cut;
        std::reverse(x.begin(), x.end());
        EXPECT_EQ(binned(x, 100), sum) << scale;
        std::sort(x.begin(), x.end());
        EXPECT_EQ(binned(x, 211), sum) << scale;
    }
}

// Products in one pass, and again where a larger one appears.
TEST(BinnedSum, TakesProducts)
{
    for (const int scale : {-1060, -900, -540, 0, 460, 900}) {
        std::vector<double> x(3000), y(3000), product(3000);
        for (std::size_t i = 0; i < x.size(); ++i) {
            x[i] = std::ldexp(io::pattern_value(static_cast<index_t>(i), 1) - 1, scale + static_cast<int>(i / 7 % 90));
            y[i] = io::pattern_value(static_cast<index_t>(i), 2) - 1;
            product[i] = x[i] * y[i];
        }
        const double sum = binned(product, 1000);
        vector::BinnedSum one_by_one;
        for (std::size_t i = 0; i < x.size(); ++i) one_by_one.add_products(&x[i], &y[i], 1);
        EXPECT_EQ(one_by_one.value(), sum) << scale;
        for (const int cut : {1, 64, 1499, 1500, 2983, 2999}) {
            vector::BinnedSum products;
            products.add_products(x.data(), y.data(), cut);
            products.add_products(x.data() + cut, y.data() + cut, 3000 - cut);
            EXPECT_EQ(products.value(), sum) << scale << ", cut " << cut;
        }
    }
}

// A product at the top of a bin, and the next larger number, which moves the bins up: the small number is lost.
TEST(BinnedSum, HasBinsWhoseTopsAreExact)
{
    constexpr std::size_t others = 41;
    for (const int bin : {1, 13, 14, 26, 27, 38, 39}) {
        const double top = std::ldexp(1.0, vector::top_of(bin)), above = std::nextafter(top, 2 * top);
        for (const double last : {top / 2, top, above, 2 * top}) {
            const double small = std::ldexp(top, -100);
            for (std::size_t k = 0; k < others; ++k) {  // in any of four vectors, and behind them
                std::vector<double> x(1 + others), ones(1 + others, 1.0);
                x[0] = top / 4;
                x[1 + k] = last;
                x[1 + (k + 1) % others] = -last;
                x[1 + (k + 2) % others] = small;
                x[1 + (k + 3) % others] = -top / 4;
                vector::BinnedSum products;
                products.add_products(x.data(), ones.data(), 1);
                products.add_products(x.data() + 1, ones.data(), static_cast<int>(others));
                EXPECT_EQ(products.value(), last <= top ? small : 0) << bin << ", " << last << ", " << k;
                EXPECT_EQ(products.value(), binned(x, 0)) << bin << ", " << last << ", " << k;
            }
        }
    }
}

TEST(BinnedSum, IsAccurate)
{
    std::vector<double> x{1e16, 1, -1e16, 1e-16};
    EXPECT_EQ(binned(x, 1), 1 + 1e-16);
    EXPECT_EQ(binned({0.5, 0.25, 8}, 2), 8.75);
    EXPECT_EQ(binned({std::ldexp(1, 1023), std::ldexp(1, 1022)}, 1), std::ldexp(1.5, 1023));
    EXPECT_EQ(binned({std::ldexp(1, -1074), std::ldexp(1, -1074)}, 1), std::ldexp(1, -1073));
    EXPECT_EQ(binned({}, 0), 0);
}

TEST(BinnedSum, KeepsWhatIsNotFinite)
{
    const double infinity = std::numeric_limits<double>::infinity();
    EXPECT_EQ(binned({1, infinity, 2}, 1), infinity);
    EXPECT_EQ(binned({1, 2, -infinity}, 1), -infinity);
    EXPECT_TRUE(std::isnan(binned({infinity, 2, -infinity}, 1)));
    const double nan = std::nan("");
    for (const auto& x : std::vector<std::vector<double>>{{nan, 1}, {nan, 1, infinity}, {-infinity, 1, infinity, nan}})
        for (std::size_t cut = 0; cut <= x.size(); ++cut) EXPECT_TRUE(std::isnan(binned(x, cut))) << cut;
    for (std::size_t cut = 0; cut <= 3; ++cut) EXPECT_EQ(binned({-infinity, 1, 1e308}, cut), -infinity) << cut;
    const std::vector<double> x{1, nan, 3}, y{1, 1, 1};
    EXPECT_TRUE(std::isnan(mpi::dot<double>(alone(), x, y)));
}

// Behind products that were split by vectors, in as many lanes as a vector has: sums of integers that mean nothing
// then.
TEST(BinnedSum, KeepsWhatIsNotFiniteInEveryLane)
{
    const double infinity = std::numeric_limits<double>::infinity();
    for (const double special : {infinity, -infinity, std::nan("")})
        for (const std::size_t count : {std::size_t{2}, std::size_t{6}, std::size_t{40}}) {
            std::vector<double> x(1000, 1.0);
            std::fill_n(x.begin() + 500, count, special);
            const double sum = mpi::dot<double>(alone(), x, std::vector<double>(1000, 1.0));
            EXPECT_TRUE(std::isnan(special) ? std::isnan(sum) : sum == special) << special << " " << count;
        }
}

TEST(Metis, IsMissedWithAHint)
{
    const Csr<double> grid = io::generate<double>(Context::cpu(1), "stencil5:3"),
                      wide = io::generate<double>(Context::cpu(1), "uniform:3,5,2");
    setenv("TULLE_METIS", "there/is/no/libmetis.so", 1);
    try {
        mpi::metis_order(grid.view(), 2);
        ADD_FAILURE() << "it was found";
    } catch (const NotBuilt& e) {
        EXPECT_NE(e.hint().find("TULLE_METIS"), std::string::npos);
    }
    EXPECT_EQ(mpi::metis_order(grid.view(), 20).cuts.back(), 9);  // more parts than rows: not asked
    unsetenv("TULLE_METIS");
    EXPECT_THROW(mpi::metis_order(wide.view(), 2), ShapeError);
    EXPECT_THROW(mpi::metis_order(grid.view(), 0), ValueError);
}

TEST(Cuts, BalanceRowsAndNonzeros)
{
    const std::vector<offset_t> row_begin{0, 1, 2, 3, 100, 101};
    EXPECT_EQ(mpi::balanced_cuts(row_begin, 2), (mpi::Cuts{0, 4, 5}));
    EXPECT_EQ(mpi::even_cuts(10, 4), (mpi::Cuts{0, 3, 6, 8, 10}));
    EXPECT_EQ(mpi::even_cuts(2, 4), (mpi::Cuts{0, 1, 2, 2, 2}));
}

}  // namespace
}  // namespace tulle::testing
