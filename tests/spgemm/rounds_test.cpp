// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Products that send loops of kernels round once more: rows longer than a block has threads, columns further apart than
// shared memory has bits, more rows than a grid has blocks. Never left out, whatever the seed.
#include <gtest/gtest.h>

#include "spgemm/adaptive/groups.hpp"
#include "spgemm/oracle.hpp"
#include "spgemm/products.hpp"
#include "support/backends.hpp"
#include "tulle/spgemm.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::spgemm {
namespace {

using namespace tulle::test;

class SpgemmRoundsOn : public OnBackend {
protected:
    void SetUp() override
    {
        OnBackend::SetUp();
        if (!IsSkipped() && ctx().backend() == Backend::cpu) GTEST_SKIP() << "these are loops of kernels";
    }

    template <class V>
    void expect_product(const HostCsr<V>& a, const HostCsr<V>& b) const
    {
        const auto c = ctx();
        const auto a_there = to_device(c, a.view()), b_there = to_device(c, b.view());
        const SparseProduct want = oracle_product(a, b);
        for (const Policy& policy : candidates({c.backend(), c.host().threads})) {
            if ((simt::under_asan || simt::under_tsan) && !is_drawn(to_text(policy), 2)) continue;
            SCOPED_TRACE(to_text(policy));
            ASSERT_TRUE(matches(host_of(c, multiply(c, a_there.view(), b_there.view(), {.force = policy})), want));
        }
    }
};

// Rows of `each` columns drawn from `cols`, one from each of as many equal parts.
template <class V>
HostCsr<V> spread(index_t rows, index_t cols, index_t each, std::uint64_t seed)
{
    std::vector<std::tuple<index_t, index_t, V>> entries;
    const index_t part = cols / each;
    for (index_t i = 0; i < rows; ++i)
        for (index_t k = 0; k < each; ++k)
            entries.emplace_back(i,
                                 k * part +
                                     static_cast<index_t>(below(hash_of(seed, i, k), static_cast<std::uint64_t>(part))),
                                 test_value<V>(Values::integers, seed, i, k));
    return csr_of<V>(rows, cols, entries);
}

template <class V>
HostCsr<V> full(index_t rows, index_t cols)
{
    return matrix_where<V>(rows, cols, Values::integers, 1, [](index_t, index_t) { return true; });
}

TEST_P(SpgemmRoundsOn, RowsOfALongerThanABlock)
{
    expect_product(full<double>(5, 1100), spread<double>(1100, 4000, 3, 2));
}

// So many columns of C that hash tables have no room: an array takes them, window after window.
TEST_P(SpgemmRoundsOn, LongRowsOfAInWindows)
{
    expect_product(full<double>(1, 1100), spread<double>(1100, 30000, 10, 3));
}

TEST_P(SpgemmRoundsOn, RowsOfBLongerThanABlock)
{
    expect_product(full<double>(4, 3), spread<double>(3, 9000, 2400, 4));
    expect_product(full<double>(1, 3), spread<double>(3, 40000, 4000, 5));
}

TEST_P(SpgemmRoundsOn, ColumnsBeyondTheBitsOfABlock)
{
    constexpr index_t cols = 2 * map_block_columns + 1000;
    expect_product(full<double>(1, 40), spread<double>(40, cols, 230, 6));
    expect_product(full<float>(1, 40), spread<float>(40, cols, 60, 7));
}

// Bits of more than 32 words, which a warp goes through 32 at a time.
TEST_P(SpgemmRoundsOn, RanksOfMoreColumnsThanAWarpHasBits)
{
    expect_product(spread<double>(6, 30, 15, 8), spread<double>(30, 3000, 60, 9));
}

// Some rows of a warp's share are long among short ones, which the whole warp takes one after the other.
TEST_P(SpgemmRoundsOn, SeveralLongRowsInAWarp)
{
    const auto a = matrix_where<double>(70, 200, Values::integers, 10, [](index_t i, index_t j) {
        return j == i || ((i == 3 || i == 4 || i == 9) && j < 150);
    });
    expect_product(a, spread<double>(200, 300, 2, 11));
}

TULLE_ON_BACKENDS(SpgemmRoundsOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI::spgemm
