// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Parts of matrices whose dimensions are at the ends of 8 and 16 bits, or whose columns reach 2^31, whose arrays end
// where the memory does: cut and merged, nothing is lost.
#include <gtest/gtest.h>

#include "support/backends.hpp"
#include "support/battery.hpp"
#include "support/exact.hpp"
#include "tulle/convert.hpp"
#include "tulle/partition.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::partition {
namespace {

using namespace tulle::test;

class PartitionLimitsOn : public OnBackend {};

template <class V>
void expect_equal_rows(const HostCsr<V>& got, const HostCsr<V>& want)
{
    EXPECT_EQ(got.cols, want.cols);
    EXPECT_EQ(got.row_begin, want.row_begin);
    EXPECT_EQ(got.col, want.col);
    EXPECT_EQ(got.value, want.value);
}

// By rows, by columns of the transpose (the same arrays), and as coordinates.
void check_parts(const Context& c, const std::string& name, const HostCsr<double>& a)
{
    const ExactCsr<double> there(c, a);
    for (const int n : {1, 2, 3, 8})
        for (const Rule rule : {Rule::exact, Rule::whole, Rule::tolerant}) {
            if (!is_drawn(name + std::to_string(n) + std::string(to_text(rule)), 6)) continue;
            SCOPED_TRACE(name + ", " + std::to_string(n) + " parts, " + std::string(to_text(rule)));
            const auto by_rows = partition(c, there.view(), n, {.rule = rule});
            expect_equal_rows(host_of(c, merge<double>(c, by_rows.part)), a);
            const auto by_columns = partition(c, transposed(there.view()), n, {.rule = rule});
            expect_equal_rows(host_of(c, transposed(view_of(merge<double>(c, by_columns.part)))), a);
            const auto coo = to_coo(c, there.view());
            const auto entries = partition(c, coo.view(), n, {.rule = rule});
            expect_equal_rows(host_of(c, to_csr(c, view_of(merge<double>(c, entries.part)))), a);
        }
}

TEST_P(PartitionLimitsOn, DimensionsAndDistancesAtTheEndsOf8And16Bits)
{
    const auto c = ctx();
    for (const auto& [name, a] : near_limits<double>()) check_parts(c, name, a);
}

TEST_P(PartitionLimitsOn, ColumnsUpTo31Bits)
{
    const auto c = ctx();
    for (const auto& [name, a] : hypersparse<double>()) check_parts(c, name, a);
}

TEST_P(PartitionLimitsOn, RowsAroundEveryBatch)
{
    const auto c = ctx();
    for (const index_t n : sizes_around_batches(1024)) {
        check_parts(c, "a row of " + std::to_string(n), matrix_of_lengths<double>({1, n, 1}, n, 5));
        check_parts(c, std::to_string(n) + " rows",
                    matrix_of_lengths<double>(std::vector<index_t>(static_cast<std::size_t>(n), 1), 1, 5));
    }
}

TULLE_ON_BACKENDS(PartitionLimitsOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI::partition
