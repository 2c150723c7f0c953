// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Level-1 operations on every backend: sums in a fixed order, ends of vectors, scalars in the memory of the queue.
#include "vector/vector.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "base/hash.hpp"
#include "support/backends.hpp"
#include "support/guarded.hpp"
#include "tulle/transfer.hpp"
#include "vector/pass.hpp"

namespace tulle::inline TULLE_ABI::vector {
namespace {

using namespace tulle::test;

class VectorOn : public OnBackend {};

// Sizes around lanes, pieces, blocks, and where blocks take more than one round.
const std::vector<offset_t> sizes{0, 1, 7, 8, 9, 1023, 1024, 1025, 4096, 4097, 8200};

template <class V>
std::vector<V> numbers(offset_t n, std::uint64_t seed)
{
    std::vector<V> x(static_cast<std::size_t>(n));
    for (offset_t i = 0; i < n; ++i)
        x[static_cast<std::size_t>(i)] = static_cast<V>(static_cast<double>(hash_of(seed, i) % 2001) / 1000 - 1);
    return x;
}

template <class V>
Buffer<V> there(const Context& ctx, const std::vector<V>& x)
{
    return to_device<V>(ctx, std::span<const V>(x));
}

template <class V>
std::vector<double> dots(const Context& ctx, const std::vector<V>& x, const std::vector<V>& y)
{
    return ctx.run([&](const auto& q) {
        const Buffer<V> a = there(ctx, x), b = there(ctx, y);
        Buffer<double> result(q, 2);
        const auto n = static_cast<offset_t>(x.size());
        PassBuffer buffer(q, n);
        // Another pass first: what it leaves in the buffer must not matter.
        dot(q, n, a.data(), a.data(), result.data(), buffer.space());
        dot(q, n, a.data(), b.data(), result.data(), buffer.space());
        std::vector<double> found(2);
        download(q, result.data(), found.data(), 2);
        return found;
    });
}

template <class V>
void check_dots(const Context& ctx, const std::vector<offset_t>& lengths)
{
    for (const offset_t n : lengths) {
        const auto x = numbers<V>(n, 1), y = numbers<V>(n, 2);
        long double xy = 0, yy = 0, magnitude = 0;
        for (std::size_t i = 0; i < x.size(); ++i) {
            xy += static_cast<long double>(x[i]) * y[i];
            yy += static_cast<long double>(y[i]) * y[i];
            magnitude += std::abs(static_cast<long double>(x[i]) * y[i]) + static_cast<long double>(y[i]) * y[i];
        }
        const auto found = dots(ctx, x, y);
        const auto bound = static_cast<double>(magnitude) * static_cast<double>(n + 1) * 0x1p-53;
        EXPECT_NEAR(found[0], static_cast<double>(xy), bound) << n;
        EXPECT_NEAR(found[1], static_cast<double>(yy), bound) << n;
    }
}

TEST_P(VectorOn, DotsOfEverySize)
{
    check_dots<double>(ctx(), sizes);
    check_dots<float>(ctx(), sizes);
}

TEST_P(VectorOn, DotsOfMoreBlocksThanABlockHasThreads)
{
    check_dots<double>(ctx(), {offset_t{threads_of_block} * threads_of_block * entries_of_thread + 1});
}

TEST_P(VectorOn, AxpbyWritesEveryEntryAndNothingElse)
{
    for (const offset_t n : sizes) {
        const Context c = ctx();
        const auto x = numbers<double>(n, 3), y = numbers<double>(n, 4);
        const Buffer<double> a = there(c, x);
        Guarded<double> guarded(c, y);
        c.run([&](const auto& q) { axpby(q, n, 2.0, a.data(), -0.5, guarded.span().data()); });
        const auto found = guarded.take();
        for (std::size_t i = 0; i < x.size(); ++i) ASSERT_DOUBLE_EQ(found[i], 2 * x[i] - 0.5 * y[i]) << n << ", " << i;
    }
}

TEST_P(VectorOn, BetaZeroReadsNothing)
{
    const Context c = ctx();
    const std::vector<double> x{1, 2, 3}, nothing(3, std::numeric_limits<double>::quiet_NaN());
    const Buffer<double> a = there(c, x);
    Guarded<double> guarded(c, nothing);
    c.run([&](const auto& q) { axpby(q, 3, 3.0, a.data(), 0.0, guarded.span().data()); });
    EXPECT_EQ(guarded.take(), (std::vector<double>{3, 6, 9}));
}

TEST_P(VectorOn, ConvertScalesByANumberInTheMemoryOfTheQueue)
{
    const Context c = ctx();
    const Buffer<double> x = there<double>(c, {1, -2, 3}), scale = there<double>(c, {0.5});
    Guarded<float> guarded(c, std::vector<float>(3, 7));
    c.run([&](const auto& q) { convert(q, 3, x.data(), guarded.span().data(), scale.data()); });
    EXPECT_EQ(guarded.take(), (std::vector<float>{0.5f, -1, 1.5f}));
}

TULLE_ON_BACKENDS(VectorOn);

// More entries than one round of the grid, and than one piece of a thread.
TEST(VectorSums, SameBitsForAnyNumberOfThreads)
{
    const auto x = numbers<double>(100'003, 5), y = numbers<double>(100'003, 6);
    const auto one = dots(Context::cpu(1), x, y);
    for (const int threads : {2, 3, 5, 8}) EXPECT_EQ(dots(Context::cpu(threads), x, y), one) << threads;
}

// A diagonal matrix with three different values: the method ends after three steps with its eigenvalues.
TEST_P(VectorOn, LanczosEndsWithTheSpectrum)
{
    const offset_t n = 3000;
    const Context here = ctx();
    std::vector<double> a(n), ones(n, 2.0);
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = 2.0 * static_cast<double>(1 + i % 3);
    const Lanczos found = here.run([&](const auto& q) {
        const Buffer<double> matrix = there(here, a), d = there(here, ones);
        Buffer<double> w(q, n), u(q, n), y(q, n);
        Buffer<Lanczos> state(q, 1);
        PassBuffer sums(q, n);
        fill_zero(q, state.data(), 1);
        fill_scattered(q, n, w.data());
        lanczos_start(q, n, d.data(), std::as_const(w).data(), state.data(), sums.space());
        for (int step = 0; step < 6; ++step) {
            multiply(q, n, matrix.data(), std::as_const(w).data(), y.data());
            lanczos_alpha(q, n, std::as_const(w).data(), std::as_const(y).data(), state.data(), sums.space());
            lanczos_next(q, n, std::as_const(y).data(), d.data(), std::as_const(w).data(), u.data(), state.data(),
                         sums.space());
            std::swap(u, w);
        }
        return read_value(q, std::as_const(state).data());
    });
    ASSERT_EQ(found.steps, 3);
    EXPECT_FALSE(found.on);
    const double* p = found.alpha;
    EXPECT_NEAR(p[0] + p[1] + p[2], 1 + 2 + 3, 1e-12);  // the trace
    const double b0 = found.beta[0] * found.beta[0], b1 = found.beta[1] * found.beta[1];
    EXPECT_NEAR(p[0] * p[1] * p[2] - p[0] * b1 - p[2] * b0, 6, 1e-12);  // the determinant
}

}  // namespace
}  // namespace tulle::inline TULLE_ABI::vector
