// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The bound by which results are judged: it holds for honest sums in any order, and not for wrong ones.
#include "base/error_bound.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "base/hash.hpp"

namespace tulle::inline TULLE_ABI::error_bound {
namespace {

struct Sums {
    float forward = 0, backward = 0;
    long double exact = 0, magnitude = 0;
};

Sums sums_of(int products, std::uint64_t seed)
{
    Sums s;
    std::vector<float> a, b;
    for (int k = 0; k < products; ++k) {
        a.push_back(static_cast<float>(2 * unit(hash_of(seed, k)) - 1));
        b.push_back(static_cast<float>(2 * unit(hash_of(seed + 1, k)) - 1));
        const long double product = static_cast<long double>(a.back()) * b.back();
        s.exact += product;
        s.magnitude += std::abs(product);
    }
    for (std::size_t k = 0; k < a.size(); ++k) s.forward += a[k] * b[k];
    for (std::size_t k = a.size(); k > 0; --k) s.backward += a[k - 1] * b[k - 1];
    return s;
}

TEST(ErrorBound, HoldsForEveryOrder)
{
    for (const int products : {0, 1, 2, 10, 1000, 100'000}) {
        const Sums s = sums_of(products, 7);
        const long double bound = of_sum<float>(products, s.magnitude);
        EXPECT_LE(share(s.forward, s.exact, bound), 1) << products;
        EXPECT_LE(share(s.backward, s.exact, bound), 1) << products;
        EXPECT_GT(share(s.forward + static_cast<float>(s.magnitude) * 1e-3f * static_cast<float>(products + 1), s.exact,
                        bound),
                  products > 0 ? 1 : -1)
            << products;
    }
}

TEST(ErrorBound, KnowsWhatAResultIsRoundedTo)
{
    const Rounding half = rounding_of<Float16, Float16>(), single = rounding_of<Float16, float>();
    const double exact = 1.0 + 0x1p-12,
                 rounded = static_cast<double>(static_cast<float>(Float16(static_cast<float>(exact))));
    EXPECT_LE(share(rounded, exact, of_sum(1, exact, exact, half)), 1);
    EXPECT_GT(share(rounded, exact, of_sum(1, exact, exact, single)), 1);
    EXPECT_GT(of_sum(1, 0, 0, half), 0) << "the smallest number may be lost";
    EXPECT_EQ(of_sum(0, 0, 0, half), 0) << "an empty row has no room for any error";
}

// Products of subnormal numbers of 16 bits are added by tensor cores as if they were larger.
TEST(ErrorBound, WeighsSubnormalOperandsOfTensorCores)
{
    const auto small = Float16(0x1p-20f), usual = Float16(0x1p-10f);
    EXPECT_EQ(weight(small, true), 0x1p-14L);
    EXPECT_EQ(weight(small, false), 0x1p-20L);
    EXPECT_EQ(weight(usual, true), 0x1p-10L);
    EXPECT_EQ(weight(Float16(0.0f), true), 0.0L);
    EXPECT_EQ(weight(Bfloat16(0x1p-20f), true), 0x1p-20L);
    EXPECT_EQ(weight(-3.0, true), 3.0L);
}

TEST(ErrorBound, IsWiderForTensorCoresAndRoundedOperands)
{
    const long double plain = of_sum(100, 1, 1, rounding_of<float>()),
                      tensor = of_sum(100, 1, 1, rounding_of<float>(true)),
                      tf32 = of_sum(100, 1, 1, rounding_of<float>(true, Operands::tf32)),
                      split = of_sum(100, 1, 1, rounding_of<float>(true, Operands::split));
    EXPECT_NEAR(static_cast<double>(tensor / plain), 2, 0.01);
    EXPECT_GT(tf32, 0x1p-10L);
    EXPECT_EQ(split - tensor, 0x1p-21L);
    EXPECT_LT(of_sum<double>(100, 1), plain);
    EXPECT_GT(of_solve<double>(5, 1), of_sum<double>(5, 1));
}

TEST(ErrorBound, SharesAreInfiniteForWhatIsNotANumber)
{
    EXPECT_EQ(share(1, 1, 0), 0);
    EXPECT_TRUE(std::isinf(share(std::nan(""), 1, 1)));
    EXPECT_TRUE(std::isinf(share(std::numeric_limits<double>::infinity(), 1, 1)));
    EXPECT_TRUE(std::isinf(share(1, 2, 0)));
}

}  // namespace
}  // namespace tulle::inline TULLE_ABI::error_bound
