// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// B, and then C, of more than 2^31 numbers, as more than 2^31 bytes of them: positions must not wrap. Needs some 20 GB
// where the context works and as much on the host, so it runs only where TULLE_LARGE_TESTS is set (gpu/run sets it).
#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "tulle/context.hpp"
#include "tulle/memory.hpp"
#include "tulle/spmm.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::spmm {
namespace {

constexpr index_t n = 128, many = 17'000'000, few = 50'000;
constexpr offset_t per_row = 4;
static_assert(offset_t{many} * n > offset_t{1} << 31);

index_t column(offset_t row, offset_t k, index_t cols)
{
    return static_cast<index_t>((row * 340'007 + k * (cols / per_row) + cols - 1) % cols);
}
float entry(offset_t row, offset_t k) { return static_cast<float>((row + k) % 3 - 1); }
float number(offset_t i, offset_t j) { return static_cast<float>((i + 7 * j) % 9 - 4); }

Csr<Float16> matrix_of(const CpuQueue& q, index_t rows, index_t cols)
{
    auto a = Csr<Float16>::make(q, rows, cols, rows * per_row);
    a.sorted = false;
#pragma omp parallel for num_threads(q.threads)
    for (offset_t i = 0; i <= rows; ++i) {
        a.row_begin.data()[i] = i * per_row;
        for (offset_t k = 0; i < rows && k < per_row; ++k) {
            a.col.data()[i * per_row + k] = column(i, k, cols);
            a.value.data()[i * per_row + k] = static_cast<Float16>(entry(i, k));
        }
    }
    return a;
}

Buffer<Float16> dense_of(const CpuQueue& q, index_t rows, Layout layout)
{
    Buffer<Float16> b(q, offset_t{rows} * n);
#pragma omp parallel for num_threads(q.threads)
    for (offset_t i = 0; i < rows; ++i)
        for (offset_t j = 0; j < n; ++j)
            b.data()[layout == Layout::row_major ? i * n + j : i + j * rows] = static_cast<Float16>(number(i, j));
    return b;
}

float expected(offset_t row, offset_t j, index_t cols)
{
    float sum = 0;
    for (offset_t k = 0; k < per_row; ++k) sum += entry(row, k) * number(column(row, k, cols), j);
    return sum;
}

void check(index_t rows, index_t cols, Layout layout)
{
    const auto ctx = Context::best();
    const CpuQueue host = Context::cpu().host();
    const auto here = matrix_of(host, rows, cols);
    const auto a = to_device(ctx, here.view());
    const auto dense = dense_of(host, cols, layout);
    const auto b = to_device<Float16>(ctx, dense.span());
    const offset_t leading = layout == Layout::row_major ? n : cols;
    std::vector<Policy> policies{policy_of(Kernel::rows, {.n = n}, {ctx.backend()})};
    if (ctx.backend() == Backend::cuda)
        policies.insert(policies.end(), {{Kernel::rows, 32, OrderKind::natural, 0, 1, 64},
                                         {Kernel::panels, 1, OrderKind::natural, 128}});
    for (const Policy& policy : policies) {
        SCOPED_TRACE(to_text(policy));
        auto c = ctx.run([&](const auto& q) {
            Buffer<float> poisoned(q, offset_t{rows} * n);
            fill_bytes(q, poisoned.data(), 0xff, poisoned.bytes());
            return poisoned;
        });
        Plan<Float16, float>::make(ctx, a.view(), {.n = n, .b_layout = layout, .force = policy})
            .run({cols, n, leading, layout, b.data()}, {rows, n, n, Layout::row_major, c.data()});
        for (offset_t i = 0; i < rows; i = i + 1 < rows ? std::min<offset_t>(i + rows / 97, rows - 1) : rows) {
            const auto row = to_host(ctx, std::span<const float>(c.span()).subspan(static_cast<std::size_t>(i * n), n));
            for (offset_t j = 0; j < n; ++j)
                ASSERT_EQ(row.data()[j], expected(i, j, cols)) << "row " << i << ", column " << j;
        }
    }
}

TEST(SpmmLarge, BHasMoreThanTwoToTheThirtyOneNumbers)
{
    if (!std::getenv("TULLE_LARGE_TESTS")) GTEST_SKIP() << "TULLE_LARGE_TESTS is not set (needs 20 GB)";
    check(few, many, Layout::row_major);
    check(few, many, Layout::col_major);
}

TEST(SpmmLarge, CHasMoreThanTwoToTheThirtyOneNumbers)
{
    if (!std::getenv("TULLE_LARGE_TESTS")) GTEST_SKIP() << "TULLE_LARGE_TESTS is not set (needs 20 GB)";
    check(many, few, Layout::row_major);
}

}  // namespace
}  // namespace tulle::inline TULLE_ABI::spmm
