// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// More than 2^31 nonzeros: offsets, positions and grids must not wrap. Needs some 40 GB of host memory and 20 GB on the
// GPU, so it runs only where TULLE_LARGE_TESTS is set (gpu/run sets it).
#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "tulle/context.hpp"
#include "tulle/spmv.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::spmv {
namespace {

constexpr index_t rows = 4'200'000, cols = 4'000'000;
constexpr offset_t per_row = 520;  // 2 184 000 000 nonzeros
static_assert(offset_t{rows} * per_row > offset_t{1} << 31);

index_t column(offset_t row, offset_t k) { return static_cast<index_t>((row * 31 + k * 7687) % cols); }
float entry(offset_t row, offset_t k) { return static_cast<float>((row + k) % 3 - 1); }

Csr<float> large_matrix(const CpuQueue& q)
{
    auto a = Csr<float>::make(q, rows, cols, offset_t{rows} * per_row);
    a.sorted = false;
#pragma omp parallel for num_threads(q.threads)
    for (offset_t i = 0; i <= rows; ++i) {
        a.row_begin.data()[i] = i * per_row;
        for (offset_t k = 0; i < rows && k < per_row; ++k) {
            a.col.data()[i * per_row + k] = column(i, k);
            a.value.data()[i * per_row + k] = entry(i, k);
        }
    }
    return a;
}

float expected(offset_t row)
{
    float sum = 0;
    for (offset_t k = 0; k < per_row; ++k) sum += entry(row, k) * static_cast<float>(column(row, k) % 5);
    return sum;
}

TEST(SpmvLarge, WorksBeyondTwoToTheThirtyOneNonzeros)
{
    if (!std::getenv("TULLE_LARGE_TESTS")) GTEST_SKIP() << "TULLE_LARGE_TESTS is not set (needs 40 GB of host memory)";
    const auto ctx = Context::best();
    const auto host = large_matrix(Context::cpu().host());
    const auto a = to_device(ctx, host.view());
    std::vector<float> x(cols), y(rows);
    for (std::size_t j = 0; j < x.size(); ++j) x[j] = static_cast<float>(j % 5);
    const auto there = to_device<float>(ctx, std::span<const float>(x));
    auto result = to_device<float>(ctx, std::span<const float>(y));
    for (const Kernel kernel : {Kernel::rows, Kernel::split}) {
        const auto plan =
            Plan<float>::make(ctx, a.view(),
                              {.force = Policy{kernel, ctx.backend() == Backend::cpu && kernel == Kernel::rows ? 4 : 32,
                                               false}});
        plan.run(there.span(), result.span());
        const auto got = to_host<float>(ctx, std::span<const float>(result.span()));
        for (offset_t i = 0; i < rows; i += 997)
            ASSERT_EQ(got.data()[i], expected(i)) << to_text(kernel) << ", row " << i;
        ASSERT_EQ(got.data()[rows - 1], expected(rows - 1));
    }
}

}  // namespace
}  // namespace tulle::inline TULLE_ABI::spmv
