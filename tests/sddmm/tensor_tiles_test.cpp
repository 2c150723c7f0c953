// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Tiles on tensor cores: the bound of float for any number of columns, numbers of any size, what is not finite, and
// that a result depends on its rows of X and Y alone.
#include "sddmm/sampled_case.hpp"

#include <limits>

#include "support/backends.hpp"

namespace tulle::inline TULLE_ABI::sddmm {
namespace {

using namespace test;

constexpr Policy on_tensor_cores{0, false, true, true};

class SddmmTensorOn : public tulle::test::OnBackend {
protected:
    bool on_gpu() const { return ctx().backend() == Backend::cuda; }
};

// Two tiles in each direction, a little more than half full.
template <class V>
HostCsr<V> some_positions()
{
    return in_type<V>(matrix_where<double>(70, 90, Values::integers, 5,
                                           [](index_t i, index_t j) { return below(hash_of(3, i, j), 5) < 3; }));
}

template <class V, class C = V>
std::vector<C> sampled_there(const Context& c, const HostCsr<V>& a, const HostDense<V>& x, const HostDense<V>& y,
                             const Form& form = {})
{
    const auto there = to_device(c, a.view());
    Lent<V> x_there(c, x, form), y_there(c, y, form);
    const std::vector<C> none(a.col.size(), static_cast<C>(std::numeric_limits<float>::quiet_NaN()));
    auto to = to_device<C>(c, std::span<const C>(none));
    multiply(c, there.view(), x_there.view(), y_there.view(), to.span(), {.force = on_tensor_cores});
    return host_vector(c, to);
}

// A row or column i of numbers 1 to 2 with all their bits, of the i-th size.
HostDense<float> of_sizes(index_t rows, index_t k, const std::vector<float>& sizes, std::uint64_t which)
{
    auto m = dense<float>(rows, k, Values::reals, which);
    for (index_t i = 0; i < rows; ++i)
        for (index_t j = 0; j < k; ++j)
            m(i, j) =
                (1 + std::abs(std::fmod(m(i, j) * 0.7f, 1.0f))) * sizes[static_cast<std::size_t>(i) % sizes.size()];
    return m;
}

void check_sizes(const Context& c, const std::vector<float>& of_x, const std::vector<float>& of_y, index_t k = 24)
{
    const auto a = some_positions<float>();
    const auto x = of_sizes(a.rows, k, of_x, 3), y = of_sizes(a.cols, k, of_y, 4);
    EXPECT_TRUE(is_sampled(a, false, {}, x, y, a.value, sampled_there(c, a, x, y), false)) << of_x[0];
}

// Positive numbers, whose errors would add up where tensor cores truncate; columns that fill units, or do not.
TEST_P(SddmmTensorOn, KeepTheBoundOfFloat)
{
    if (!on_gpu()) GTEST_SKIP() << "tiles are for GPUs";
    for (const index_t k : {19, 20, 31, 32, 33, 64, 70, 300}) check_sizes(ctx(), {1, 1.5f}, {1}, k);
}

template <class V, class C>
void check_halves(const Context& c)
{
    const auto a = some_positions<V>();
    for (const index_t k : {20, 61, 64}) {
        const auto x = dense<V>(a.rows, k, Values::reals, 3), y = dense<V>(a.cols, k, Values::reals, 4);
        const auto got = sampled_there<V, C>(c, a, x, y, {k == 64 ? Layout::col_major : Layout::row_major, 4});
        EXPECT_TRUE(is_sampled(a, false, {}, x, y, std::vector<C>(a.col.size()), got, false)) << name_of<V>() << k;
    }
}

TEST_P(SddmmTensorOn, KeepTheBoundOfSixteenBits)
{
    if (!on_gpu()) GTEST_SKIP() << "tiles are for GPUs";
    check_halves<Float16, float>(ctx());
    check_halves<Bfloat16, float>(ctx());
}

TEST_P(SddmmTensorOn, SplitNumbersOfAnySize)
{
    if (!on_gpu()) GTEST_SKIP() << "tiles are for GPUs";
    const std::vector<float> tiny{0x1p-149f, 0x1p-140f, 0x1p-126f, 0x1p-119f, 0x1p-111f, 0x1p-110f, 0x1p-109f},
        large{0x1p60f, 0x1p100f, 1, 0x1p-10f};
    check_sizes(ctx(), tiny, large);
    check_sizes(ctx(), large, tiny);
    check_sizes(ctx(), {1, 0x1p125f, 0x1p126f, 0x1.fffp126f}, {0x1p-8f, 0x1p-20f});
}

// Numbers of 16 bits below the least normal one beside much larger ones.
template <class V>
void check_subnormal(const Context& c, float least)
{
    const auto a = some_positions<V>();
    auto x = dense<V>(a.rows, 24, Values::reals, 3), y = dense<V>(a.cols, 24, Values::reals, 4);
    for (index_t j = 0; j < 24; ++j) {
        for (index_t i = 0; i < a.rows; ++i)
            x(i, j) = static_cast<V>(least * static_cast<float>(1 + (i * 7 + j * 3) % 21));
        for (index_t i = 0; i < a.cols; ++i)
            y(i, j) = static_cast<V>((j % 2 == 0 ? 1.0f : 0x1p-9f) * static_cast<float>(1 + (i + j) % 5));
    }
    const auto got = sampled_there<V, float>(c, a, x, y);
    EXPECT_TRUE(is_sampled(a, false, {}, x, y, std::vector<float>(a.col.size()), got, false)) << name_of<V>();
}

TEST_P(SddmmTensorOn, KeepSubnormalNumbersOfSixteenBits)
{
    if (!on_gpu()) GTEST_SKIP() << "tiles are for GPUs";
    check_subnormal<Float16>(ctx(), 0x1p-24f);
    check_subnormal<Bfloat16>(ctx(), 0x1p-133f);
}

// Rows with numbers that are not finite, too large or too small for parts have sums of float; all others the bits they
// have without such rows beside them.
TEST_P(SddmmTensorOn, LeaveOtherRowsAlone)
{
    if (!on_gpu()) GTEST_SKIP() << "tiles are for GPUs";
    constexpr float infinity = std::numeric_limits<float>::infinity();
    const auto a = some_positions<float>();
    const auto x = dense<float>(a.rows, 40, Values::reals, 3), y = dense<float>(a.cols, 40, Values::reals, 4);
    auto changed_x = x, changed_y = y;
    changed_x(3, 39) = infinity;
    changed_x(17, 0) = std::nanf("");
    changed_x(66, 20) = 0x1p-140f;
    changed_y(5, 1) = -infinity;
    changed_y(80, 33) = std::numeric_limits<float>::max();
    const auto is_changed = [](index_t i, index_t j) { return i == 3 || i == 17 || i == 66 || j == 5 || j == 80; };
    const auto before = sampled_there(ctx(), a, x, y), after = sampled_there(ctx(), a, changed_x, changed_y);
    std::size_t p = 0;
    for (const auto& [i, j, v] : a.entries()) {
        const double is = after[p];
        if (is_changed(i, j)) {
            const Dot want = dot_of(changed_x, i, changed_y, j);
            const auto sum = static_cast<double>(want.sum);
            if (!std::isfinite(sum)) EXPECT_TRUE(std::isnan(sum) ? std::isnan(is) : is == sum) << i << ", " << j;
            else EXPECT_NEAR(is, sum, static_cast<double>(want.magnitude) * 0x1p-18) << i << ", " << j;
        } else EXPECT_TRUE(same_bits(std::vector{before[p]}, std::vector{after[p]})) << i << ", " << j;
        ++p;
    }
}

TULLE_ON_BACKENDS(SddmmTensorOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI::sddmm
