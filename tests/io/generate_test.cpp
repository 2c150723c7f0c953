// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Generators: what each kind promises, checked entry by entry where that is small; the same bits for any number of
// threads; sentences that make no sense.
#include "tulle/generate.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/hash.hpp"
#include "io/pattern_figures.hpp"
#include "tulle/io.hpp"
#include "tulle/text.hpp"

namespace tulle::test {
namespace {

Csr<double> make(std::string_view sentence, int threads = 2)
{
    return io::generate<double>(Context::cpu(threads), sentence);
}

template <class T>
bool same(const Buffer<T>& a, const Buffer<T>& b)
{
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

bool same(const Csr<double>& a, const Csr<double>& b)
{
    return a.rows == b.rows && a.cols == b.cols && same(a.row_begin, b.row_begin) && same(a.col, b.col) &&
           same(a.value, b.value);
}

// The matrix has exactly the entries that `expected(i, j)` gives a value, with that value; 0 is no entry.
template <class F>
void expect_entries(std::string_view sentence, index_t rows, index_t cols, const F& expected)
{
    SCOPED_TRACE(sentence);
    const Csr<double> a = make(sentence);
    const auto v = a.view();
    ASSERT_EQ(v.rows, rows);
    ASSERT_EQ(v.cols, cols);
    ASSERT_TRUE(is_sound(v));
    for (index_t i = 0; i < rows; ++i) {
        offset_t k = v.row_begin[i];
        for (index_t j = 0; j < cols; ++j) {
            const double want = expected(i, j);
            const bool there = k < v.row_begin[i + 1] && v.col[k] == j;
            ASSERT_EQ(there, want != 0) << i << ", " << j;
            if (there) {
                ASSERT_EQ(v.value[k++], want) << i << ", " << j;
            }
        }
    }
}

bool is_symmetric(const CsrView<double>& a)
{
    for (index_t i = 0; i < a.rows; ++i)
        for (offset_t k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k)
            if (!has_entry(a, a.col[k], i)) return false;
    return true;
}

double value_at(const CsrView<double>& a, index_t i, index_t j)
{
    for (offset_t k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k)
        if (a.col[k] == j) return a.value[k];
    return 0;
}

// Rows that can be reached from row 0.
index_t reachable(const CsrView<double>& a)
{
    std::vector<char> seen(static_cast<std::size_t>(a.rows), 0);
    std::vector<index_t> open{0};
    seen[0] = 1;
    for (std::size_t at = 0; at < open.size(); ++at)
        for (offset_t k = a.row_begin[open[at]]; k < a.row_begin[open[at] + 1]; ++k)
            if (char& known = seen[static_cast<std::size_t>(a.col[k])]; !known) {
                known = 1;
                open.push_back(a.col[k]);
            }
    return static_cast<index_t>(open.size());
}

// Lower triangle with a diagonal that exceeds the sum of the rest of its row.
void expect_dominant_triangle(const CsrView<double>& a)
{
    for (index_t i = 0; i < a.rows; ++i) {
        double rest = 0;
        const offset_t last = a.row_begin[i + 1] - 1;
        ASSERT_EQ(a.col[last], i);
        for (offset_t k = a.row_begin[i]; k < last; ++k) rest += std::abs(a.value[k]);
        ASSERT_GE(a.value[last], 1.0);
        ASSERT_LE(rest, 0.5 * (1 + 1e-12));
    }
}

class EveryGenerator : public ::testing::TestWithParam<io::Generator> {};

TEST_P(EveryGenerator, ExampleIsSoundAndTheSameForAnyNumberOfThreads)
{
    const io::Generator& g = GetParam();
    if (slow_build && g.name.starts_with("twin:") && g.name != "twin:scircuit" && g.name != "twin:mac_econ")
        GTEST_SKIP() << "large matrices are left to optimised builds";
    EXPECT_FALSE(g.what.empty());
    EXPECT_TRUE(g.form.starts_with(g.name));
    const Csr<double> a = make(g.example, 1);
    EXPECT_TRUE(is_sound(a.view()));
    EXPECT_TRUE(a.sorted && a.unique);
    EXPECT_GT(a.rows, 0);
    EXPECT_TRUE(std::all_of(a.value.data(), a.value.data() + a.value.size(),
                            [](double v) { return std::isfinite(v) && v != 0; }));
    EXPECT_TRUE(same(a, make(g.example, 4)));

    const Csr<float> f = io::generate<float>(Context::cpu(3), g.example);
    EXPECT_TRUE(same(a.row_begin, f.row_begin) && same(a.col, f.col));
    EXPECT_TRUE(std::equal(f.value.data(), f.value.data() + f.value.size(), a.value.data(),
                           [](float x, double y) { return x == static_cast<float>(y); }));
}

INSTANTIATE_TEST_SUITE_P(Examples, EveryGenerator, ::testing::ValuesIn(io::generators()),
                         [](const auto& test) { return test_name(test.param.name); });

TEST(Generate, PatternValueFollowsItsFormula)
{
    EXPECT_EQ(io::pattern_value(3, 5), 0.5 + static_cast<double>(hash_of(7, 3, 5) >> 11) * 0x1p-53);
    EXPECT_EQ(std::bit_cast<std::uint64_t>(io::pattern_value(0, 0)), 0x3ff1c01479161bc6u);
    for (index_t i = 0; i < 1000; ++i)
        EXPECT_TRUE(io::pattern_value(i, max_index - i) >= 0.5 && io::pattern_value(i, max_index - i) < 1.5);
}

TEST(Generate, FingerprintIsTheSumOverTheEntries)
{
    const Csr<double> two = make("identity:2"), three = make("identity:3");
    EXPECT_EQ(io::fingerprint(two.view()), hash_of(99, 0, 0) + hash_of(99, 1, 1));
    EXPECT_NE(io::fingerprint(three.view()), io::fingerprint(two.view()));
}

TEST(Generate, Diagonals)
{
    expect_entries("identity:5", 5, 5, [](index_t i, index_t j) { return i == j ? 1.0 : 0.0; });
    expect_entries("diagonal:5", 5, 5, [](index_t i, index_t j) { return i == j ? io::pattern_value(i, i) : 0.0; });
}

TEST(Generate, Stencils)
{
    const auto stencil = [](index_t nx, index_t ny, index_t reach, double diagonal) {
        return [=](index_t i, index_t j) {
            const index_t dx = std::abs(i % nx - j % nx), dy = std::abs(i / nx % ny - j / nx % ny),
                          dz = std::abs(i / nx / ny - j / nx / ny);
            if (i == j) return diagonal;
            return dx <= 1 && dy <= 1 && dz <= 1 && dx + dy + dz <= reach ? -1.0 : 0.0;
        };
    };
    expect_entries("stencil5:4", 16, 16, stencil(4, 4, 1, 4));
    expect_entries("stencil5:3,5", 15, 15, stencil(3, 5, 1, 4));
    expect_entries("stencil9:3,4", 12, 12, stencil(3, 4, 2, 8));
    expect_entries("stencil7:3", 27, 27, stencil(3, 3, 1, 6));
    expect_entries("stencil7:4,3,2", 24, 24, stencil(4, 3, 1, 6));
    expect_entries("stencil27:2,4,3", 24, 24, stencil(2, 4, 3, 26));
    EXPECT_EQ(make("stencil7:100").nonzeros(), 7 * 1'000'000 - 6 * 10'000);
}

TEST(Generate, BricksHaveFullBlocks)
{
    expect_entries("fem:3,2,2,2", 24, 24, [](index_t i, index_t j) {
        const index_t u = i / 2, v = j / 2;
        return i == j ? 53.0 : std::abs(u % 3 - v % 3) <= 1 ? -1.0 : 0.0;
    });
    EXPECT_EQ(make("fem:4,3").nonzeros(), 9 * 10 * 10 * 10);
}

// Symmetric and positive definite; the block of a point inside is that of 4 squares, or of 8 cubes.
TEST(Generate, ElasticityIsSymmetricAndPositive)
{
    for (const auto* sentence : {"elasticity2d:5,4", "elasticity3d:3,2,3"}) {
        SCOPED_TRACE(sentence);
        const auto a = make(sentence);
        const auto v = a.view();
        const auto at = [&](index_t i, index_t j) { return value_at(v, i, j); };
        for (index_t i = 0; i < v.rows; ++i)
            for (index_t j = 0; j < i; ++j) ASSERT_EQ(at(i, j), at(j, i));
        std::vector<std::vector<double>> l(static_cast<std::size_t>(v.rows));  // Cholesky
        for (std::size_t i = 0; i < l.size(); ++i)
            for (std::size_t j = 0; j <= i; ++j) {
                double rest = at(static_cast<index_t>(i), static_cast<index_t>(j));
                for (std::size_t k = 0; k < j; ++k) rest -= l[i][k] * l[j][k];
                ASSERT_GT(i == j ? rest : 1, 1e-9);
                l[i].push_back(i == j ? std::sqrt(rest) : rest / l[j][j]);
            }
    }
    const auto plate = make("elasticity2d:3");
    EXPECT_EQ(plate.rows, 18);
    EXPECT_EQ(value_at(plate.view(), 8, 8), 12 * 16.0 / 3) << "4 (lambda + 3 mu) / 3";
    expect_entries("coordinates:2,3", 6, 2, [](index_t i, index_t c) { return 1.0 + (c == 0 ? i % 2 : i / 2); });
    expect_entries("coordinates:2,1,2", 4, 3, [](index_t i, index_t c) {
        return c == 0 ? 1.0 + i % 2 : c == 1 ? 1.0 : 1.0 + i / 2;
    });
}

TEST(Generate, Bands)
{
    expect_entries("banded:7,2", 7, 7,
                   [](index_t i, index_t j) { return std::abs(i - j) <= 2 ? io::pattern_value(i, j) : 0.0; });
    expect_entries("banded:7,0,3", 7, 7,
                   [](index_t i, index_t j) { return j >= i && j <= i + 3 ? io::pattern_value(i, j) : 0.0; });
    expect_entries("banded:3,2147483647", 3, 3, [](index_t i, index_t j) { return io::pattern_value(i, j); });
}

TEST(Generate, ArrowsPointDownRight)
{
    const Csr<double> a = make("arrow:30,2");
    for (index_t i = 0; i < 30; ++i)
        for (index_t j = 0; j < 30; ++j) EXPECT_EQ(has_entry(a.view(), i, j), i == j || i >= 28 || j >= 28);
    EXPECT_EQ(make("arrow:30").nonzeros(), 3 * 30 - 2);
    EXPECT_EQ(make("arrow:3,3").nonzeros(), 9);
}

TEST(Generate, UniformRowsHaveDifferentColumnsSpreadEvenly)
{
    const Csr<double> a = make("uniform:4000,100,10");
    std::vector<int> uses(100, 0);
    for (offset_t k = 0; k < a.nonzeros(); ++k) ++uses[static_cast<std::size_t>(a.col.data()[k])];
    EXPECT_EQ(a.nonzeros(), 40'000);
    EXPECT_EQ(longest_row(a.view()), 10);
    for (const int used : uses) EXPECT_NEAR(used, 400, 100);  // five deviations
    EXPECT_EQ(make("uniform:3,17,17").nonzeros(), 51);
    EXPECT_EQ(make("uniform:1,1,1").nonzeros(), 1);
}

TEST(Generate, RmatFavoursTheFirstQuadrant)
{
    const Csr<double> a = make("rmat:14,4");
    const index_t half = 1 << 13;
    std::array<double, 4> share{};
    for (index_t i = 0; i < a.rows; ++i)
        for (offset_t k = a.row_begin.data()[i]; k < a.row_begin.data()[i + 1]; ++k)
            share[static_cast<std::size_t>(2 * (i >= half) + (a.col.data()[k] >= half))] +=
                1.0 / static_cast<double>(a.nonzeros());
    EXPECT_EQ(a.rows, 1 << 14);
    EXPECT_NEAR(share[0], 0.57, 0.02);
    EXPECT_NEAR(share[1], 0.19, 0.01);
    EXPECT_NEAR(share[2], 0.19, 0.01);
    EXPECT_NEAR(share[3], 0.05, 0.01);
    EXPECT_GT(a.row_begin.data()[1] - a.row_begin.data()[0], 100);  // the first row gets most
}

TEST(Generate, RoadsAreConnectedAndSymmetricOnAGrid)
{
    for (const auto* sentence : {"road:1", "road:2", "road:3", "road:7", "road:10000", "road:10013,seed=3"}) {
        SCOPED_TRACE(sentence);
        const Csr<double> a = make(sentence);
        const auto v = a.view();
        const index_t width = static_cast<index_t>(std::sqrt(a.rows));
        EXPECT_TRUE(is_symmetric(v));
        EXPECT_EQ(reachable(v), v.rows);
        for (index_t i = 0; i < v.rows; ++i)
            for (offset_t k = v.row_begin[i]; k < v.row_begin[i + 1]; ++k) {
                const index_t step = std::abs(v.col[k] - i);
                EXPECT_TRUE(step == width || (step == 1 && i / width == v.col[k] / width)) << i << ", " << v.col[k];
            }
    }
    EXPECT_NEAR(static_cast<double>(make("road:100000").nonzeros()), 250'000, 2'500);
}

TEST(Generate, PrunedWeightsHaveTheirSparsityAndUnequalRows)
{
    const Csr<double> a = make("pruned:1000,2000,0.9");
    EXPECT_NEAR(static_cast<double>(a.nonzeros()), 200'000, 4'000);
    double deviation = 0;
    for (index_t i = 0; i < a.rows; ++i)
        deviation +=
            std::pow(static_cast<double>(a.row_begin.data()[i + 1] - a.row_begin.data()[i]) / 200 - 1, 2) / 1000;
    EXPECT_GT(std::sqrt(deviation), 0.15);
    EXPECT_LT(std::sqrt(deviation), 0.35);
    EXPECT_EQ(make("pruned:20,30,0").nonzeros(), 600);
    EXPECT_EQ(make("pruned:20,30,1").nonzeros(), 0);
    EXPECT_EQ(make("pruned:20,30,1.000000").nonzeros(), 0);
    EXPECT_TRUE(same(make("pruned:20,30,0.5"), make("pruned:20,30,0.500")));
}

TEST(Generate, TrianglesHaveTheirLevelsAndADominantDiagonal)
{
    const std::vector<std::pair<std::string, index_t>> cases{{"chain:1", 1},          {"chain:40", 40},
                                                             {"chain:40,5", 40},      {"levels:1,1", 1},
                                                             {"levels:100,1", 1},     {"levels:100,100", 100},
                                                             {"levels:1000,7", 7},    {"levels:1003,40,9", 40},
                                                             {"levels:50,49,1", 49},  {"levels:9,2,1000", 2},
                                                             {"levels:9,3,seed=4", 3}};
    for (const auto& [sentence, expected] : cases) {
        SCOPED_TRACE(sentence);
        const Csr<double> a = make(sentence);
        EXPECT_EQ(levels(a.view()), expected);
        expect_dominant_triangle(a.view());
    }
    EXPECT_EQ(make("chain:40").nonzeros(), 79);
    EXPECT_EQ(make("levels:50,49,1").nonzeros(), 98);  // two rows in the first level
}

TEST(Generate, SeedsMatter)
{
    for (const std::string kind :
         {"uniform:50,50,3", "rmat:6,4", "road:300", "pruned:40,40,0.7", "chain:60,3", "levels:60,6"}) {
        SCOPED_TRACE(kind);
        EXPECT_TRUE(same(make(kind), make(kind + ",seed=7")));
        EXPECT_FALSE(same(make(kind), make(kind + ",seed=8")));
        EXPECT_FALSE(same(make(kind + ",seed=8"), make(kind + ",seed=18446744073709551615")));
    }
}

TEST(Generate, SmallestSizesWork)
{
    for (const auto* sentence :
         {"identity:1", "diagonal:1", "stencil5:1", "stencil9:1", "stencil7:1", "stencil27:1,1,1", "fem:1,1",
          "fem:1,1,1,1", "banded:1,0", "arrow:1", "uniform:1,1,1", "chain:1", "chain:1,0", "levels:1,1,1"}) {
        SCOPED_TRACE(sentence);
        const Csr<double> a = make(sentence);
        EXPECT_EQ(a.rows, 1);
        EXPECT_EQ(a.nonzeros(), 1);
    }
    EXPECT_EQ(make("road:1").nonzeros(), 0);
    EXPECT_EQ(make("rmat:1,1").rows, 2);
}

struct BadSentence {
    std::string sentence, problem, hint;
};

TEST(Generate, SentencesThatMakeNoSenseAreRefused)
{
    const std::string form = "write stencil7:N or stencil7:NX,NY,NZ, for example stencil7:10";
    const std::vector<BadSentence> cases{
        {"", "there is no kind of matrix ''", "the kinds are identity, diagonal, stencil5"},
        {"stencil", "there is no kind of matrix 'stencil'", "stencil27, fem, banded"},
        {" stencil7:3", "there is no kind of matrix ' stencil7'", "and twin:NAME"},
        {"twin", "there is no twin ''", "pdb1HYS, consph, cant"},
        {"twin:", "there is no twin ''", "webbase-1M"},
        {"twin:canton", "there is no twin 'canton'", "write for example twin:cant"},
        {"twin:cant,3", "twin:cant: takes 0 numbers, not 1", "write twin:cant"},
        {"twin:cant:3", "twin:cant: takes 0 numbers, not 1", "write twin:cant"},
        {"twin:cant,seed=3", "twin:cant: nothing in it is random, so it takes no seed", "write twin:cant"},
        {"stencil7", "stencil7: takes 1 or 3 numbers, not 0", form},
        {"stencil7:3,4", "stencil7: takes 1 or 3 numbers, not 2", form},
        {"stencil7:3,4,5,6", "stencil7: takes 1 or 3 numbers, not 4", form},
        {"stencil7:", "stencil7: N is '', not a whole number", form},
        {"stencil7:3,,5", "stencil7: NY is '', not a whole number", form},
        {"stencil7:0", "stencil7: N must be at least 1, not 0", form},
        {"stencil7:3,4,-5", "stencil7: NZ must be at least 1, not -5", form},
        {"stencil7:-99999999999999999999", "stencil7: N must be at least 1, not -99999999999999999999", form},
        {"stencil7:2147483648", "stencil7: N is 2147483648, more than 2147483647, the most there can be", form},
        {"stencil7:99999999999999999999", "stencil7: N is 99999999999999999999, more than 2147483647", form},
        {"stencil7:1e3", "stencil7: N is '1e3', not a whole number", form},
        {"stencil7:+3", "stencil7: N is '+3', not a whole number", form},
        {"stencil7:3 ", "stencil7: N is '3 ', not a whole number", form},
        {"stencil7:-", "stencil7: N is '-', not a whole number", form},
        {"stencil7:3,seed=1", "stencil7: nothing in it is random, so it takes no seed", form},
        {"rmat:5,5,sed=7", "rmat: there is no key 'sed'",
         "write rmat:SCALE,DEGREE[,seed=S], for example rmat:8,8,seed=7"},
        {"rmat:5,5,seed=7,seed=7", "rmat: the seed is given twice", "for example"},
        {"rmat:5,5,seed=", "rmat: the seed is '', not a whole number below 2^64", "for example"},
        {"rmat:5,5,seed=-1", "rmat: the seed is '-1', not a whole number below 2^64", "for example"},
        {"rmat:5,5,seed=18446744073709551616",
         "rmat: the seed is '18446744073709551616', not a whole number below 2^64", "for example"},
        {"rmat:seed=3,5,5", "rmat: takes 2 numbers, not 3", "for example"},
        {"rmat:31,1", "rmat:31,1: 2^31 rows are more than 2 147 483 647", "at most 30"},
        {"road:3,4", "road: takes 1 number, not 2", "write road:N[,seed=S]"},
        {"uniform:4,3,4", "uniform:4,3,4: 4 entries a row do not fit 3 columns", "fewer entries"},
        {"elasticity2d:3,1", "elasticity2d: NY must be at least 2, not 1", "for example"},
        {"coordinates:3", "coordinates: takes 2 or 3 numbers, not 1", "for example"},
        {"arrow:4,5", "arrow:4,5: the arrow's width 5 exceeds its 4 rows", "WIDTH"},
        {"levels:4,5", "levels:4,5: 5 levels need as many rows, not 4", "fewer levels"},
        {"pruned:4,4,1.5", "pruned: SPARSITY must be from 0 to 1, not 1.5", "for example"},
        {"pruned:4,4,1.000001", "pruned: SPARSITY must be from 0 to 1, not 1.000001", "for example"},
        {"pruned:4,4,0.1234567", "pruned: SPARSITY is '0.1234567', not a number like 0.95", "for example"},
        {"pruned:4,4,.5", "pruned: SPARSITY is '.5', not a number like 0.95", "for example"},
        {"pruned:4,4,0.", "pruned: SPARSITY is '0.', not a number like 0.95", "for example"},
        {"pruned:4,4,-0.5", "pruned: SPARSITY is '-0.5', not a number like 0.95", "for example"},
        {"pruned:4,4,99999999999999999999", "pruned: SPARSITY must be from 0 to 1", "for example"},
        {"stencil7:1291", "stencil7:1291: 2 151 685 171 rows are more than 2 147 483 647", "smaller"},
        {"stencil7:2147483647", "does not fit 64 bits", ""},
        {"banded:2147483647,2147483647", "entries are more than any memory holds", "smaller"},
    };
    for (const auto& [sentence, problem, hint] : cases) {
        SCOPED_TRACE(sentence);
        try {
            make(sentence);
            ADD_FAILURE() << "accepted";
        } catch (const ValueError& error) {
            EXPECT_NE(error.message().find(problem), std::string::npos) << error.message();
            EXPECT_NE(error.hint().find(hint), std::string::npos) << error.hint();
        }
    }
}

TEST(Generate, MatricesThatDoNotFitAreRefusedBeforeAnyWork)
{
    Context ctx = Context::cpu(1);
    ctx.budget(1_MiB);
    for (const auto* sentence : {"stencil7:100", "uniform:100000,100000,10", "rmat:20,16", "pruned:10000,10000,0.5",
                                 "levels:1000000,5", "road:1000000"}) {
        SCOPED_TRACE(sentence);
        try {
            io::generate<double>(ctx, sentence);
            ADD_FAILURE() << "accepted";
        } catch (const OutOfMemory& error) {
            EXPECT_NE(error.message().find(sentence), std::string::npos) << error.message();
            EXPECT_EQ(error.available(), 1_MiB);
            EXPECT_GT(error.needed(), 1_MiB);
        }
    }
    EXPECT_EQ(ctx.memory().allocations(), 0);
    EXPECT_NO_THROW(io::generate<double>(ctx, "stencil7:10"));
}

TEST(Generate, SurvivesEveryFailingAllocation)
{
    for (const auto* sentence : {"stencil7:5", "rmat:6,8", "pruned:20,20,0.5", "uniform:9,9,3", "levels:50,5",
                                 "twin:rma10", "twin:scircuit"}) {
        SCOPED_TRACE(sentence);
        const Csr<double> expected = make(sentence);
        const Context ctx = Context::cpu(2);
        int failures = 0;
        for (bool done = false; !done; ++failures) {
            ctx.memory().fail_at(failures);
            try {
                EXPECT_TRUE(same(io::generate<double>(ctx, sentence), expected));
                done = true;
            } catch (const OutOfMemory&) {}
            EXPECT_EQ(ctx.memory().live_blocks(), 0);
        }
        EXPECT_GT(failures, 3);
    }
}

TEST(Generate, HasNoFingerprintOfABrokenPattern)
{
    const double value[3] = {1, 1, 1};
    for (const auto& [far, col] : {std::pair{offset_t{1'000'000'000'000}, index_t{0}}, {2, 3}, {2, -1}}) {
        const offset_t begin[4] = {0, 1, far, 3};
        const index_t cols[3] = {0, col, 2};
        EXPECT_THROW(io::fingerprint(CsrView<double>{3, 3, 3, begin, cols, value}), ValueError) << far << ' ' << col;
    }
}

TEST(Generate, TellsItsProgress)
{
    for (const auto* sentence : {"stencil5:600", "rmat:12,8", "twin:rma10"}) {
        SCOPED_TRACE(sentence);
        std::vector<double> told;
        io::generate<double>(Context::cpu(2), sentence, [&](double share) { told.push_back(share); });
        EXPECT_GT(told.size(), 3u);
        EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
        EXPECT_EQ(told.back(), 1.0);
        EXPECT_GE(told.front(), 0.0);
    }
}

TEST(Generate, StopsWhereProgressThrows)
{
    const Context ctx = Context::cpu(2);
    const auto stop = [](double share) {
        if (share > 0.5) throw std::runtime_error("enough");
    };
    EXPECT_THROW(io::generate<double>(ctx, "stencil5:600", stop), std::runtime_error);
    EXPECT_EQ(ctx.memory().live_blocks(), 0);
}

}  // namespace
}  // namespace tulle::test
