// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Products that send loops of kernels round once more: rows longer than a block has threads, columns further apart than shared memory has bits, more rows than
// a grid has blocks. Never left out, whatever the seed.
#include <gtest/gtest.h>

#include "spgemm/oracle.hpp"
#include "spgemm/products.hpp"
#include "support/backends.hpp"
#include "tulle/matrix/move.hpp"
#include "tulle/spgemm/groups.hpp"
#include "tulle/spgemm/spgemm.hpp"

namespace tulle::spgemm {
namespace {

using namespace tulle::test;

class SpgemmRoundsOn : public OnBackend {
protected:
    void SetUp() override
    {
        OnBackend::SetUp();
        if (!IsSkipped() && ctx().backend() == Backend::cpu) GTEST_SKIP() << "these are loops of kernels";
    }

    void expect_product(const HostCsr<double>& a, const HostCsr<double>& b) const
    {
        const auto c = ctx();
        const auto a_there = to_device(c, a.view()), b_there = to_device(c, b.view());
        const SparseProduct want = oracle_product(a, b);
        for (const Policy& policy : candidates({c.backend(), c.host().threads})) {
            if ((simt::under_asan || simt::under_tsan) && !is_drawn(to_text(policy), 1)) continue;
            SCOPED_TRACE(to_text(policy));
            ASSERT_TRUE(matches(host_of(c, multiply(c, a_there.view(), b_there.view(), {.force = policy})), want));
        }
    }
};

// Rows of `each` columns drawn from `cols`, one from each of as many equal parts.
HostCsr<double> spread(index_t rows, index_t cols, index_t each, std::uint64_t seed)
{
    std::vector<std::tuple<index_t, index_t, double>> entries;
    const index_t part = cols / each;
    for (index_t i = 0; i < rows; ++i)
        for (index_t k = 0; k < each; ++k)
            entries.emplace_back(i, k * part + static_cast<index_t>(below(hash_of(seed, i, k), static_cast<std::uint64_t>(part))), test_value<double>(Values::integers, seed, i, k));
    return csr_of<double>(rows, cols, std::move(entries));
}

TEST_P(SpgemmRoundsOn, RowsOfALongerThanABlock) { expect_product(matrix_where<double>(5, 1100, Values::integers, 1, [](index_t, index_t) { return true; }), spread(1100, 4000, 3, 2)); }

TEST_P(SpgemmRoundsOn, RowsOfBLongerThanABlock) { expect_product(matrix_where<double>(4, 3, Values::integers, 3, [](index_t, index_t) { return true; }), spread(3, 9000, 2400, 4)); }

TEST_P(SpgemmRoundsOn, ColumnsBeyondTheBitsOfABlock)
{
    constexpr index_t cols = 2 * map_block_columns + 1000;
    expect_product(matrix_where<double>(3, 40, Values::integers, 5, [](index_t i, index_t j) { return (i + j) % 4 != 0; }), spread(40, cols, 60, 6));
}

TULLE_ON_BACKENDS(SpgemmRoundsOn);

}  // namespace
}  // namespace tulle::spgemm
