// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Right-hand sides of more than 2^31 numbers: indices of b and x must not wrap. Needs some 20 GB where it runs, so it
// runs only where TULLE_LARGE_TESTS is set (gpu/run sets it).
#include <gtest/gtest.h>

#include <cstdlib>

#include "tulle/memory.hpp"
#include "tulle/sptrsv.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {
namespace {

constexpr index_t large_rows = 17'000'000, sides = 130;
static_assert(offset_t{large_rows} * sides > offset_t{1} << 31);

// Row i needs row i - 1000: x_i = b_i - x_{i - 1000}, with b = 1 everywhere: ones and zeros in turns of a thousand
// large_rows.
Csr<float> large_triangle(const CpuQueue& q)
{
    auto a = Csr<float>::make(q, large_rows, large_rows, offset_t{2} * large_rows - 1000);
    for (index_t i = 0; i < large_rows; ++i) {
        const offset_t at = i < 1000 ? i : offset_t{2} * i - 1000;
        a.row_begin.data()[i] = at;
        if (i >= 1000) a.col.data()[at] = i - 1000;
        a.col.data()[i < 1000 ? at : at + 1] = i;
        a.value.data()[at] = a.value.data()[i < 1000 ? at : at + 1] = 1.0f;
    }
    a.row_begin.data()[large_rows] = a.nonzeros();
    return a;
}

float expected_at(offset_t row) { return row / 1000 % 2 == 0 ? 1.0f : 0.0f; }

void check_large(Layout layout)
{
    const auto ctx = Context::best();
    const auto here = large_triangle(Context::cpu().host());
    const auto a = to_device(ctx, here.view());
    const auto plan = Plan<float>::make(ctx, a.view(), {.right_hand_sides = sides, .checked = false});
    const offset_t leading = layout == Layout::row_major ? sides : large_rows, all = offset_t{large_rows} * sides;
    auto x = ctx.run([&](const auto& q) {
        Buffer<float> ones(q, all);
        const std::vector<float> some(1 << 20, 1.0f);
        for (offset_t at = 0; at < all; at += std::ssize(some))
            upload(q, some.data(), ones.data() + at, std::min<offset_t>(std::ssize(some), all - at));
        return ones;
    });
    plan.solve(1.0f, DenseView<const float>{large_rows, sides, leading, layout, x.data()},
               DenseView<float>{large_rows, sides, leading, layout, x.data()});
    plan.wait();
    for (index_t i = 0; i < large_rows;
         i = i + 1 < large_rows ? std::min<index_t>(i + 171'717, large_rows - 1) : large_rows)
        for (const index_t j : {0, 1, 31, 32, 127, sides - 1}) {
            const offset_t at = layout == Layout::row_major ? i * leading + j : j * leading + i;
            ASSERT_EQ(ctx.run([&](const auto& q) { return read_value(q, x.data() + at); }), expected_at(i))
                << "row " << i << ", column " << j;
        }
}

TEST(SptrsvLarge, MoreThanTwoToTheThirtyOneNumbersByRows)
{
    if (!std::getenv("TULLE_LARGE_TESTS")) GTEST_SKIP() << "TULLE_LARGE_TESTS is not set (needs 20 GB)";
    check_large(Layout::row_major);
}

TEST(SptrsvLarge, MoreThanTwoToTheThirtyOneNumbersByColumns)
{
    if (!std::getenv("TULLE_LARGE_TESTS")) GTEST_SKIP() << "TULLE_LARGE_TESTS is not set (needs 20 GB)";
    check_large(Layout::col_major);
}

}  // namespace
}  // namespace tulle::inline TULLE_ABI::sptrsv
