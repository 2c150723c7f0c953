// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Small products computed by one kernel: the bits of the phases, at the ends of every loop and limit.
#include "spgemm/small/small.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "spgemm/oracle.hpp"
#include "spgemm/products.hpp"
#include "support/backends.hpp"
#include "support/battery.hpp"
#include "tulle/spgemm.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::spgemm {
namespace {

using namespace tulle::test;

TEST(SpgemmSmall, FollowsFromTheShapeAndTheNonzeros)
{
    const auto is_small = [](index_t rows, index_t cols, offset_t a, offset_t b) {
        return choose({rows, 1000, cols, a, b}, {Backend::cuda, 1}).policy.one_kernel;
    };
    EXPECT_TRUE(is_small(1000, 1000, 5000, 5000));
    EXPECT_TRUE(is_small(1024, 8192, 5000, 5000));
    EXPECT_FALSE(is_small(1000, 8193, 5000, 5000)) << "more columns than shared memory holds";
    EXPECT_FALSE(is_small(1025, 8192, 5000, 5000)) << "more positions than 2^23";
    EXPECT_FALSE(is_small(1 << 26, 1, 5000, 5000));
    EXPECT_TRUE(is_small(2000, 4000, offset_t{1} << 20, 31'000)) << "2^25 products";
    EXPECT_FALSE(is_small(2000, 4000, offset_t{1} << 20, 32'000));
    EXPECT_FALSE(is_small(0, 10, 0, 5) || is_small(10, 0, 5, 0));
    EXPECT_FALSE(is_small(max_index, 8192, offset_t{1} << 60, offset_t{1} << 60)) << "nothing overflows";
    EXPECT_FALSE(choose({10, 10, 10, 10, 10}, {Backend::cpu, 1}).policy.one_kernel);
    EXPECT_EQ(small::first_room({10, 10, 10, 10, 10}), 100);
    EXPECT_EQ(small::first_room({1000, 1000, 1000, 10, 10}), 65'536);
    EXPECT_EQ(small::first_room({1000, 1000, 1000, 10'000, 10'000}), 880'000);
    EXPECT_EQ(small::first_room({2800, 2800, 2800, 100'000, 100'000}), 1 << 22);
}

class SpgemmSmallOn : public OnBackend {
protected:
    void SetUp() override
    {
        OnBackend::SetUp();
        if (!IsSkipped() && ctx().backend() == Backend::cpu) GTEST_SKIP() << "one kernel is for GPUs";
    }

    // In one kernel as in phases.
    template <class V>
    void expect_bits_of_phases(const HostCsr<V>& a, const HostCsr<V>& b) const
    {
        const auto c = ctx();
        const auto a_there = to_device(c, a.view()), b_there = to_device(c, b.view());
        const auto by = [&](const Policy& policy) {
            return host_of(c, multiply(c, a_there.view(), b_there.view(), {.force = policy}));
        };
        const auto got = by({.one_kernel = true}), want = by({.use_runs = false});
        ASSERT_TRUE(matches(got, oracle_product(a, b)));
        EXPECT_EQ(got.row_begin, want.row_begin);
        EXPECT_EQ(got.col, want.col);
        EXPECT_TRUE(same_bits(got.value, want.value));
    }
};

// Row i of A has `each(i)` nonzeros, one behind the other.
template <class V, class Each>
HostCsr<V> stairs(index_t rows, index_t cols, Each&& each)
{
    return matrix_where<V>(rows, cols, Values::reals, 5, [&](index_t i, index_t j) { return j < each(i); });
}

// Batches of 32 rows of B and of 32 of their entries, four rows at once; 128 columns a step.
TEST_P(SpgemmSmallOn, HasTheBitsOfThePhasesAtTheEndsOfBatches)
{
    const index_t lengths[]{0, 1, 3, 4, 5, 31, 32, 33, 36, 63, 64, 65, 96, 97};
    const auto length_of = [&](index_t i) { return lengths[static_cast<std::size_t>(i) % std::size(lengths)]; };
    for (const index_t cols : {97, 127, 128, 129, 300}) {
        SCOPED_TRACE(cols);
        expect_bits_of_phases(stairs<double>(29, 97, length_of), stairs<double>(97, cols, length_of));
    }
    expect_bits_of_phases(stairs<float>(29, 97, length_of), stairs<float>(97, 200, length_of));
}

TEST_P(SpgemmSmallOn, HasTheBitsOfThePhasesOnRandomMatrices)
{
    for (const std::uint64_t seed : {1u, 2u}) {
        expect_bits_of_phases(random_matrix<double>(150, 80, 0.1, Values::reals, seed),
                              random_matrix<double>(80, 700, 0.05, Values::reals, seed + 10));
        expect_bits_of_phases(random_matrix<float>(40, 300, 0.2, Values::reals, seed),
                              random_matrix<float>(300, 40, 0.3, Values::reals, seed + 10));
    }
}

// The first product of an entry is what it is, also where it is a negative zero.
TEST_P(SpgemmSmallOn, KeepsTheSignOfZero)
{
    const auto a = csr_of<double>(1, 2, {{0, 0, -1.0}, {0, 1, 1.0}}), b = csr_of<double>(2, 2, {{0, 0, 0.0}});
    const auto c = ctx();
    const auto a_there = to_device(c, a.view()), b_there = to_device(c, b.view());
    const auto got = host_of(c, multiply(c, a_there.view(), b_there.view(), {.force = Policy{.one_kernel = true}}));
    ASSERT_EQ(got.value.size(), 1u);
    EXPECT_TRUE(got.value[0] == 0 && std::signbit(got.value[0]));
}

// The longest rows that fit, and more rows than the blocks that order them have threads.
TEST_P(SpgemmSmallOn, TakesTheMostColumnsAndManyRows)
{
    expect_bits_of_phases(csr_of<double>(3, 2, {{0, 0, 2.0}, {2, 0, 3.0}, {2, 1, 0.5}}),
                          csr_of<double>(2, small::most_columns,
                                         {{0, 0, 1.0}, {0, 8191, 4.0}, {1, 8064, 5.0}, {1, 8191, 1.0}}));
    expect_bits_of_phases(stairs<double>(700, 3, [](index_t i) { return i % 4; }),
                          stairs<double>(3, 5, [](index_t i) { return i + 1; }));
    expect_bits_of_phases(stairs<double>(300, 3, [](index_t i) { return i > 290 ? 2 : 0; }),
                          stairs<double>(3, 5, [](index_t i) { return i + 1; }));
}

// Wide rows leave a block fewer warps, down to one: the last block orders more rows than it has threads.
TEST_P(SpgemmSmallOn, OrdersManyRowsWithAnyNumberOfWarps)
{
    for (const index_t cols : {8192, 4100, 2700, 1700, 1300, 1100}) {
        SCOPED_TRACE(cols);
        const auto ends = matrix_where<double>(3, cols, Values::reals, 6, [&](index_t i, index_t j) {
            return j % 1000 == i || j == cols - 1 - i;
        });
        expect_bits_of_phases(stairs<double>(300, 3, [](index_t i) { return i % 4; }), ends);
    }
    const auto ends = matrix_where<float>(3, 8192, Values::reals, 6, [](index_t i, index_t j) { return j % 999 == i; });
    expect_bits_of_phases(stairs<float>(130, 3, [](index_t i) { return i % 4; }), ends);
}

// A full C from a column and a row: more entries than were expected, so that the kernel runs again.
TEST_P(SpgemmSmallOn, RunsAgainWhereTheFirstRoomIsTooSmall)
{
    const auto column = matrix_where<double>(300, 300, Values::reals, 1, [](index_t, index_t j) { return j == 0; });
    const auto row = matrix_where<double>(300, 300, Values::reals, 2, [](index_t i, index_t) { return i == 0; });
    ASSERT_LT(small::first_room({300, 300, 300, 300, 300}), 300 * 300);
    expect_bits_of_phases(column, row);
}

// A row of A at the limit is computed; one beyond it makes the kernel give up, and C is computed in phases.
TEST_P(SpgemmSmallOn, LeavesLongRowsToThePhases)
{
    const auto b = stairs<double>(600, 40, [](index_t i) { return i % 3; });
    for (const index_t longest : {511, 512, 513, 600}) {
        SCOPED_TRACE(longest);
        const auto a = stairs<double>(40, 600, [&](index_t i) { return i == 17 ? longest : i % 5; });
        expect_bits_of_phases(a, b);
    }
}

// A budget without room for rows out of order has the phases compute C.
TEST_P(SpgemmSmallOn, LeavesSmallBudgetsToThePhases)
{
    const auto c = ctx();
    const auto a = random_matrix<double>(300, 300, 0.02, Values::reals, 3);
    const auto there = to_device(c, a.view());
    const SparseProduct want = oracle_product(a, a);
    Memory& memory = c.memory();
    const std::size_t before = memory.budget(Space::device), live = memory.live(Space::device);
    memory.reset_peak();
    const auto free = host_of(c, multiply(c, there.view(), there.view()));
    EXPECT_GT(memory.peak(Space::device) - live, 600'000u) << "rows out of order take more than the budget below";
    memory.budget(Space::device, live + 600'000);
    const auto tight = host_of(c, multiply(c, there.view(), there.view()));
    memory.budget(Space::device, before);
    EXPECT_TRUE(matches(free, want) && matches(tight, want));
    EXPECT_TRUE(same_bits(free.value, tight.value));
}

TULLE_ON_BACKENDS(SpgemmSmallOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI::spgemm
