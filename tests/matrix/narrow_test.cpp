// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Values of 16 bits with a power of two for each row: which rows get one, which, and what is lost.
#include "tulle/narrow.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "support/backends.hpp"
#include "support/battery.hpp"
#include "support/host_matrix.hpp"
#include "tulle/error.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI {
namespace {

class NarrowOn : public test::OnBackend {};

constexpr double infinite = std::numeric_limits<double>::infinity();

// What narrow() gave, on the host.
struct Found {
    std::vector<double> value, scale;
    index_t scaled;
    offset_t overflowed, subnormal, zeroed;

    bool operator==(const Found&) const = default;
    double scale_of(std::size_t row) const { return scale.empty() ? 1 : scale[row]; }
};

template <class V, class From>
Found narrow_there(const Context& ctx, const test::HostCsr<From>& a, const NarrowOptions& options = {})
{
    const Csr<From> there = to_device(ctx, a.view());
    const Narrowed<V> n = narrow<V>(ctx, there.view(), options);
    const auto value = to_host<V>(ctx, n.value.span());
    const auto scale = to_host<float>(ctx, n.row_scale.span());
    Found found{{}, {scale.data(), scale.data() + scale.size()}, n.scaled, n.overflowed, n.subnormal, n.zeroed};
    for (offset_t k = 0; k < value.size(); ++k) found.value.push_back(static_cast<double>(value.data()[k]));
    return found;
}

// A row with these values, above a row with 1.
template <class From = double>
test::HostCsr<From> two_rows(const std::vector<double>& value)
{
    std::vector<std::tuple<index_t, index_t, From>> entries;
    for (std::size_t j = 0; j < value.size(); ++j)
        entries.emplace_back(0, static_cast<index_t>(j), static_cast<From>(value[j]));
    entries.emplace_back(1, 0, From(1));
    return test::csr_of<From>(2, static_cast<index_t>(value.size()), entries);
}

struct Row {
    std::vector<double> value;
    double f16_scale, bf16_scale;                        // of automatic scaling
    offset_t subnormal = 0, zeroed = 0, overflowed = 0;  // f16, after that
};

const std::vector<Row> rows{
    {{1, -2, 0.5}, 1, 1},
    {{65504, 0x1p-14}, 1, 1},
    {{65519.99}, 1, 1},  // rounds to 65504
    {{65520}, 2, 1},     // would round to infinity
    {{-70000, 3}, 2, 1},
    {{0x1.fffp15}, 2, 1},
    {{0x1.ffcp20, 1}, 32, 1},
    {{0x1.ffep20, 1}, 64, 1},  // rounds up to 2^21
    {{1e30, 1e24}, 0x1p84, 1},
    {{1e-7, -1e-6}, 0x1p-35, 1},
    {{0x1.ffcp-15}, 0x1p-30, 1},
    {{1e-30}, 0x1p-115, 1},
    {{1e-40}, 0x1p-126, 0x1p-126},
    {{65504, 0x1p-14, 0x1p-20}, 1, 1, 1},  // cannot be scaled: the row is full
    {{65504, 1e-9}, 1, 1, 0, 1},
    {{1, 0x1p-29}, 0x1p-15, 1},
    {{1, 0x1p-30}, 0x1p-15, 1, 1},
    {{1, 0x1p-41}, 0x1p-15, 1, 0, 1},
    {{1e200, 1}, 0x1p127, 0x1p127, 0, 1, 1},
    {{infinite, 4}, 1, 1},  // stays infinite, and says nothing of the others
    {{infinite, 1e6, 0}, 0x1p4, 1},
    {{0, 0}, 1, 1},
};

TEST_P(NarrowOn, ScalesRowsThatNeedIt)
{
    for (const Row& row : rows) {
        SCOPED_TRACE(::testing::PrintToString(row.value));
        const auto a = two_rows(row.value);
        const Found f16 = narrow_there<Float16>(ctx(), a), bf16 = narrow_there<Bfloat16>(ctx(), a);
        EXPECT_EQ(f16.scale_of(0), row.f16_scale);
        EXPECT_EQ(f16.scale_of(1), 1);
        EXPECT_EQ(f16.scale.empty(), row.f16_scale == 1);
        EXPECT_EQ(f16.scaled, row.f16_scale == 1 ? 0 : 1);
        EXPECT_EQ(f16.subnormal, row.subnormal);
        EXPECT_EQ(f16.zeroed, row.zeroed);
        EXPECT_EQ(f16.overflowed, row.overflowed);
        EXPECT_EQ(bf16.scale_of(0), row.bf16_scale);
        for (std::size_t k = 0; k < row.value.size(); ++k) {
            EXPECT_EQ(f16.value[k], static_cast<double>(Float16(row.value[k] / row.f16_scale)));
            EXPECT_EQ(bf16.value[k], static_cast<double>(Bfloat16(row.value[k] / row.bf16_scale)));
        }
    }
}

TEST_P(NarrowOn, IsTheSameOfFloats)
{
    for (const Row& row : rows) {
        if (row.value[0] > 1e38 && row.value[0] < infinite) continue;
        SCOPED_TRACE(::testing::PrintToString(row.value));
        EXPECT_EQ(narrow_there<Float16>(ctx(), two_rows<float>(row.value)).scale,
                  narrow_there<Float16>(ctx(), two_rows(row.value)).scale);
    }
}

TEST_P(NarrowOn, ScalesNoneOrAll)
{
    const auto a = two_rows({70000, 1e-9});
    const Found off = narrow_there<Float16>(ctx(), a, {.scaling = Scaling::off}),
                all = narrow_there<Float16>(ctx(), a, {.scaling = Scaling::rows}),
                wide = narrow_there<Bfloat16>(ctx(), a, {.scaling = Scaling::rows});
    EXPECT_TRUE(off.scale.empty());
    EXPECT_EQ(off.value, (std::vector<double>{infinite, 0, 1}));
    EXPECT_EQ(off.overflowed, 1);
    EXPECT_EQ(off.zeroed, 1);
    EXPECT_EQ(all.scale, (std::vector<double>{2, 0x1p-15}));
    EXPECT_EQ(all.value[2], 32768);
    EXPECT_EQ(all.scaled, 2);
    EXPECT_EQ(wide.scale, (std::vector<double>{65536, 1}));
}

TEST_P(NarrowOn, ScalesColumnsOfTransposedProducts)
{
    const auto a = test::csr_of<double>(2, 3, {{0, 0, 0x1p20}, {0, 2, 1.0}, {1, 0, 3.0}, {1, 2, 1e-9}});
    const Found found = narrow_there<Float16>(ctx(), a, {.op = Op::transpose});
    EXPECT_EQ(found.scale, (std::vector<double>{32, 1, 0x1p-15}));
    EXPECT_EQ(found.value, (std::vector<double>{32768, 32768, 3.0 / 32, static_cast<double>(Float16(1e-9 * 32768))}));
}

// Every value of the battery, times large and small numbers by rows: within half a unit of the last digit.
TEST_P(NarrowOn, KeepsDigitsOfTheBattery)
{
    for (auto& [name, a] : test::battery<double>(test::Values::reals)) {
        SCOPED_TRACE(name);
        std::vector<int> row;
        for (const auto& [i, j, v] : a.entries()) row.push_back(i);
        for (std::size_t k = 0; k < a.value.size(); ++k) a.value[k] *= std::pow(10.0, row[k] % 7 * 10 - 30);
        const Found found = narrow_there<Float16>(ctx(), a);
        EXPECT_EQ(found, narrow_there<Float16>(Context::cpu(1), a));
        EXPECT_EQ(found.overflowed, 0);
        for (std::size_t k = 0; k < a.value.size(); ++k) {
            const double is = found.value[k] * found.scale_of(static_cast<std::size_t>(row[k]));
            ASSERT_LE(std::abs(is - a.value[k]), 0x1p-11 * std::abs(a.value[k])) << k;
        }
    }
}

TEST_P(NarrowOn, TakesOffsetsOf32Bits)
{
    const auto a = two_rows({70000, 3});
    const Context c = ctx();  // one stream for all that follows
    const auto there = to_device(c, a.view());
    const std::vector<std::int32_t> begin(a.row_begin.begin(), a.row_begin.end());
    const auto begin_there = to_device(c, std::span<const std::int32_t>(begin));
    const Csr32View<double> view{2, 2, 3, begin_there.data(), there.col.data(), there.value.data()};
    const auto n = narrow<Float16>(c, view);
    EXPECT_EQ(n.scaled, 1);
    EXPECT_EQ(n.view(view).value, n.value.data());
    EXPECT_EQ(n.view(view).row_begin, begin_there.data());
    EXPECT_EQ(n.bytes(), 3 * sizeof(Float16) + 2 * sizeof(float));
}

TEST(Narrow, ScalingsHaveNames)
{
    for (const Scaling s : {Scaling::off, Scaling::automatic, Scaling::rows}) EXPECT_EQ(parse_scaling(to_text(s)), s);
    EXPECT_THROW(parse_scaling("row"), ValueError);
}

TULLE_ON_BACKENDS(NarrowOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI
