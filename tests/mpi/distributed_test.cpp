// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Distributed matrices with threads as ranks; mpi/tests/run runs the same checks with MPI.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "mpi/binned_sum.hpp"
#include "simt/sanitizers.hpp"
#include "tests/mpi/checks.hpp"

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

TEST_P(OnRanks, FilesAreReadTogether)
{
    on_ranks(GetParam(), [](const mpi::Cluster& cluster) { check_files(cluster); });
}

TEST_P(OnRanks, ColumnsHave64Bits)
{
    on_ranks(GetParam(), [](const mpi::Cluster& cluster) { check_wide(cluster); });
}

bool has_metis()
{
    const Csr<double> grid = io::generate<double>(Context::cpu(1), "stencil5:3");
    try {
        mpi::metis_order(grid.view(), 2);
    } catch (const NotBuilt&) {
        return false;
    }
    return true;
}

TEST_P(OnRanks, MetisOrdersRowsAndBack)
{
    if (!has_metis()) GTEST_SKIP() << "METIS is not here (Debian: libmetis5)";
    on_ranks(GetParam(), [](const mpi::Cluster& cluster) { check_repartition<double>(cluster); });
    on_ranks(GetParam(), [](const mpi::Cluster& cluster) { check_repartition<float>(cluster); });
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

TEST(Cluster, RefusesAWrongDeadline)
{
    setenv("TULLE_MPI_DEADLINE", "soon", 1);
    EXPECT_THROW(alone(), ValueError);
    unsetenv("TULLE_MPI_DEADLINE");
}

// ---- binned sums ----

double binned(std::vector<double> x, std::size_t cut)
{
    const auto largest = [](const double* first, const double* last) {
        double most = 0;
        for (; first < last; ++first) most = std::fabs(*first) <= most ? most : std::fabs(*first);
        return most;
    };
    mpi::BinnedSum low, high;
    const double* const begin = x.data();
    low.add(begin, static_cast<int>(cut), largest(begin, begin + cut));
    high.add(begin + cut, static_cast<int>(x.size() - cut), largest(begin + cut, begin + x.size()));
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
    std::vector<double> x(3000), y(3000), product(3000);
    for (std::size_t i = 0; i < x.size(); ++i) {
        x[i] = std::ldexp(io::pattern_value(static_cast<index_t>(i), 1) - 1, static_cast<int>(i / 7 % 90));
        y[i] = io::pattern_value(static_cast<index_t>(i), 2) - 1;
        product[i] = x[i] * y[i];
    }
    const double sum = binned(product, 1000);
    for (const int cut : {1, 64, 1500, 2999}) {
        mpi::BinnedSum products;
        products.add_products(x.data(), y.data(), cut);
        products.add_products(x.data() + cut, y.data() + cut, 3000 - cut);
        EXPECT_EQ(products.value(), sum) << cut;
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
    const std::vector<double> x{1, std::nan(""), 3}, y{1, 1, 1};
    EXPECT_TRUE(std::isnan(mpi::dot<double>(alone(), x, y)));
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
