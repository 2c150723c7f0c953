// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Numbers of 16 bits: every one of them there and back, against the definition of its fields, and ties between
// neighbours.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <type_traits>

#include "tulle/float16.hpp"

namespace tulle::inline TULLE_ABI {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct Fields {
    int exponent_bits, fraction_bits;
};
template <class H>
constexpr Fields fields = std::is_same_v<H, Float16> ? Fields{5, 10} : Fields{8, 7};

// What the bits mean, from the standard's definition.
template <class H>
double meaning(std::uint32_t bits)
{
    const auto [exponent_bits, fraction_bits] = fields<H>;
    const int fraction = static_cast<int>(bits & ((1u << fraction_bits) - 1)),
              exponent = static_cast<int>(bits >> fraction_bits & ((1u << exponent_bits) - 1));
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const double sign = bits & 0x8000u ? -1 : 1;
    if (exponent == (1 << exponent_bits) - 1) return fraction == 0 ? sign * infinity : std::nan("");
    if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
    return sign * std::ldexp((1 << fraction_bits) + fraction, exponent - bias - fraction_bits);
}

template <class H>
H of_bits(std::uint32_t bits)
{
    H h;
    h.bits = static_cast<std::uint16_t>(bits);
    return h;
}

template <class H>
class Numbers16 : public ::testing::Test {};
using Both = ::testing::Types<Float16, Bfloat16>;
TYPED_TEST_SUITE(Numbers16, Both);

TYPED_TEST(Numbers16, EveryOneThereAndBack)
{
    static_assert(sizeof(TypeParam) == 2 && std::is_trivially_copyable_v<TypeParam> &&
                  std::is_trivially_default_constructible_v<TypeParam>);
    for (std::uint32_t bits = 0; bits < 65536; ++bits) {
        const auto h = of_bits<TypeParam>(bits);
        const double want = meaning<TypeParam>(bits);
        if (std::isnan(want)) {
            ASSERT_TRUE(std::isnan(static_cast<float>(h))) << bits;
            ASSERT_EQ(TypeParam(static_cast<float>(h)).bits, 0x7fff) << bits;
            ASSERT_EQ(TypeParam(want).bits, 0x7fff) << bits;
            continue;
        }
        ASSERT_EQ(static_cast<double>(h), want) << bits;
        ASSERT_EQ(std::signbit(static_cast<float>(h)), bits >= 0x8000u) << bits;
        ASSERT_EQ(TypeParam(static_cast<float>(want)).bits, bits);
        ASSERT_EQ(TypeParam(want).bits, bits);
    }
}

// Between two neighbours: the middle goes to the even one, anything beside it to the nearer one; from float and from
// double.
TYPED_TEST(Numbers16, RoundsToNearestTiesToEven)
{
    const std::uint32_t last = std::is_same_v<TypeParam, Float16> ? 0x7bff : 0x7f7f;  // the largest finite number
    for (std::uint32_t bits = 0; bits < last; ++bits) {
        const double low = meaning<TypeParam>(bits), high = meaning<TypeParam>(bits + 1), middle = (low + high) / 2;
        const std::uint32_t even = bits % 2 == 0 ? bits : bits + 1;
        for (const double sign : {1.0, -1.0}) {
            const std::uint32_t minus = sign < 0 ? 0x8000u : 0;
            ASSERT_EQ(TypeParam(sign * middle).bits, even | minus);
            ASSERT_EQ(TypeParam(sign * std::nextafter(middle, 0.0)).bits, bits | minus)
                << "a double just below the middle";
            ASSERT_EQ(TypeParam(sign * std::nextafter(middle, infinity)).bits, (bits + 1) | minus)
                << "a double just above the middle";
            const auto single = static_cast<float>(middle);
            ASSERT_EQ(TypeParam(static_cast<float>(sign) * single).bits, even | minus);
            ASSERT_EQ(TypeParam(static_cast<float>(sign) * std::nextafter(single, 0.0f)).bits, bits | minus);
            ASSERT_EQ(TypeParam(static_cast<float>(sign) *
                                std::nextafter(single, std::numeric_limits<float>::infinity()))
                          .bits,
                      (bits + 1) | minus);
        }
    }
}

TYPED_TEST(Numbers16, OverflowIsInfinite)
{
    const bool narrow = std::is_same_v<TypeParam, Float16>;
    const double largest = meaning<TypeParam>(narrow ? 0x7bff : 0x7f7f),
                 step = largest - meaning<TypeParam>(narrow ? 0x7bfe : 0x7f7e);
    EXPECT_EQ(static_cast<double>(TypeParam(std::nextafter(largest + step / 2, 0.0))), largest);
    EXPECT_EQ(static_cast<double>(TypeParam(largest + step / 2)), infinity);
    EXPECT_EQ(static_cast<double>(TypeParam(-1e300)), -infinity);
    EXPECT_EQ(static_cast<double>(TypeParam(infinity)), infinity);
    EXPECT_EQ(TypeParam(1e-300).bits, 0);
    EXPECT_EQ(TypeParam(-1e-300).bits, 0x8000);
}

TYPED_TEST(Numbers16, AreComparedByValue)
{
    EXPECT_TRUE(TypeParam(0.0f) == TypeParam(-0.0f));
    EXPECT_FALSE(TypeParam(std::nanf("")) == TypeParam(std::nanf("")));
    EXPECT_TRUE(TypeParam(3) == TypeParam(3.0));
    static_assert(static_cast<float>(TypeParam(-2.5)) == -2.5f);
}

}  // namespace
}  // namespace tulle::inline TULLE_ABI
