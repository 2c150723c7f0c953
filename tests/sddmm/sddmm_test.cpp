// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// c = alpha (X Y^T) at the positions of A [times the values of A] + beta c as a user meets it: every type, policy and
// layout, any number of columns; what is refused, and how.
#include "sddmm/sampled_case.hpp"

#include <limits>

#include "support/backends.hpp"
#include "support/faults.hpp"

namespace tulle::inline TULLE_ABI::sddmm {
namespace {

using namespace test;

class SddmmOn : public tulle::test::OnBackend {};

template <class T>
Buffer<T> there_of(const Context& c, const std::vector<T>& v)
{
    return to_device<T>(c, std::span<const T>(v));
}

template <class C>
std::vector<C> results_before(std::size_t n, Values values, double beta)
{
    std::vector<C> c(n);
    for (std::size_t p = 0; p < n; ++p)
        c[p] = beta == 0 ? static_cast<C>(std::numeric_limits<float>::quiet_NaN())
                         : static_cast<C>(static_cast<double>(below(hash_of(5, p), 9)) -
                                          (values == Values::integers ? 4.0 : 3.7));
    return c;
}

template <class V, class C>
void check_battery(const Context& ctx, Values values)
{
    const bool exact = values == Values::integers;
    for (const auto& [name, in_double] : battery<double>(values)) {
        const auto a = in_type<V>(in_double, exact || !std::is_same_v<V, Float16> ? 1 : 0x1p-12);
        const auto there = to_device(ctx, a.view());
        int turn = 0;
        for (const index_t k : {0, 1, 16, 33, 64, 200})
            for (const Policy& policy : candidates(ctx.backend()))
                for (const bool scaled : {false, true}) {
                    ++turn;
                    const std::string what = name + ", " + name_of<V>() + " to " + name_of<C>() +
                                             ", k = " + std::to_string(k) + ", " + to_text(policy) +
                                             (scaled ? ", scaled" : "");
                    if (turn % (build::simulated ? 1 : 3) != 0 || !is_drawn(what, 40)) continue;
                    SCOPED_TRACE(what);
                    const Form form_x{turn % 4 == 3 ? Layout::col_major : Layout::row_major, turn % 3 * 4,
                                      turn % 5 == 4 ? 61u : 64u};
                    const Form form_y{turn % 7 == 3 ? Layout::col_major : Layout::row_major, turn % 2 * 8, 64};
                    const Scalars s = turn % 2 ? Scalars{1, 0} : Scalars{-2, 0.5};
                    const auto x = dense<V>(a.rows, k, values, 3), y = dense<V>(a.cols, k, values, 4);
                    const auto before = results_before<C>(a.col.size(), values, s.beta);
                    Lent<V> x_there(ctx, x, form_x), y_there(ctx, y, form_y);
                    auto c = there_of(ctx, before);
                    multiply(ctx, there.view(), static_cast<Sum<V>>(s.alpha), x_there.view(), y_there.view(),
                             static_cast<Sum<V>>(s.beta), c.span(), {.scaled = scaled, .force = policy});
                    EXPECT_TRUE(is_sampled(a, scaled, s, x, y, before, host_vector(ctx, c), exact && k <= 64));
                }
    }
}

TEST_P(SddmmOn, IsExactForIntegers)
{
    for_each_type([&](auto v, auto c) { check_battery<decltype(v), decltype(c)>(ctx(), Values::integers); });
}

TEST_P(SddmmOn, StaysWithinItsBoundForReals)
{
    for_each_type([&](auto v, auto c) { check_battery<decltype(v), decltype(c)>(ctx(), Values::reals); });
}

TEST_P(SddmmOn, MultipliesByHand)
{
    const auto c = ctx();
    const auto there = to_device(c, csr_of<float>(2, 3, {{0, 0, 10.0f}, {0, 2, 2.0f}, {1, 1, -1.0f}}).view());
    Lent<float> x(c, {2, 2, {1, 2, 3, 4}}, {}), y(c, {3, 2, {1, 0, 0, 1, 1, 1}}, {});
    auto to = there_of<float>(c, {9, 9, 9});
    multiply(c, there.view(), x.view(), y.view(), to.span());
    EXPECT_EQ(host_vector(c, to), (std::vector<float>{1, 3, 4}));
    multiply(c, there.view(), 2, x.view(), y.view(), 1, to.span(), {.scaled = true});
    EXPECT_EQ(host_vector(c, to), (std::vector<float>{21, 15, -4}));
}

// X Y^T at the positions of A is Y X^T at those of A transposed.
TEST_P(SddmmOn, ExchangingFactorsTransposes)
{
    const auto c = ctx();
    const auto a = random_matrix<double>(40, 30, 0.1, Values::integers, 3);
    std::vector<std::tuple<index_t, index_t, double>> turned;
    for (const auto& [i, j, v] : a.entries()) turned.emplace_back(j, i, v);
    const auto t = csr_of<double>(30, 40, turned);
    const auto x = dense<double>(40, 20, Values::integers, 1), y = dense<double>(30, 20, Values::integers, 2);
    Lent<double> x_there(c, x, {}), y_there(c, y, {});
    const auto a_there = to_device(c, a.view()), t_there = to_device(c, t.view());
    auto left = there_of(c, a.value), right = there_of(c, t.value);
    multiply(c, a_there.view(), x_there.view(), y_there.view(), left.span());
    multiply(c, t_there.view(), y_there.view(), x_there.view(), right.span());
    auto l = a, r = t;
    l.value = host_vector(c, left);
    r.value = host_vector(c, right);
    std::vector<std::tuple<index_t, index_t, double>> back;
    for (const auto& [i, j, v] : r.entries()) back.emplace_back(j, i, v);
    EXPECT_EQ(csr_of<double>(40, 30, back).value, l.value);
}

TEST_P(SddmmOn, RunAllocatesNothingAndRepeatsItsBits)
{
    const auto c = ctx();
    const auto a = random_matrix<float>(90, 70, 0.2, Values::reals, 3);
    const auto there = to_device(c, a.view());
    Lent<float> x(c, dense<float>(90, 37, Values::reals, 1), {}), y(c, dense<float>(70, 37, Values::reals, 2), {});
    auto first = there_of(c, a.value), second = there_of(c, a.value);
    const auto plan = Plan<float>::make(c, there.view(), {.k = 37});
    c.memory().fail_at(0, Memory::Fail::for_ever);
    plan.run(x.view(), y.view(), first.span());
    plan.run(x.view(), y.view(), second.span());
    c.memory().fail_at(-1);
    EXPECT_TRUE(same_bits(host_vector(c, first), host_vector(c, second)));
}

// A result depends on its two rows, not on where in A it stands: equal positions have equal bits.
TEST_P(SddmmOn, EveryPositionIsAddedUpInTheSameOrder)
{
    const auto c = ctx();
    HostCsr<float> a{.rows = 3, .cols = 2, .row_begin = {0, 0, 43, 50}, .col = {}, .value = {}, .unique = false};
    a.col.assign(50, 1);
    a.value.assign(50, 1.0f);
    const auto there = to_device(c, a.view());
    auto x = dense<float>(3, 45, Values::reals, 1);
    for (index_t j = 0; j < 45; ++j) x(2, j) = x(1, j);
    Lent<float> x_there(c, x, {}), y(c, dense<float>(2, 45, Values::reals, 2), {});
    for (const Policy& policy : candidates(c.backend())) {
        auto to = there_of(c, a.value);
        multiply(c, there.view(), x_there.view(), y.view(), to.span(), {.force = policy});
        const auto got = host_vector(c, to);
        EXPECT_TRUE(same_bits(got, std::vector<float>(50, got[0]))) << to_text(policy);
    }
}

// Several tiles in both directions, the last ones narrow; columns that are copied to shared memory in one, two, three
// and five turns; some positions stored twice, and tiles, rows and columns without any.
template <class V, class C>
void check_tiles(const Context& ctx, const Policy& policy)
{
    std::vector<std::tuple<index_t, index_t, double>> entries;
    for (const auto& [i, j, v] : random_matrix<double>(150, 200, 0.4, Values::integers, 3).entries())
        if (i / 64 != j / 64 && i % 11 != 3 && j % 13 != 5)
            entries.insert(entries.end(), j % 17 == 0 ? 2 : 1, {i, j, v});
    auto a = in_type<V>(csr_of<double>(150, 200, entries));
    a.unique = false;
    const auto there = to_device(ctx, a.view());
    for (const index_t k : {7, 64, 65, 130, 136}) {
        SCOPED_TRACE(name_of<V>() + ", k = " + std::to_string(k));
        const auto x = dense<V>(150, k, Values::reals, 1), y = dense<V>(200, k, Values::reals, 2);
        Lent<V> x_there(ctx, x, {}), y_there(ctx, y, {Layout::row_major, 8});
        const std::vector<C> before(a.col.size(), static_cast<C>(2.0));
        auto c = there_of(ctx, before);
        multiply(ctx, there.view(), Sum<V>(2), x_there.view(), y_there.view(), Sum<V>(-1), c.span(),
                 {.scaled = true, .force = policy});
        EXPECT_TRUE(is_sampled(a, true, {2, -1}, x, y, before, host_vector(ctx, c), false));
    }
}

TEST_P(SddmmOn, TilesOfEveryShape)
{
    const auto c = ctx();
    for (const Policy& policy : candidates(c.backend()))
        if (policy.tiles && !policy.stored)
            for_each_type([&](auto v, auto to) { check_tiles<decltype(v), decltype(to)>(c, policy); });
}

TEST_P(SddmmOn, WritesIntoTheValuesOfA)
{
    const auto c = ctx();
    const auto a = random_matrix<double>(30, 20, 0.3, Values::integers, 3);
    auto there = to_device(c, a.view());
    const auto x = dense<double>(30, 9, Values::integers, 1), y = dense<double>(20, 9, Values::integers, 2);
    Lent<double> x_there(c, x, {}), y_there(c, y, {});
    multiply(c, there.view(), 1, x_there.view(), y_there.view(), 2, there.value.span(), {.scaled = true});
    EXPECT_TRUE(is_sampled(a, true, {1, 2}, x, y, a.value, host_vector(c, there.value), true));
}

TEST_P(SddmmOn, WithoutAlphaNothingIsReadButC)
{
    const auto c = ctx();
    auto a = random_matrix<double>(30, 20, 0.3, Values::integers, 3);
    const auto before = a.value;
    a.value.assign(a.value.size(), std::nan(""));
    const auto there = to_device(c, a.view());
    const HostDense<double> x{30, 2, std::vector<double>(60, std::nan(""))},
        y{20, 2, std::vector<double>(40, INFINITY)};
    Lent<double> x_there(c, x, {}), y_there(c, y, {});
    auto to = there_of(c, before);
    multiply(c, there.view(), 0, x_there.view(), y_there.view(), 3, to.span(), {.scaled = true});
    auto want = before;
    for (double& v : want) v *= 3;
    EXPECT_EQ(host_vector(c, to), want);
    auto nan = there_of(c, a.value);
    multiply(c, there.view(), 0, x_there.view(), y_there.view(), 0, nan.span());
    EXPECT_EQ(host_vector(c, nan), std::vector<double>(before.size(), 0.0));
}

TEST_P(SddmmOn, RowsThatNoNonzeroNamesAreNotRead)
{
    const auto c = ctx();
    const auto there = to_device(c, csr_of<float>(3, 3, {{1, 2, 1.0f}}).view());
    const float nan = std::nanf("");
    Lent<float> x(c, {3, 2, {nan, nan, 3, 4, nan, nan}}, {}), y(c, {3, 2, {nan, nan, nan, nan, 5, 6}}, {});
    auto to = there_of<float>(c, {0});
    multiply(c, there.view(), x.view(), y.view(), to.span());
    EXPECT_EQ(host_vector(c, to), std::vector<float>{39});
}

TEST_P(SddmmOn, NewValuesArrive)
{
    const auto c = ctx();
    const auto a = random_matrix<double>(30, 20, 0.3, Values::integers, 3);
    auto b = a;
    for (double& v : b.value) v = 3 * v + 1;
    const auto before = to_device(c, a.view()), after = to_device(c, b.view());
    const auto x = dense<double>(30, 9, Values::integers, 1), y = dense<double>(20, 9, Values::integers, 2);
    Lent<double> x_there(c, x, {}), y_there(c, y, {});
    auto plan = Plan<double>::make(c, before.view(), {.scaled = true});
    plan.update_values(after.view());
    auto to = there_of(c, a.value);
    plan.run(x_there.view(), y_there.view(), to.span());
    EXPECT_TRUE(is_sampled(b, true, {}, x, y, a.value, host_vector(c, to), true));
    const auto other = to_device(c, random_matrix<double>(30, 20, 0.2, Values::integers, 1).view());
    EXPECT_THROW(plan.update_values(other.view()), PlanMismatch);
}

TEST_P(SddmmOn, FailingAllocationsLeaveNothingBehind)
{
    const auto c = ctx();
    const auto there = to_device(c, random_matrix<float>(30, 20, 0.3, Values::integers, 3).view());
    const auto wide = host_vector(c, there.row_begin);
    const auto narrow = there_of(c, std::vector<std::int32_t>(wide.begin(), wide.end()));
    const Csr32View<float> a{30, 20, there.nonzeros(), narrow.data(), there.col.data(), there.value.data()};
    tulle::test::expect_clean_failures(c, [&] { Plan<float>::make(c, a); });
}

template <class E, class Work>
std::string message_of(Work&& work)
{
    try {
        work();
    } catch (const E& error) {
        return error.message();
    }
    return "nothing was thrown";
}

TEST_P(SddmmOn, RefusesWhatDoesNotFit)
{
    const auto c = ctx();
    const auto a = csr_of<float>(3, 2, {{0, 0, 1.0f}, {0, 1, 1.0f}, {2, 1, 1.0f}});
    const auto there = to_device(c, a.view());
    const auto plan = Plan<float>::make(c, there.view(), {.k = 4});
    auto data = there_of(c, std::vector<float>(100));
    float* d = data.data();
    const auto x = [&](index_t rows, index_t k, offset_t leading) {
        return DenseView<const float>{rows, k, leading, Layout::row_major, d};
    };
    const auto y = [&](index_t rows, index_t k) {
        return DenseView<const float>{rows, k, k, Layout::row_major, d + 50};
    };
    const auto run = [&](const auto& left, const auto& right, std::size_t n) {
        plan.run(left, right, std::span(d + 80, n));
    };
    EXPECT_EQ(message_of<ShapeError>([&] { run(x(4, 4, 4), y(2, 4), 3); }), "X is 4 x 4, but must be 3 x 4");
    EXPECT_EQ(message_of<ShapeError>([&] { run(x(3, 4, 4), y(2, 5), 3); }), "Y is 2 x 5, but must be 2 x 4");
    EXPECT_EQ(message_of<ShapeError>([&] { run(x(3, 4, 4), y(2, 4), 2); }), "c has 2 entries, but A has 3 nonzeros");
    EXPECT_EQ(message_of<ShapeError>([&] { run(x(3, 4, 3), y(2, 4), 3); }),
              "the leading dimension of X is 3, but its rows have 4 entries");
    EXPECT_EQ(message_of<ValueError>([&] { plan.run(x(3, 4, 4), y(2, 4), std::span(d + 11, 3)); }), "X and c overlap");
    EXPECT_EQ(message_of<ValueError>([&] { plan.run(x(3, 4, 4), y(2, 4), std::span(d + 48, 3)); }), "Y and c overlap");
    EXPECT_EQ(message_of<ValueError>([&] {
                  plan.run({3, 4, 4, Layout::row_major, nullptr}, y(2, 4), std::span(d + 80, 3));
              }),
              "X is null, but must have 12 entries");
    EXPECT_THROW(Plan<float>::make(c, there.view(), {.k = -1}), ValueError);
    EXPECT_THROW(Plan<float>::make(c, there.view(), {.force = Policy{3}}), ValueError);
    EXPECT_NE(plan.describe().find(": 3 x 2, 3 nonzeros, 4 columns expected, f32"), std::string::npos);
    auto bad = a;
    bad.col[1] = 2;
    const auto bad_there = to_device(c, bad.view());
    EXPECT_THROW(Plan<float>::make(c, bad_there.view()), ValueError);
}

TEST_P(SddmmOn, ChoosesLanesByTheBytesOfARow)
{
    EXPECT_EQ(choose({.k = 128}, Backend::cpu).policy, Policy{1});
    EXPECT_EQ(choose({.k = 32, .value_bytes = 2}, Backend::cuda).policy, Policy{4});
    EXPECT_EQ(choose({.k = 32, .value_bytes = 4}, Backend::cuda).policy, Policy{8});
    EXPECT_EQ(choose({.nonzeros = 21120, .k = 17, .value_bytes = 4}, Backend::cuda).policy, Policy{8});
    EXPECT_EQ(choose({.nonzeros = 21121, .k = 32, .value_bytes = 4}, Backend::cuda).policy, Policy{4});
    EXPECT_EQ(choose({.k = 33, .value_bytes = 4}, Backend::cuda).policy, Policy{16});
    EXPECT_EQ(choose({.k = 128, .value_bytes = 8}, Backend::cuda).policy, Policy{32});
    EXPECT_EQ(choose({.nonzeros = 16896, .k = 128, .value_bytes = 4}, Backend::cuda).policy, Policy{32});
    EXPECT_EQ(choose({.nonzeros = 16897, .k = 128, .value_bytes = 4}, Backend::cuda).policy, Policy{8});
    EXPECT_EQ(choose({.nonzeros = 16897, .k = 33, .value_bytes = 4}, Backend::cuda).policy, Policy{8});
    EXPECT_EQ(choose({.nonzeros = 59999, .k = 128, .value_bytes = 4}, Backend::cuda).policy, Policy{8});
    EXPECT_EQ(choose({.nonzeros = 60000, .k = 128, .value_bytes = 4}, Backend::cuda).policy, Policy{4});
    EXPECT_EQ(choose({.nonzeros = 152064, .k = 128, .value_bytes = 4}, Backend::cuda).policy, Policy{4});
    EXPECT_EQ(choose({.nonzeros = 152065, .k = 128, .value_bytes = 4}, Backend::cuda).policy, Policy{8});
    EXPECT_EQ(choose({.nonzeros = 1 << 20, .k = 1000, .value_bytes = 8}, Backend::cuda).policy, Policy{4});
    EXPECT_EQ(choose({.nonzeros = 1 << 20, .k = 32, .value_bytes = 4}, Backend::cuda).policy, Policy{4});
}

TEST_P(SddmmOn, ChoosesTilesWherePositionsAreMany)
{
    const Policy tiles{0, false, true}, tensor{0, false, true, true};
    const Features half{.rows = 512, .cols = 2048, .nonzeros = 524288, .k = 128, .value_bytes = 4};
    EXPECT_EQ(choose(half, Backend::cuda).policy, tensor);
    EXPECT_EQ(choose(half, Backend::cpu).policy, Policy{1});
    auto other = half;
    other.k = 32;
    EXPECT_EQ(choose(other, Backend::cuda).policy, tensor);
    other.k = 20, other.nonzeros = 1'000'000;
    EXPECT_EQ(choose(other, Backend::cuda).policy, tensor);
    other.k = 19;
    EXPECT_EQ(choose(other, Backend::cuda).policy, tiles);
    other = half;
    other.value_bytes = 2, other.nonzeros = 1'000'000;
    EXPECT_EQ(choose(other, Backend::cuda).policy, tensor);
    other = half;
    other.value_bytes = 8;
    EXPECT_EQ(choose(other, Backend::cuda).policy, tiles);
    other = half;
    other.nonzeros = 104857;  // a tenth
    EXPECT_EQ(choose(other, Backend::cuda).policy, Policy{4});
    other.nonzeros = 209715;  // a fifth
    EXPECT_EQ(choose(other, Backend::cuda).policy, tensor);
    other = half;
    other.cols = 512, other.nonzeros = 131072;  // fewer tiles than multiprocessors
    EXPECT_EQ(choose(other, Backend::cuda).policy, Policy{4});
    other = half;
    other.attended = 64;
    EXPECT_FALSE(choose(other, Backend::cuda).policy.tiles);
    EXPECT_EQ(to_text(tiles), "tiles of 64 x 64");
    EXPECT_EQ(to_text(tensor), "tiles of 64 x 64 on tensor cores");
    EXPECT_EQ(to_text(Policy{0, true, true}), "tiles of 64 x 64, scores stored");
}

TULLE_ON_BACKENDS(SddmmOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI::sddmm
