// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Componentwise backward errors: |T x - b| over |T| |x| + |b|, where inverses of blocks lose digits and where they do
// not.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/hash.hpp"
#include "sptrsv/triangles.hpp"
#include "support/backends.hpp"
#include "tulle/sptrsv.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {
namespace {

using namespace tulle::test;

class SptrsvAccuracyOn : public OnBackend {};

constexpr index_t rows = 256, block = 8;

// Blocks of eight rows, each about twice its predecessor: inverses grow to some hundred, below what is refused, and in
// the solution of all ones those numbers cancel. Blocks need the one before, and others early. `coupling`: the factor.
template <class V>
HostCsr<V> doubling_blocks(double coupling)
{
    std::vector<std::tuple<index_t, index_t, V>> entries;
    for (index_t i = 0; i < rows; ++i) {
        const auto near_one = [&](int k) { return 0.95 + 0.1 * unit(hash_of(5, i, k)); };
        entries.emplace_back(i, i, static_cast<V>(3 * near_one(0)));
        if (i % block != 0) entries.emplace_back(i, i - 1, static_cast<V>(-3 * coupling * near_one(1)));
        if (i >= block && i % block < 3) entries.emplace_back(i, i - block, static_cast<V>(near_one(2)));
        if (i >= 100) entries.emplace_back(i, i - 100, static_cast<V>(0.3 * near_one(3)));
    }
    return csr_of<V>(rows, rows, entries);
}

template <class V>
std::vector<std::vector<V>> right_hand_sides(const HostCsr<V>& a)
{
    std::vector<V> ones(rows, V(1)), random, sums(rows, V(0));
    for (index_t i = 0; i < rows; ++i) random.push_back(static_cast<V>(2 * unit(hash_of(99, i)) - 1));
    for (const auto& [i, j, v] : a.entries()) sums[static_cast<std::size_t>(i)] += v;
    return {ones, random, sums};
}

// In units of roundoff.
template <class V>
double backward_error(const HostCsr<V>& a, const std::vector<V>& b, const V* x)
{
    std::vector<long double> residual(b.begin(), b.end()), size;
    for (const V value : b) size.push_back(std::abs(value));
    for (const auto& [i, j, v] : a.entries()) {
        const long double product = static_cast<long double>(v) * x[j];
        residual[static_cast<std::size_t>(i)] -= product;
        size[static_cast<std::size_t>(i)] += std::abs(product);
    }
    long double worst = 0;
    for (std::size_t i = 0; i < size.size(); ++i) worst = std::max(worst, std::abs(residual[i]) / size[i]);
    return static_cast<double>(worst / std::numeric_limits<V>::epsilon());
}

template <class V>
double worst_error(const Context& c, const Plan<V>& plan, const HostCsr<V>& a)
{
    double worst = 0;
    for (const auto& b : right_hand_sides(a)) {
        const Buffer<V> there = to_device(c, std::span<const V>(b));
        Buffer<V> x = to_device(c, std::span<const V>(b));
        plan.solve(there.span(), x.span());
        plan.wait();
        worst = std::max(worst, backward_error(a, b, to_host(c, std::span<const V>(x.span())).data()));
    }
    return worst;
}

template <class V>
void check_accuracy(const Context& c)
{
    const auto harmless = doubling_blocks<V>(0.25), growing = doubling_blocks<V>(2);
    const auto calm = to_device(c, harmless.view()), there = to_device(c, growing.view());
    for (const int team : {1, 4})
        for (const bool reorder : {false, true}) {
            SCOPED_TRACE("team " + std::to_string(team) + (reorder ? ", reordered" : ""));
            Options options{.force = Policy{.kernel = Kernel::tasks,
                                            .merge = Merge::fixed,
                                            .rows = block,
                                            .reorder = reorder,
                                            .warps_per_task = team}};
            const auto error_of = [&](Accuracy accuracy) {
                options.accuracy = accuracy;
                return worst_error(c, Plan<V>::make(c, there.view(), options), growing);
            };
            EXPECT_GT(error_of(Accuracy::fast), 45);  // otherwise there is nothing to see below
            EXPECT_LE(error_of(Accuracy::tested), 45);
            EXPECT_LE(error_of(Accuracy::substitution), 4);
            options.accuracy = Accuracy::tested;
            auto plan = Plan<V>::make(c, calm.view(), options);
            EXPECT_LE(worst_error(c, plan, harmless), 45);
            plan.update_values(there.view());
            EXPECT_LE(worst_error(c, plan, growing), 45);
            plan.update_values(calm.view());
            EXPECT_LE(worst_error(c, plan, harmless), 45);
        }
}

TEST_P(SptrsvAccuracyOn, TrialSolvesFindBlocksWhoseInversesLoseDigits)
{
    const auto c = ctx();
    if (c.backend() == Backend::cpu) GTEST_SKIP() << "CPUs substitute";
    check_accuracy<double>(c);
    check_accuracy<float>(c);
}

TULLE_ON_BACKENDS(SptrsvAccuracyOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI::sptrsv
