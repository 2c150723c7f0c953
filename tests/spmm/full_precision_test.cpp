// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Nearly dense matrices on tensor cores in full precision: floats split into two tf32 numbers, and doubles. Every width
// and number of parts, numbers that are not finite, that are subnormal, or nearly too large; and the choice.
#include "spmm/dense_case.hpp"

#include "support/backends.hpp"

namespace tulle::inline TULLE_ABI::spmm {
namespace {

using namespace test;

class SpmmFullPrecisionOn : public tulle::test::OnBackend {
protected:
    bool on_gpu() const { return ctx().backend() == Backend::cuda; }
};

template <class Go>
void for_floats_and_doubles(Go&& go)
{
    go(float());
    go(double());
}

// Rows of B of whole pieces of 16 bytes go to tensor cores, others to the row kernel.
template <class V>
void check_battery(const Context& c, Values values)
{
    int k = 0;
    for (const auto& [name, in_double] : battery<double>(values)) {
        const index_t n = std::array{8, 31, 40, 100, 136}[static_cast<std::size_t>(++k % 5)];
        if (!in_double.unique || !is_drawn(name + name_of<V>(), 2)) continue;
        const auto a = in_type<V>(in_double);
        const Op op = k % 3 == 0 ? Op::transpose : Op::none;
        const bool t = op == Op::transpose;
        const auto there = to_device(c, a.view());
        const auto b = dense<V>(t ? a.rows : a.cols, n, values, 3);
        const auto before = dense<V>(t ? a.cols : a.rows, n, values, 4);
        const Form form_b{k % 4 == 0 ? Layout::col_major : Layout::row_major, (4 - n % 4) % 4, k % 7 == 0 ? 56u : 64u},
            form_c{k % 4 == 1 ? Layout::col_major : Layout::row_major, k % 2 * 2};
        const Scalars s = k % 2 ? Scalars{1, 0} : Scalars{-2, 0.5};
        const Policy policy = whole(32 << k % 3 % 2, 1 << k / 3 % 4);
        SCOPED_TRACE(name + ", " + name_of<V>() + ", n = " + std::to_string(n) + ", " + to_text(policy));
        Lent<V> b_there(c, b, form_b), c_there(c, before, form_c);
        const auto plan = Plan<V>::make(
            c, there.view(),
            {.op = op, .n = n, .b_layout = k % 8 == 0 ? Layout::col_major : Layout::row_major, .force = policy});
        plan.run(static_cast<V>(s.alpha), b_there.view(), static_cast<V>(s.beta), c_there.view());
        EXPECT_TRUE(is_product(a, t, s, b, before, c_there.take(), values == Values::integers, false,
                               std::is_same_v<V, float>));
    }
}

TEST_P(SpmmFullPrecisionOn, MultiplyTheBattery)
{
    if (!on_gpu()) GTEST_SKIP() << "the kernel is for GPUs";
    for_floats_and_doubles([&](auto v) {
        check_battery<decltype(v)>(ctx(), Values::integers);
        check_battery<decltype(v)>(ctx(), Values::reals);
    });
}

// Numbers with all their bits in rows of one nonzero, where nothing hides what a product has lost; the same bits twice.
template <class V>
void check_single_products(const Context& c, const Policy& policy)
{
    const auto a = in_type<V>(
        matrix_where<double>(70, 70, Values::reals, 5, [](index_t i, index_t j) { return i == j || i + j == 90; }));
    const auto there = to_device(c, a.view());
    const auto b = dense<V>(70, 64, Values::reals, 3), before = dense<V>(70, 64, Values::reals, 4);
    Lent<V> b_there(c, b, {}), first(c, before, {}), second(c, before, {});
    const auto plan = Plan<V>::make(c, there.view(), {.n = 64, .force = policy});
    plan.run(b_there.view(), first.view());
    plan.run(b_there.view(), second.view());
    const auto x = first.take(), y = second.take();
    EXPECT_TRUE(is_product(a, false, {}, b, before, x, false, false, std::is_same_v<V, float>)) << to_text(policy);
    EXPECT_TRUE(same_bits(x.at, y.at));
}

TEST_P(SpmmFullPrecisionOn, KeepTheBitsOfSingleProducts)
{
    if (!on_gpu()) GTEST_SKIP() << "the kernel is for GPUs";
    for_floats_and_doubles([&](auto v) {
        for (const int parts : {1, 2, 4, 8})
            if (is_drawn(name_of<decltype(v)>() + std::to_string(parts), 2))
                check_single_products<decltype(v)>(ctx(), whole(parts % 3 == 2 ? 64 : 32, parts));
        for (const int width : {32, 64}) check_single_products<decltype(v)>(ctx(), whole(width, 2, 2));
    });
}

// A panel whose columns several clusters share, twice: their counters are ready again. A plan for fewer columns of B
// than there are has room for some of them at a time. Sums of more than eight clusters are added up in rounds.
TEST_P(SpmmFullPrecisionOn, ShareLongRowsAmongClusters)
{
    if (!on_gpu()) GTEST_SKIP() << "the kernel is for GPUs";
    const auto c = ctx();
    const auto in_double = matrix_where<double>(70, 600, Values::integers, 5,
                                                [](index_t i, index_t j) { return below(hash_of(3, i, j), 2) != 0; });
    for_floats_and_doubles([&](auto v) {
        using V = decltype(v);
        const auto a = in_type<V>(in_double);
        const auto there = to_device(c, a.view());
        const auto b = dense<V>(600, 40, Values::integers, 3), before = dense<V>(70, 40, Values::integers, 4);
        for (const auto& [width, parts, clusters, n] : {std::tuple{32, 2, 16, 40}, std::tuple{32, 8, 2, 12},
                                                        std::tuple{64, 2, 4, 40}, std::tuple{64, 8, 2, 40}}) {
            if (!is_drawn(name_of<V>() + std::to_string(width + parts), 1)) continue;
            const auto plan = Plan<V>::make(c, there.view(), {.n = n, .force = whole(width, parts, clusters)});
            Lent<V> b_there(c, b, {}), first(c, before, {}), second(c, before, {});
            plan.run(V(2), b_there.view(), V(-1), first.view());
            plan.run(V(2), b_there.view(), V(-1), second.view());
            const auto x = first.take(), y = second.take();
            EXPECT_TRUE(is_product(a, false, {2, -1}, b, before, x, true, false, std::is_same_v<V, float>))
                << width << parts;
            EXPECT_TRUE(same_bits(x.at, y.at));
        }
    });
}

TEST_P(SpmmFullPrecisionOn, KeepWhatIsNotFiniteWhereItBelongs)
{
    if (!on_gpu()) GTEST_SKIP() << "the kernel is for GPUs";
    const auto c = ctx();
    constexpr double infinity = std::numeric_limits<double>::infinity();
    for_floats_and_doubles([&](auto v) {
        using V = decltype(v);
        if (simt::under_tsan && std::is_same_v<V, double>) return;
        auto a = in_type<V>(
            matrix_where<double>(90, 80, Values::integers, 5, [](index_t i, index_t j) { return (i + j) % 5 == 0; }));
        for (V& x : a.value)
            if (x == V{0}) x = V{2};
        a.value[17] = static_cast<V>(infinity);
        a.value[40] = static_cast<V>(-infinity);
        const auto there = to_device(c, a.view());
        auto b = dense<V>(80, 16, Values::integers, 3);
        b(3, 4) = static_cast<V>(infinity);
        b(3, 5) = static_cast<V>(std::nan(""));
        b(60, 8) = static_cast<V>(-infinity);
        Lent<V> b_there(c, b, {}), c_there(c, dense<V>(90, 16, Values::integers, 4), {});
        Plan<V>::make(c, there.view(), {.n = 16, .force = whole(32, std::is_same_v<V, float> ? 2 : 4)})
            .run(b_there.view(), c_there.view());
        EXPECT_TRUE(is_product_entry_by_entry(a, b, c_there.take()));
    });
}

// Positive numbers of the given sizes, by rows of A and columns of B, with as many bits as numbers of such a size have;
// B in powers of two where it is `plain`.
void check_sizes(const Context& c, const std::vector<float>& of_a, const std::vector<float>& of_b, bool plain = false)
{
    const auto number = [](float value, const std::vector<float>& sizes, index_t which) {
        return (1 + std::abs(std::fmod(value * 0.7f, 1.0f))) * sizes[static_cast<std::size_t>(which) % sizes.size()];
    };
    auto in_double =
        matrix_where<double>(40, 40, Values::reals, 5, [](index_t i, index_t j) { return (i + j) % 3 == 0; });
    auto a = in_type<float>(in_double);
    std::size_t k = 0;
    for (const auto& [i, j, v] : in_double.entries()) a.value[k++] = number(static_cast<float>(v), of_a, i);
    auto b = dense<float>(40, 32, Values::reals, 3);
    for (index_t i = 0; i < 40; ++i)
        for (index_t j = 0; j < 32; ++j) b(i, j) = number(plain ? 0.0f : b(i, j), of_b, j);
    const auto there = to_device(c, a.view());
    const auto before = dense<float>(40, 32, Values::reals, 4);
    Lent<float> b_there(c, b, {}), c_there(c, before, {});
    Plan<float>::make(c, there.view(), {.n = 32, .force = whole(32, 1)}).run(b_there.view(), c_there.view());
    EXPECT_TRUE(is_product(a, false, {}, b, before, c_there.take(), false, false, true));
}

// Floats at both ends of their range. A sum that is not finite has all sums of its slab added up again, so that what
// overflows is apart from what is small.
TEST_P(SpmmFullPrecisionOn, SplitNumbersOfAnySize)
{
    if (!on_gpu()) GTEST_SKIP() << "the kernel is for GPUs";
    const std::vector<float> tiny{0x1p-126f, 0x1p-118f}, large{0x1p60f, 0x1p100f, 1, 0x1p-10f};
    check_sizes(ctx(), tiny, large);
    check_sizes(ctx(), large, tiny);
    check_sizes(ctx(), {0x1p-149f, 0x1p-140f, 0x1p-126f}, large, true);
    check_sizes(ctx(), {1, 0x1p125f, 0x1p127f}, {0x1p-5f, 0x1p-20f});
}

TEST_P(SpmmFullPrecisionOn, TakeNewValuesAndRowsOfBThatAreNoPieces)
{
    if (!on_gpu()) GTEST_SKIP() << "the kernel is for GPUs";
    const auto c = ctx();
    for_floats_and_doubles([&](auto v) {
        using V = decltype(v);
        const auto a = in_type<V>(random_matrix<double>(80, 60, 0.4, Values::integers, 31));
        auto changed = a;
        for (V& x : changed.value) x = 3 * x + 1;
        const auto before = to_device(c, a.view()), after = to_device(c, changed.view());
        auto plan = Plan<V>::make(c, before.view(), {.n = 16, .force = whole(32, 2)});
        plan.update_values(after.view());
        for (const index_t n : {16, 7}) {
            const auto b = dense<V>(60, n, Values::integers, 3), old = dense<V>(80, n, Values::integers, 4);
            Lent<V> b_there(c, b, {}), c_there(c, old, {});
            plan.run(b_there.view(), c_there.view());
            EXPECT_TRUE(is_product(changed, false, {}, b, old, c_there.take(), true, false)) << n;
        }
    });
}

// Long rows of a nearly dense matrix; not where the caller says in which order rows are added up.
TEST_P(SpmmFullPrecisionOn, AreChosenForNearlyDenseMatrices)
{
    const auto c = ctx();
    for_floats_and_doubles([&](auto v) {
        using V = decltype(v);
        const auto a = in_type<V>(matrix_where<double>(100, 256, Values::integers, 5, [](index_t i, index_t j) {
            return below(hash_of(3, i, j), 3) != 0;
        }));
        const auto there = to_device(c, a.view());
        const auto kernel = [&](const Options& options) {
            return Plan<V>::make(c, there.view(), options).policy().kernel;
        };
        EXPECT_EQ(kernel({.n = 64}), on_gpu() ? Kernel::dense : Kernel::rows);
        EXPECT_EQ(kernel({.n = 64, .piece = 0}), Kernel::rows);
        EXPECT_EQ(kernel({.n = 64, .expected_calls = 1}), Kernel::rows);
        EXPECT_EQ(kernel({.n = 4}), Kernel::rows);
        EXPECT_EQ(kernel({.n = 63}), Kernel::rows) << "rows of B that are no whole pieces";
        const std::string text = Plan<V>::make(c, there.view(), {.n = 64}).describe();
        const bool split = on_gpu() && sizeof(V) == 4;
        EXPECT_EQ(text.find("three tf32 products") != std::string::npos, split) << text;
    });
}

TULLE_ON_BACKENDS(SpmmFullPrecisionOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI::spmm
