// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "prim/reduce.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "prim/arrays.hpp"

namespace tulle::inline TULLE_ABI {
namespace {

template <class T>
T sum_on(const Context& ctx, const std::vector<T>& data)
{
    return ctx.run([&](const auto& q) { return prim::sum(q, test::guarded(q, data).data(), std::ssize(data)); });
}

template <class T>
T maximum_on(const Context& ctx, const std::vector<T>& data, T least)
{
    return ctx.run(
        [&](const auto& q) { return prim::maximum(q, test::guarded(q, data).data(), std::ssize(data), least); });
}

template <class T>
T minimum_on(const Context& ctx, const std::vector<T>& data, T most)
{
    return ctx.run(
        [&](const auto& q) { return prim::minimum(q, test::guarded(q, data).data(), std::ssize(data), most); });
}

template <class T>
std::vector<T> random_reals(offset_t n, std::mt19937_64& random)
{
    std::uniform_real_distribution<T> draw(T(-1), T(1));
    std::vector<T> all(static_cast<std::size_t>(n));
    for (T& one : all) one = draw(random) * std::pow(T(10), T(random() % 9));
    return all;
}

class ReduceOn : public test::OnBackend {
protected:
    template <class T>
    void expect_integers(T low, T high)
    {
        std::mt19937_64 random(8);
        for (const offset_t n : test::sizes) {
            SCOPED_TRACE(n);
            const auto data = test::random_integers<T>(n, low, high, random);
            EXPECT_EQ(sum_on(ctx(), data), std::accumulate(data.begin(), data.end(), T{0}));
            EXPECT_EQ(maximum_on(ctx(), data, low), n == 0 ? low : std::ranges::max(data));
            EXPECT_EQ(minimum_on(ctx(), data, high), n == 0 ? high : std::ranges::min(data));
        }
    }

    // Any order of additions stays within n u sum |x|.
    template <class T>
    void expect_reals()
    {
        std::mt19937_64 random(9);
        for (const offset_t n : test::sizes) {
            SCOPED_TRACE(n);
            const auto data = random_reals<T>(n, random);
            long double exact = 0, magnitude = 0;
            for (const T x : data) exact += x, magnitude += std::abs(x);
            const T found = sum_on(ctx(), data);
            EXPECT_LE(std::abs(found - exact),
                      static_cast<long double>(n) * std::numeric_limits<T>::epsilon() * magnitude);
            EXPECT_EQ(std::signbit(found), std::signbit(sum_on(ctx(), data)));
            EXPECT_EQ(found, sum_on(ctx(), data)) << "the same bits every time";
            EXPECT_EQ(maximum_on(ctx(), data, T(-1e30)), n == 0 ? T(-1e30) : std::ranges::max(data));
            EXPECT_EQ(minimum_on(ctx(), data, T(1e30)), n == 0 ? T(1e30) : std::ranges::min(data));
        }
    }
};

TEST_P(ReduceOn, Integers)
{
    expect_integers<index_t>(-20000, 20000);
    expect_integers<offset_t>(-(offset_t{1} << 44), offset_t{1} << 44);
}

TEST_P(ReduceOn, Reals)
{
    expect_reals<float>();
    expect_reals<double>();
}

TEST_P(ReduceOn, BoundsTakePart)
{
    const std::vector<index_t> data{3, 1, 2};
    EXPECT_EQ(maximum_on(ctx(), data, 7), 7);
    EXPECT_EQ(minimum_on(ctx(), data, -7), -7);
}

TEST_P(ReduceOn, SumOfIndicesThatDoesNotFitIsRefused)
{
    const std::vector<index_t> data(3, max_index);
    EXPECT_THROW(sum_on(ctx(), data), ValueError);
    EXPECT_EQ(sum_on(ctx(), std::vector<index_t>{max_index, 1, -1}), max_index)
        << "only the result counts, not the way";
}

TEST_P(ReduceOn, NotANumber)
{
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    for (const offset_t n : {1, 33, 1025, 40000}) {
        for (const offset_t at : {offset_t{0}, n / 2, n - 1}) {
            std::vector<double> data(static_cast<std::size_t>(n), -2.0);
            data[static_cast<std::size_t>(at)] = nan;
            EXPECT_TRUE(std::isnan(sum_on(ctx(), data)));
            EXPECT_EQ(maximum_on(ctx(), data, -5.0), n == 1 ? -5.0 : -2.0);
            EXPECT_EQ(minimum_on(ctx(), data, 5.0), n == 1 ? 5.0 : -2.0);
        }
    }
}

#ifdef TULLE_SIM
// No two kinds of devices promise each other's bits; the simulated GPU would not be the first to differ, so it does.
TEST_P(ReduceOn, AddsInAnotherOrderThanTheCpu)
{
    if (ctx().backend() == Backend::cpu) GTEST_SKIP() << "the CPU itself";
    std::mt19937_64 random(11);
    const auto data = random_reals<float>(5000, random);
    EXPECT_NE(sum_on(ctx(), data), sum_on(Context::cpu(1), data));
}
#endif

TULLE_ON_BACKENDS(ReduceOn);

TEST(Reduce, SameBitsForAnyNumberOfThreads)
{
    std::mt19937_64 random(10);
    const auto data = random_reals<float>(300007, random);
    const auto bits = [&](int threads) { return std::bit_cast<std::uint32_t>(sum_on(Context::cpu(threads), data)); };
    for (const int threads : test::thread_counts) EXPECT_EQ(bits(threads), bits(1)) << threads;
}

}  // namespace
}  // namespace tulle::inline TULLE_ABI
