// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The twins against the figures their recipes give (exactly) and against the paper's (within the tolerance
// docs/twins.md promises).
#include <gtest/gtest.h>

#include <cmath>

#include "io/pattern_figures.hpp"
#include "tulle/generate.hpp"

namespace tulle::test {
namespace {

struct Figures {
    offset_t nonzeros, longest, products, square;
    index_t levels;  // 0: none published
};

struct Twin {
    std::string name;
    index_t rows;
    Figures paper, ours;
    std::uint64_t fingerprint;
    bool exact = false;  // all the paper's figures, levels aside
};

// Paper: table 2 of doi:10.1109/ICPP.2017.19; levels as published with AG-SpTRSV's code.
const std::vector<Twin>& twins()
{
    static const std::vector<Twin> all{
        {"pdb1HYS",
         36'417,
         {4'344'765, 204, 555'322'659, 19'594'581, 0},
         {4'344'741, 201, 555'549'057, 19'601'379, 4'509},
         0xf7e0b6a1126fecb2},
        {"consph",
         83'334,
         {6'010'480, 81, 463'845'030, 26'539'736, 596},
         {6'010'524, 81, 463'701'978, 26'557'804, 514},
         0xcae5760a3d0c5d0b},
        {"cant",
         62'451,
         {4'007'383, 78, 269'486'473, 17'440'029, 2'397},
         {4'007'383, 78, 269'486'473, 17'440'029, 2'493},
         0x4fd77c71fe2d2d89,
         true},
        {"pwtk",
         217'918,
         {11'634'424, 180, 626'054'402, 32'772'236, 142'168},
         {11'635'612, 180, 626'465'080, 32'783'476, 142'006},
         0x6d6b82471284e158},
        {"rma10",
         46'835,
         {2'374'001, 145, 156'480'259, 7'900'917, 7'785},
         {2'378'751, 144, 156'363'063, 7'890'673, 7'707},
         0xafab1f9ac1447b44},
        {"qcd5_4",
         49'152,
         {1'916'928, 39, 74'760'192, 10'911'744, 0},
         {1'916'928, 39, 74'760'192, 10'911'744, 29},
         0xd5ac4a8e78dbe768,
         true},
        {"shipsec1",
         140'874,
         {7'813'404, 102, 450'639'288, 24'086'412, 0},
         {7'811'316, 102, 450'891'576, 24'090'948, 2'088},
         0xa08ceff73921b69d},
        {"mac_econ",
         206'500,
         {1'273'389, 44, 7'556'897, 6'704'899, 12'518},
         {1'273'389, 44, 7'547'623, 6'718'120, 12'503},
         0x457d4c86f147de39},
        {"mc2depi",
         525'825,
         {2'100'225, 4, 8'391'680, 5'245'952, 1'025},
         {2'100'225, 4, 8'391'680, 5'245'952, 1'025},
         0xa4f9d0860c3eba50,
         true},
        {"cop20k_A",
         121'192,
         {2'624'331, 81, 79'883'385, 18'705'069, 239},
         {2'631'245, 81, 79'465'211, 18'713'287, 239},
         0xdc95f616bf51e79c},
        {"scircuit",
         170'998,
         {958'936, 353, 8'676'313, 5'222'525, 1'170},
         {958'918, 352, 8'693'722, 5'209'824, 1'175},
         0x71f81b9de599d40d},
        {"webbase-1M",
         1'000'005,
         {3'105'536, 4'700, 69'524'195, 51'111'996, 512},
         {3'105'339, 4'702, 69'482'496, 51'173'483, 511},
         0x82ff467e0a88024b},
    };
    return all;
}

bool within(offset_t ours, offset_t paper, double percent)
{
    return std::abs(static_cast<double>(ours - paper)) <= static_cast<double>(paper) * percent / 100;
}

class TwinOf : public ::testing::TestWithParam<Twin> {};

TEST_P(TwinOf, HasTheFiguresOfItsRecipe)
{
    const auto& [name, rows, paper, ours, print, exact] = GetParam();
    if (slow_build && ours.nonzeros > 2'400'000) GTEST_SKIP() << "large matrices are left to optimised builds";
    const auto a = io::generate<float>(Context::cpu(), "twin:" + name);
    const auto view = a.view();
    EXPECT_EQ(view.rows, rows);
    EXPECT_EQ(view.cols, rows);
    EXPECT_TRUE(is_sound(view));
    EXPECT_EQ(view.nonzeros, ours.nonzeros);
    EXPECT_EQ(longest_row(view), ours.longest);
    EXPECT_EQ(products(view), ours.products);
    EXPECT_EQ(levels(view), ours.levels);
    EXPECT_EQ(io::fingerprint(view), print);
    if (!slow_build) {
        EXPECT_EQ(nonzeros_of_square(view), ours.square);
    }
}

TEST_P(TwinOf, IsCloseToThePaper)
{
    const auto& [name, rows, paper, ours, print, exact] = GetParam();
    EXPECT_TRUE(within(ours.nonzeros, paper.nonzeros, exact ? 0 : 0.5));
    EXPECT_TRUE(within(ours.longest, paper.longest, exact ? 0 : 2));
    EXPECT_TRUE(within(ours.products, paper.products, exact ? 0 : 1));
    EXPECT_TRUE(within(ours.square, paper.square, exact ? 0 : 1));
    if (paper.levels > 0) {
        EXPECT_TRUE(within(ours.levels, paper.levels, 15));
    }
}

INSTANTIATE_TEST_SUITE_P(Table2, TwinOf, ::testing::ValuesIn(twins()),
                         [](const auto& test) { return test_name(test.param.name); });

TEST(Twins, AreTheTwelveOfTheTable)
{
    std::vector<std::string> listed, expected;
    for (const auto& generator : io::generators())
        if (generator.name.starts_with("twin:")) listed.push_back(generator.name);
    for (const Twin& twin : twins()) expected.push_back("twin:" + twin.name);
    EXPECT_EQ(listed, expected);
}

}  // namespace
}  // namespace tulle::test
