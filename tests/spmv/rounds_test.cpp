// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Matrices large enough that a loop of a kernel goes round once more: last blocks that add up more sums than they have
// threads, grids that stride.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "support/backends.hpp"
#include "support/battery.hpp"
#include "support/guarded.hpp"
#include "support/oracle.hpp"
#include "tulle/spmv.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::spmv {
namespace {

using namespace tulle::test;

class SpmvRoundsOn : public OnBackend {
protected:
    void SetUp() override
    {
        OnBackend::SetUp();
        if (!IsSkipped() && ctx().backend() == Backend::cpu) GTEST_SKIP() << "these are loops of kernels";
    }
    static constexpr bool watched =
        simt::under_asan || simt::under_tsan;  // by sanitizers, for which a hundred thousand threads are too many
};

// `length(i)` entries from the diagonal on.
template <class Length>
HostCsr<double> rows_of(index_t rows, index_t cols, Length&& length)
{
    HostCsr<double> a;
    a.rows = rows, a.cols = cols;
    a.row_begin = {0};
    for (index_t i = 0; i < rows; ++i) {
        const index_t n = length(i), first = std::min(i, cols - n);
        for (index_t j = first; j < first + n; ++j)
            a.col.push_back(j), a.value.push_back(test_value<double>(Values::integers, 3, i, j));
        a.row_begin.push_back(static_cast<offset_t>(a.col.size()));
    }
    a.sorted = a.unique = true;
    return a;
}

// y = 2 A x - y and, if wanted, its dots must be exact, twice.
void expect_exact(const Context& ctx, const HostCsr<double>& a, const Policy& policy, bool dots)
{
    SCOPED_TRACE(to_text(policy));
    const auto there = to_device(ctx, a.view());
    const auto x = test_vector<double>(a.cols, Values::integers, 6),
               y = test_vector<double>(a.rows, Values::integers, 7);
    const auto plan = Plan<double>::make(ctx, there.view(), {.force = policy, .dots = dots});
    const auto x_there = to_device<double>(ctx, std::span<const double>(x));
    const auto want = oracle_multiply(a, false, 2.0, x, -1.0, y);
    long double xy = 0, yy = 0;
    for (std::size_t i = 0; dots && i < y.size(); ++i)
        xy += want.value[i] * static_cast<long double>(x[i]), yy += want.value[i] * want.value[i];
    for (int run = 0; run < 2; ++run) {
        Guarded<double> out(ctx, y), products(ctx, std::vector<double>(2, std::nan("")));
        if (dots) plan.run(2.0, x_there.span(), -1.0, out.span(), products.span());
        else plan.run(2.0, x_there.span(), -1.0, out.span());
        const auto got = out.take();
        for (std::size_t i = 0; i < got.size(); ++i)
            ASSERT_EQ(static_cast<long double>(got[i]), want.value[i]) << "row " << i << ", run " << run;
        if (!dots) continue;
        EXPECT_EQ(static_cast<long double>(products.take()[0]), xy);
        EXPECT_EQ(static_cast<long double>(products.take()[1]), yy);
    }
}

// A warp per row, eight rows a block: the last of 275 blocks adds up their sums with 256 threads.
TEST_P(SpmvRoundsOn, DotsOfMoreBlocksThanABlockHasThreads)
{
    expect_exact(ctx(), rows_of(2200, 2200, [](index_t i) { return 1 + i % 3; }), {Kernel::rows, 32, false}, true);
}

// Pieces of 2048 nonzeros, and 512 threads for the last block to add them up.
TEST_P(SpmvRoundsOn, PiecesOfARowMoreThanABlockHasThreads)
{
    if (watched) GTEST_SKIP() << "a million products";
    constexpr index_t longest = 513 * 2048 + 5;
    expect_exact(ctx(), rows_of(3, longest, [](index_t i) { return i == 1 ? longest : 2; }),
                 {Kernel::stream, 32, false}, false);
}

// Several rows of a warp's are long ones among short ones, which the whole warp adds up one after the other.
TEST_P(SpmvRoundsOn, SeveralLongRowsInAWarp)
{
    expect_exact(ctx(), rows_of(600, 700, [](index_t i) { return i == 100 || i == 101 || i == 120 ? 300 : 1; }),
                 {Kernel::stream, 32, false}, false);
}

TULLE_ON_BACKENDS(SpmvRoundsOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI::spmv
