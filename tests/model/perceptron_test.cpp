// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "model/perceptron.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "base/hash.hpp"
#include "model/damage.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::model {
namespace {

// Two features, one hidden layer of two, two outputs; small enough to be done by hand.
constexpr const char* small_perceptron = "tulle perceptron 1\n"
                                         "feature a\n"
                                         "feature b log\n"
                                         "output first\n"
                                         "output tasks, rows alone\n"
                                         "mean 1 1 0 0 0 0         # 1 a b aa ab bb\n"
                                         "scale 1 2 1 1 1 0.5\n"
                                         "layer 2 6\n"
                                         "0.5 0 1 0 0 0 0          # 0.5 + 2 (a - 1)\n"
                                         "0 0 0 0 0 0 -1           # - bb / 2\n"
                                         "layer 2 2\n"
                                         "0 1 0\n"
                                         "1 -1 3\n";

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

TEST(Perceptron, ProductsOfTwo)
{
    EXPECT_EQ(products(std::array{2.0, 3.0, 5.0}), (std::vector<double>{1, 2, 3, 5, 4, 6, 10, 9, 15, 25}));
    EXPECT_EQ(products({}), std::vector<double>{1});
    EXPECT_EQ(count_products(10), 66u);
    EXPECT_EQ(products(std::vector<double>(10, 1.0)).size(), 66u);
}

TEST(Perceptron, KnownValues)
{
    const Perceptron p = Perceptron::parse(small_perceptron, "small");
    EXPECT_EQ(p.outputs()[1], "tasks, rows alone");
    const double b = std::log1p(4.0);
    // Hidden: max(0, 0.5 + 2 (3 - 1)) = 4.5 and max(0, -b b / 2) = 0.
    std::vector<double> judged = p.judge(std::array{3.0, 4.0});
    EXPECT_NEAR(judged[0], sigmoid(4.5), 1e-15);
    EXPECT_NEAR(judged[1], sigmoid(1 - 4.5), 1e-15);
    EXPECT_EQ(p.choose(std::array{3.0, 4.0}), 0u);
    // Hidden: max(0, 0.5 + 2 (0 - 1)) = 0: the ReLU cuts; the first output is exactly one half.
    judged = p.judge(std::array{0.0, 4.0});
    EXPECT_EQ(judged[0], 0.5);
    EXPECT_NEAR(judged[1], sigmoid(1), 1e-15);
    EXPECT_EQ(p.choose(std::array{0.0, 4.0}), 1u);
    EXPECT_GT(b, 1);
}

// The last layer has no ReLU, the sigmoid saturates without overflowing.
TEST(Perceptron, ExtremesStayBetweenZeroAndOne)
{
    const Perceptron p = Perceptron::parse(small_perceptron, "small");
    for (const double a : {-1e300, -1e6, 1e6, 1e300, std::numeric_limits<double>::infinity()})
        for (const double judged : p.judge(std::array{a, 0.0}))
            EXPECT_TRUE((judged >= 0 && judged <= 1) || std::isnan(judged)) << a;
    EXPECT_EQ(p.judge(std::array{1e6, 0.0})[0], 1);
    EXPECT_EQ(p.judge(std::array{1e6, 0.0})[1], 0);
    EXPECT_LT(p.choose(std::array{std::numeric_limits<double>::quiet_NaN(), 1.0}), 2u);
}

// Two hidden layers of 32 beside a plain loop.
TEST(Perceptron, TheShapeOfThePaper)
{
    const std::size_t widths[] = {66, 32, 32, 5};
    std::string text = "tulle perceptron 1\n";
    for (int k = 0; k < 10; ++k) text += concat("feature f", k, "\n");
    for (int k = 0; k < 5; ++k) text += concat("output o", k, "\n");
    const auto number = [](std::uint64_t a, std::uint64_t b, std::uint64_t c) {
        return unit(hash_of(9, a, b, c)) - 0.5;
    };
    for (const char* what : {"mean", "scale"}) {
        text += what;
        for (std::size_t k = 0; k < 66; ++k) text += concat(" ", number(7, k, what[0] == 'm'));
        text += "\n";
    }
    for (std::size_t l = 0; l < 3; ++l) {
        text += concat("layer ", widths[l + 1], " ", widths[l], "\n");
        for (std::size_t i = 0; i < widths[l + 1]; ++i)
            for (std::size_t k = 0; k <= widths[l]; ++k) text += concat(number(l, i, k), k == widths[l] ? "\n" : " ");
    }
    std::vector<double> features(10);
    for (std::size_t k = 0; k < 10; ++k) features[k] = number(8, k, 0) * 4;
    std::vector<double> x = products(features);
    for (std::size_t k = 0; k < 66; ++k) x[k] = (x[k] - number(7, k, 1)) * number(7, k, 0);
    for (std::size_t l = 0; l < 3; ++l) {
        std::vector<double> y;
        for (std::size_t i = 0; i < widths[l + 1]; ++i) {
            double sum = number(l, i, 0);
            for (std::size_t k = 0; k < widths[l]; ++k) sum += number(l, i, k + 1) * x[k];
            y.push_back(l == 2 ? sigmoid(sum) : sum > 0 ? sum : 0);
        }
        x = y;
    }
    const std::vector<double> judged = Perceptron::parse(text, "paper").judge(features);
    ASSERT_EQ(judged.size(), 5u);
    for (std::size_t k = 0; k < 5; ++k) EXPECT_NEAR(judged[k], x[k], 1e-12);
}

TEST(Perceptron, RefusesAnotherNumberOfFeatures)
{
    EXPECT_THROW(Perceptron::parse(small_perceptron, "small").judge(std::array{1.0}), ShapeError);
}

TEST(Perceptron, NamesTheLineThatIsWrong)
{
    const std::string text = small_perceptron;
    const auto changed = [&](std::string_view old, std::string_view now) {
        std::string copy = text;
        return copy.replace(copy.find(old), old.size(), now);
    };
    const auto refuses = [&](std::string_view old, std::string_view now, std::string_view complaint) {
        SCOPED_TRACE(complaint);
        EXPECT_TRUE(complains([&] { Perceptron::parse(changed(old, now), "p"); }, complaint));
    };
    refuses("tulle perceptron 1", "tulle tree 1", "p:1: not a perceptron");
    refuses("feature b log", "feature b ln", "p:3: 'feature NAME' or");
    refuses("feature b log", "feature a", "p:3: feature 'a' twice");
    refuses("feature a\nfeature b log\n", "", "p:2: a line 'feature");
    refuses("output first\noutput tasks, rows alone\n", "", "p:4: a line 'output");
    refuses("output tasks, rows alone", "output first", "p:5: output 'first' twice");
    refuses("mean 1 1 0 0 0 0", "mean 1 1 0 0 0", "p:6: 6 words instead of 7");
    refuses("scale 1 2", "scale 1 x", "p:7: 'x' is not a number");
    refuses("layer 2 6", "layer 2 5", "p:8: a layer of 5 inputs after 6 outputs");
    refuses("layer 2 6", "layer 0 6", "p:8: a layer of 0 outputs");
    refuses("layer 2 6", "layer 99999999 6", "p:8: a layer of 99999999 outputs");
    refuses("layer 2 6", "layer 3 6", "p:11: 3 words instead of 7");
    refuses("1 -1 3\n", "", "p:13: the weights of output 1 are missing");
    refuses("1 -1 3\n", "1 -1 inf\n", "p:13: 'inf' is not finite");
    refuses("1 -1 3\n", "1 -1 3\nlayer 1 2\n0 0 0\n", "p:16: the last layer has 1 outputs instead of 2");
}

TEST(Perceptron, SurvivesDamage)
{
    int refused = 0;
    for (int seed = 0; seed < 3000; ++seed) {
        const std::string text = damaged(small_perceptron, seed);
        SCOPED_TRACE(text);
        try {
            const Perceptron p = Perceptron::parse(text, "damaged");
            EXPECT_LT(p.choose(std::vector<double>(p.features().size(), 1.0)), p.outputs().size());
        } catch (const FormatError& fault) {
            ++refused;
            EXPECT_TRUE(std::string(fault.what()).starts_with("damaged:"));
        }
    }
    EXPECT_GT(refused, 1000);
    EXPECT_LT(refused, 3000);
}

}  // namespace
}  // namespace tulle::inline TULLE_ABI::model
