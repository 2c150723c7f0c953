// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// H = softmax(alpha Q K^T at the positions of A) V: every type, widths on both sides of every kernel's, long and empty
// rows, scores far from zero.
#include "sddmm/sampled_case.hpp"

#include "support/backends.hpp"
#include "support/faults.hpp"

namespace tulle::inline TULLE_ABI::sddmm {
namespace {

using namespace test;

class AttentionOn : public tulle::test::OnBackend {};

// Short, long, empty rows, and a position stored twice.
template <class V>
HostCsr<V> pattern()
{
    return in_type<V>(matrix_where<double>(23, 150, Values::reals, 4, [](index_t i, index_t j) {
        return i == 7 || (i % 5 != 2 && (i * 31 + j * 7) % 29 < i % 4 * 3 + 1);
    }));
}

template <class V, class C>
HostDense<C> attended(const Context& ctx, const HostCsr<V>& a, const Options& options, double alpha,
                      const HostDense<V>& q, const HostDense<V>& k, const HostDense<V>& v, const Form& form)
{
    const auto there = to_device(ctx, a.view());
    Lent<V> q_there(ctx, q, form), k_there(ctx, k, {}), v_there(ctx, v, form);
    Lent<C> h_there(ctx,
                    {a.rows, v.cols,
                     std::vector<C>(static_cast<std::size_t>(a.rows) * static_cast<std::size_t>(v.cols),
                                    static_cast<C>(std::nanf("")))},
                    form);
    Plan<V, C>::make(ctx, there.view(), options)
        .attend(static_cast<Sum<V>>(alpha), q_there.view(), k_there.view(), v_there.view(), h_there.view());
    return h_there.take();
}

TEST_P(AttentionOn, IsTheSoftmaxOfTheScoresTimesV)
{
    const auto c = ctx();
    for_each_type([&](auto from, auto to) {
        using V = decltype(from);
        using C = decltype(to);
        const auto a = pattern<V>();
        int turn = 0;
        for (const auto& [depth, width] :
             {std::pair{1, 1}, {16, 32}, {33, 33}, {64, 128}, {128, 129}, {40, 7}, {8, 511}, {4, 512}})
            for (const Policy& policy : ways_to_attend(c.backend())) {
                const bool scaled = ++turn / 2 % 2 == 1;
                const std::string what = name_of<V>() + " to " + name_of<C>() + ", " + std::to_string(depth) + " and " +
                                         std::to_string(width) + " columns, " + to_text(policy) +
                                         (scaled ? ", scaled" : "");
                if (!is_drawn(what, 3)) continue;
                SCOPED_TRACE(what);
                const Form form{turn % 5 == 1 ? Layout::col_major : Layout::row_major, turn % 2 * 4,
                                turn % 3 == 2 ? 61u : 64u};
                const auto q = dense<V>(a.rows, depth, Values::reals, 1), k = dense<V>(a.cols, depth, Values::reals, 2),
                           v = dense<V>(a.cols, width, Values::reals, 3);
                const double alpha = scaled ? 0x1p-15 : 0.25;
                const Options options{.k = depth, .attended = width, .scaled = scaled, .force = policy};
                EXPECT_TRUE(
                    is_attended(a, scaled, alpha, q, k, v, attended<V, C>(c, a, options, alpha, q, k, v, form)));
            }
    });
}

// Where exp of a score alone would be infinite or zero, in every order of the nonzeros, in rows of one warp and of all
// warps of a block.
TEST_P(AttentionOn, ScoresMayBeFarFromZero)
{
    const auto c = ctx();
    for (const index_t n : {70, 700}) {
        const auto a =
            matrix_where<double>(11, n, Values::reals, 4, [](index_t i, index_t j) { return i % 4 < 3 || j == i; });
        HostDense<double> q{11, 1, {30, -30, 0, 1, -3, 3, 0.1, 1, 30, -30, 1}}, k{n, 1, {}};
        for (index_t j = 0; j < n; ++j) k.at.push_back(j - 20);
        const auto v = dense<double>(n, 5, Values::reals, 3);
        for (const Policy& way : ways_to_attend(c.backend()))
            EXPECT_TRUE(
                is_attended(a, false, 1, q, k, v, attended<double, double>(c, a, {.force = way}, 1, q, k, v, {})))
                << n << ", " << to_text(way);
    }
}

// Scores of minus infinity, as masks have them, weigh nothing: in whole batches before and behind the others, in rows
// of one warp and of all warps of a block.
TEST_P(AttentionOn, ScoresOfMinusInfinityWeighNothing)
{
    const auto c = ctx();
    for (const index_t n : {5, 90, 700}) {
        const auto a = matrix_where<double>(3, n, Values::reals, 4, [](index_t, index_t) { return true; });
        HostDense<double> q{3, 1, {1, 1, 1}}, k{n, 1, std::vector<double>(static_cast<std::size_t>(n), 0.25)},
            v = dense<double>(n, 5, Values::reals, 3);
        const index_t first = n / 5, last = n - n / 5;
        for (index_t j = 0; j < n; ++j)
            if (j < first || j >= last) k(j, 0) = -std::numeric_limits<double>::infinity();
        for (const Policy& way : ways_to_attend(c.backend())) {
            const auto h = attended<double, double>(c, a, {.force = way}, 1, q, k, v, {});
            for (index_t col = 0; col < 5; ++col) {
                double mean = 0;
                for (index_t j = first; j < last; ++j) mean += v(j, col) / (last - first);
                for (index_t i = 0; i < 3; ++i) EXPECT_NEAR(h(i, col), mean, 1e-12) << n << ", row " << i;
            }
        }
    }
}

TEST_P(AttentionOn, EqualScoresGiveTheMean)
{
    const auto c = ctx();
    const auto a = csr_of<float>(3, 4, {{0, 0, 1.f}, {0, 2, 1.f}, {2, 3, 1.f}});
    const HostDense<float> q{3, 1, {0, 0, 5}}, k{4, 1, {1, 2, 3, 4}}, v{4, 2, {2, 4, 9, 9, 4, 8, 7, 1}};
    for (const Policy& way : ways_to_attend(c.backend()))
        EXPECT_EQ((attended<float, float>(c, a, {.force = way}, 1, q, k, v, {}).at),
                  (std::vector<float>{3, 6, 0, 0, 7, 1}));
}

// alpha of zero: neither Q, K nor the values of A are read; rows of H are means, in short rows and in long ones.
TEST_P(AttentionOn, WithoutAlphaRowsAreMeans)
{
    const auto c = ctx();
    auto a = matrix_where<double>(5, 300, Values::reals, 4, [](index_t i, index_t j) { return i == 3 || j % 7 == i; });
    a.value.assign(a.value.size(), std::nan(""));
    const HostDense<double> q{5, 3, std::vector<double>(15, std::nan(""))},
        k{300, 3, std::vector<double>(900, std::numeric_limits<double>::infinity())};
    const auto v = dense<double>(300, 6, Values::integers, 3);
    for (const bool scaled : {false, true})
        for (const Policy& way : ways_to_attend(c.backend())) {
            const auto h = attended<double, double>(c, a, {.scaled = scaled, .force = way}, 0, q, k, v, {});
            for (index_t i = 0; i < 5; ++i)
                for (index_t col = 0; col < 6; ++col) {
                    double sum = 0, count = 0;
                    for (const auto& [row, j, value] : a.entries())
                        if (row == i) sum += v(j, col), ++count;
                    EXPECT_NEAR(h(i, col), sum / count, 1e-12) << to_text(way) << ", row " << i;
                }
        }
}

TEST_P(AttentionOn, AScoreThatIsNoNumberStaysInItsRow)
{
    const auto c = ctx();
    const auto a = csr_of<float>(2, 3, {{0, 0, 1.f}, {0, 1, 1.f}, {1, 1, 1.f}, {1, 2, 1.f}});
    const HostDense<float> q{2, 1, {1, 1}}, k{3, 1, {std::nanf(""), 1, 1}}, v{3, 1, {1, 2, 4}};
    for (const Policy& way : ways_to_attend(c.backend())) {
        const auto h = attended<float, float>(c, a, {.force = way}, 1, q, k, v, {});
        EXPECT_TRUE(std::isnan(h(0, 0)));
        EXPECT_EQ(h(1, 0), 3.0f);
    }
}

TEST_P(AttentionOn, WithoutNonzerosIsZero)
{
    const auto c = ctx();
    const auto a = csr_of<float>(3, 2, {});
    const HostDense<float> q{3, 1, {1, 2, 3}}, k{2, 1, {1, 2}}, v{2, 1, {1, 2}};
    for (const Policy& way : candidates(c.backend()))
        EXPECT_EQ((attended<float, float>(c, a, {.force = way}, 1, q, k, v, {}).at), std::vector<float>(3));
}

// Rows of several pieces among short ones: called again, the counters of pieces begin anew; V of more columns than
// there is room for goes the other way.
TEST_P(AttentionOn, AllocatesNothingAndRepeatsItsBits)
{
    const auto c = ctx();
    const auto a = pattern<float>();
    const auto there = to_device(c, a.view());
    const auto q = dense<float>(a.rows, 9, Values::reals, 1), k = dense<float>(a.cols, 9, Values::reals, 2);
    for (const Policy& way : ways_to_attend(c.backend()))
        for (const index_t width : {20, 44, 45}) {
            const auto v = dense<float>(a.cols, width, Values::reals, 3);
            Lent<float> q_there(c, q, {}), k_there(c, k, {}), v_there(c, v, {});
            const HostDense<float> none{a.rows, width, std::vector<float>(std::size_t(a.rows) * std::size_t(width))};
            Lent<float> first(c, none, {}), second(c, none, {});
            const auto plan = Plan<float>::make(c, there.view(), {.k = 9, .attended = 44, .force = way});
            c.memory().fail_at(0, Memory::Fail::for_ever);
            for (auto* h : {&first, &second})
                plan.attend(0.5f, q_there.view(), k_there.view(), v_there.view(), h->view());
            c.memory().fail_at(-1);
            const auto h = first.take();
            EXPECT_TRUE(is_attended(a, false, 0.5, q, k, v, h)) << to_text(way) << ", " << width;
            EXPECT_TRUE(same_bits(h.at, second.take().at)) << to_text(way) << ", " << width;
        }
}

// A number for each nonzero, and for pieces of long rows as many as V has columns: no more than a few for each nonzero.
TEST_P(AttentionOn, KeepsRoomForScoresWhereTheyAreStored)
{
    const auto c = ctx();
    const auto a = pattern<float>();
    const auto there = to_device(c, a.view());
    if (c.backend() == Backend::cpu) return;
    const auto bytes = [&](const Options& options) { return Plan<float>::make(c, there.view(), options).bytes(); };
    const std::size_t one = bytes({.attended = 32, .force = Policy{4}}),
                      two = bytes({.attended = 32, .force = Policy{4, true}});
    EXPECT_EQ(one, a.col.size() * sizeof(index_t));
    EXPECT_GE(two, one + a.col.size() * sizeof(float));
    EXPECT_LE(two, one + a.col.size() * 4 * sizeof(float));
    tulle::test::expect_clean_failures(c, [&] { bytes({.attended = 32, .force = Policy{4, true}}); });
}

TEST_P(AttentionOn, StoresScoresWhereALaunchCostsLess)
{
    EXPECT_FALSE(choose({.rows = 1 << 20, .nonzeros = 1 << 22}, Backend::cuda).policy.stored);
    EXPECT_FALSE(choose({.rows = 1 << 20, .nonzeros = 1 << 22, .attended = 32}, Backend::cpu).policy.stored);
    EXPECT_TRUE(choose({.rows = 1 << 20, .nonzeros = 1 << 22, .attended = 32}, Backend::cuda).policy.stored);
    EXPECT_FALSE(
        choose({.rows = 300, .nonzeros = 1000, .value_bytes = 4, .attended = 128}, Backend::cuda).policy.stored);
    EXPECT_TRUE(
        choose({.rows = 300, .nonzeros = 90000, .value_bytes = 4, .attended = 128}, Backend::cuda).policy.stored);
}

TEST_P(AttentionOn, RefusesWhatDoesNotFit)
{
    const auto c = ctx();
    const auto there = to_device(c, csr_of<float>(2, 3, {{0, 0, 1.f}}).view());
    const auto plan = Plan<float>::make(c, there.view());
    auto data = to_device<float>(c, std::span<const float>(std::vector<float>(4000)));
    const auto m = [&](index_t rows, index_t cols, offset_t at) {
        return DenseView<float>{rows, cols, cols, Layout::row_major, data.data() + at};
    };
    EXPECT_THROW(plan.attend(1, m(3, 4, 0), m(3, 4, 100), m(3, 4, 200), m(2, 4, 300)), ShapeError);
    EXPECT_THROW(plan.attend(1, m(2, 4, 0), m(3, 5, 100), m(3, 4, 200), m(2, 4, 300)), ShapeError);
    EXPECT_THROW(plan.attend(1, m(2, 4, 0), m(3, 4, 100), m(3, 4, 200), m(2, 5, 300)), ShapeError);
    EXPECT_THROW(plan.attend(1, m(2, 4, 0), m(3, 4, 100), m(3, 4, 200), m(2, 4, 205)), ValueError);
    EXPECT_THROW(plan.attend(1, m(2, 4, 0), m(3, 4, 100), m(3, 513, 200), m(2, 513, 2500)), ValueError);
    plan.attend(1, m(2, 4, 0), m(3, 4, 100), m(3, 512, 200), m(2, 512, 2000));
    EXPECT_THROW(Plan<float>::make(c, there.view(), {.attended = -1}), ValueError);
    EXPECT_THROW(Plan<float>::make(c, there.view(), {.attended = 513}), ValueError);
}

TULLE_ON_BACKENDS(AttentionOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI::sddmm
