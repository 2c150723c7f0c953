// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Products of 16-bit matrices whose rows have powers of two (Options::row_scale): values that f16 has not, in every
// policy, and the same bits as without where all powers are 1.
#include "spmm/dense_case.hpp"

#include <limits>

#include "support/backends.hpp"
#include "tulle/narrow.hpp"

namespace tulle::inline TULLE_ABI::spmm {
namespace {

using namespace test;

class SpmmScaleOn : public tulle::test::OnBackend {};

// More than a panel of rows: a dense corner, a long row, empty rows. Each row (by_columns: column) has values of its
// own kind.
HostCsr<double> matrix_of_all_ranges(bool by_columns)
{
    const double kind[] = {1, 65504, 70000, 1e30, 1e-7, 1e-30};
    auto a = tulle::test::matrix_of_columns<double>(81, 79, 7, [](index_t i) {
        std::vector<index_t> col;
        for (index_t j = 0; j < 79; ++j)
            if ((i < 34 && j < 35 && (i + j) % 3 != 0) || i == 60 || (i % 13 != 5 && j == (i * 7) % 77))
                col.push_back(j);
        return col;
    });
    std::size_t k = 0;
    for (const auto& [i, j, v] : a.entries()) {
        const index_t line = by_columns ? j : i;
        a.value[k] = line % 7 == 6 ? v * (k % 2 == 0 ? 70000 : 1e-3) : v / 4 * kind[line % 7];
        ++k;
    }
    return a;
}

struct Entry {
    index_t row, from;
    long double value, weight;
};

// Whether an entry of C is what it should be: within the bound, or infinite where C has no such number.
template <class C>
::testing::AssertionResult is_near(C got, long double want, long double bound)
{
    const long double is = static_cast<long double>(got);
    const long double largest = std::is_same_v<C, Float16> ? 65504.0L : std::numeric_limits<float>::max();
    const bool may_overflow = std::abs(want) + bound >= largest, must = std::abs(want) - bound > 1.01L * largest;
    if (may_overflow && std::isinf(is) && (is > 0) == (want > 0)) return ::testing::AssertionSuccess();
    if (!must && std::abs(is - want) <= bound) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << "is " << is << ", not " << want << "; bound " << bound;
}

template <class V, class C>
struct ScaledCase {
    std::vector<Entry> entries;  // of op(A), with their factors
    HostDense<V> b;
    HostDense<C> before;
    bool tensor;

    void check(const HostDense<C>& got, Scalars s) const
    {
        const error_bound::Rounding rounding = error_bound::rounding_of<V, C>(tensor);
        const auto rows = static_cast<std::size_t>(got.rows);
        for (index_t n = 0; n < got.cols; n += n < 2 ? 1 : 13) {
            std::vector<long double> sum(rows, 0), magnitude(rows, 0), terms(rows, 0);
            for (const Entry& e : entries) {
                const auto i = static_cast<std::size_t>(e.row);
                sum[i] += e.value * static_cast<long double>(b(e.from, n));
                magnitude[i] += e.weight * error_bound::weight(b(e.from, n), tensor);
                ++terms[i];
            }
            for (index_t i = 0; i < got.rows; ++i) {
                const auto at = static_cast<std::size_t>(i);
                const long double old = s.beta == 0 ? 0 : s.beta * static_cast<long double>(before(i, n));
                const long double want = s.alpha * sum[at] + old;
                if (std::abs(s.alpha) * magnitude[at] >= std::numeric_limits<float>::max())
                    continue;  // beyond the range of the sums
                // The scaled sum may be subnormal, before alpha brings it back.
                const long double bound =
                    error_bound::of_sum(terms[at], std::abs(s.alpha) * magnitude[at] + std::abs(old), want, rounding) +
                    std::abs(s.alpha) * rounding.least;
                ASSERT_TRUE(is_near(got(i, n), want, bound)) << "C(" << i << ", " << n << ")";
            }
        }
    }
};

template <class V, class C>
void check_policy(const Context& ctx, const CsrView<V>& a, const Narrowed<V>& h, Op op, const Policy& policy,
                  ScaledCase<V, C>& which, const std::string& what)
{
    which.tensor = ctx.backend() == Backend::cuda && policy.kernel != Kernel::rows;
    const auto plan =
        Plan<V, C>::make(ctx, a, {.op = op, .n = which.b.cols, .force = policy, .row_scale = h.row_scale.span()});
    EXPECT_NE(plan.describe().find("scale:  "), std::string::npos);
    for (const Scalars s : {Scalars{1, 0}, {0x1p-90, 0}, {0x1p80, -1}, {-0.5, 2}})
        for (const Form form : {Form{}, Form{Layout::col_major, 3, 61}}) {
            const std::string whole =
                what + " " + to_text(policy) + ", alpha " + std::to_string(s.alpha) + ", C by " + form.name();
            if (!is_drawn(whole, 14)) continue;
            SCOPED_TRACE(whole);
            Lent<V> b(ctx, which.b, {});
            Lent<C> c(ctx, which.before, form);
            plan.run(static_cast<float>(s.alpha), b.view(), static_cast<float>(s.beta), c.view());
            which.check(c.take(), s);
            if (::testing::Test::HasFatalFailure()) return;
        }
}

template <class V, class C>
void check_type(const Context& ctx, Op op, index_t n)
{
    const bool t = op == Op::transpose;
    const auto wide = matrix_of_all_ranges(t);
    const Csr<double> there = to_device(ctx, wide.view());
    const Narrowed<V> h = narrow<V>(ctx, there.view(), {.scaling = Scaling::rows, .op = op});
    EXPECT_EQ(h.overflowed, 0);
    const CsrView<V> a = h.view(there.view());
    const auto value = to_host<V>(ctx, h.value.span());
    const auto scale = to_host<float>(ctx, h.row_scale.span());
    ScaledCase<V, C> which{{},
                           dense<V>(t ? wide.rows : wide.cols, n, Values::reals, 3),
                           dense<C>(t ? wide.cols : wide.rows, n, Values::reals, 4),
                           false};
    offset_t k = 0;
    for (const auto& [i, j, v] : wide.entries()) {
        const index_t row = t ? j : i, from = t ? i : j;
        const long double factor = scale.data()[row];
        const V stored = value.data()[k++];
        EXPECT_LE(std::abs(static_cast<long double>(stored) * factor - v), 0x1p-8 * std::abs(v));
        which.entries.push_back({row, from, static_cast<long double>(stored) * factor,
                                 error_bound::weight(stored, ctx.backend() == Backend::cuda) * factor});
    }
    const Features features = Plan<V, C>::make(ctx, a, {.op = op, .n = n}).features();
    for (const Policy& policy : candidates(features, {ctx.backend()})) {
        check_policy(ctx, a, h, op, policy, which,
                     name_of<V>() + " to " + name_of<C>() + (t ? " transposed" : "") + " " + std::to_string(n));
        if (::testing::Test::HasFatalFailure()) return;
    }
}

TEST_P(SpmmScaleOn, EveryPolicyHasValuesBeyondTheRange)
{
    const auto c = ctx();
    for (const Op op : {Op::none, Op::transpose})
        for (const index_t n : {128, 33}) {
            check_type<Float16, float>(c, op, n);
            check_type<Float16, Float16>(c, op, n);
            check_type<Bfloat16, float>(c, op, n);
            check_type<Bfloat16, Bfloat16>(c, op, n);
        }
}

// Factors of 1 are as none.
template <class V, class C>
void check_same_bits(const Context& ctx)
{
    const auto a = random_matrix<V>(70, 66, 0.3, Values::reals, 5);
    const auto there = to_device(ctx, a.view());
    const std::vector<float> ones(70, 1.0f);
    const auto scale = to_device(ctx, std::span<const float>(ones));
    const auto b = dense<V>(66, 64, Values::reals, 6);
    const auto before = dense<C>(70, 64, Values::reals, 7);
    const Features features = Plan<V, C>::make(ctx, there.view(), {.n = 64}).features();
    for (const Policy& policy : candidates(features, {ctx.backend()})) {
        SCOPED_TRACE(to_text(policy));
        if (!is_drawn(name_of<C>() + to_text(policy), 2)) continue;
        const auto without = Plan<V, C>::make(ctx, there.view(), {.n = 64, .force = policy}),
                   with = Plan<V, C>::make(ctx, there.view(), {.n = 64, .force = policy, .row_scale = scale.span()});
        for (const Scalars s : {Scalars{1.5, 0}, {-2, 0.5}}) {  // rounded once, whatever is contracted
            Lent<V> b_there(ctx, b, {});
            Lent<C> plain(ctx, before, {}), scaled(ctx, before, {});
            without.run(static_cast<float>(s.alpha), b_there.view(), static_cast<float>(s.beta), plain.view());
            with.run(static_cast<float>(s.alpha), b_there.view(), static_cast<float>(s.beta), scaled.view());
            EXPECT_TRUE(same_bits(plain.take().at, scaled.take().at));
        }
    }
}

TEST_P(SpmmScaleOn, FactorsOfOneChangeNoBit)
{
    check_same_bits<Float16, float>(ctx());
    check_same_bits<Bfloat16, Bfloat16>(ctx());
}

// A plan reads the factors when it runs.
TEST_P(SpmmScaleOn, NewFactorsCountFromTheNextRunOn)
{
    const auto c = ctx();
    const auto a = random_matrix<Float16>(40, 30, 0.3, Values::integers, 5);
    const auto there = to_device(c, a.view());
    std::vector<float> factor(40, 4.0f);
    auto scale = to_device(c, std::span<const float>(factor));
    const auto plan = Plan<Float16, float>::make(c, there.view(), {.n = 8, .row_scale = std::as_const(scale).span()});
    EXPECT_NE(plan.describe().find("scale:  40 of 40 rows of C by powers of two, 2^2 to 2^2"), std::string::npos)
        << plan.describe();
    Lent<Float16> b(c, dense<Float16>(30, 8, Values::integers, 6), {});
    const HostDense<float> none{40, 8, std::vector<float>(320, 0)};
    Lent<float> first(c, none, {}), second(c, none, {});
    plan.run(b.view(), first.view());
    factor.assign(40, 8.0f);
    c.run([&](const auto& q) { upload(q, factor.data(), scale.data(), scale.size()); });
    plan.run(b.view(), second.view());
    const auto before = first.take(), after = second.take();
    for (std::size_t k = 0; k < before.at.size(); ++k) EXPECT_EQ(after.at[k], 2 * before.at[k]);
}

TEST_P(SpmmScaleOn, WrongFactorsAreRefused)
{
    const auto c = ctx();
    const auto a = random_matrix<Float16>(5, 4, 0.5, Values::integers, 5);
    const auto there = to_device(c, a.view());
    const auto try_factors = [&](const std::vector<float>& factor) {
        const auto scale = to_device(c, std::span<const float>(factor));
        Plan<Float16, float>::make(c, there.view(), {.row_scale = scale.span()});
    };
    EXPECT_NO_THROW(try_factors({1, 2, 0.25f, 0x1p127f, 0x1p-126f}));
    EXPECT_THROW(try_factors({1, 2, 4, 8}), ShapeError);
    for (const float wrong : {3.0f, 0.0f, -2.0f, std::numeric_limits<float>::infinity(), std::nanf("")})
        EXPECT_THROW(try_factors({1, 2, wrong, 4, 8}), ValueError) << wrong;
    EXPECT_THROW(Plan<Float16>::make(c, there.view(), {.row_scale = {static_cast<const float*>(nullptr), 5}}),
                 ValueError);
    const std::vector<float> ones(5, 1.0f);
    const auto scale = to_device(c, std::span<const float>(ones));
    const auto wide = to_device(c, random_matrix<float>(5, 4, 0.5, Values::integers, 5).view());
    EXPECT_THROW(Plan<float>::make(c, wide.view(), {.row_scale = scale.span()}), ValueError);
}

TULLE_ON_BACKENDS(SpmmScaleOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI::spmm
