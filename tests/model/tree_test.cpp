// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "model/tree.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "model/damage.hpp"
#include "model/embedded.hpp"
#include "model/perceptron.hpp"
#include "tulle/error.hpp"

namespace tulle::inline TULLE_ABI::model {
namespace {

constexpr const char* small_tree = "# learned from nothing\n"
                                   "tulle tree 1\n"
                                   "features density row_mean\n"
                                   "classes plain grouped\n"
                                   "\n"
                                   "split 0 density 0.076 1 2     # node 0\n"
                                   "leaf 1 plain\n"
                                   "split 2 row_mean 1e2 3 4\r\n"
                                   "leaf 3 grouped\n"
                                   "leaf 4 plain\n";

int choose(const Tree& tree, double density, double row_mean) { return tree.choose(std::array{density, row_mean}); }

TEST(Tree, GoesDownByItsLimits)
{
    const Tree tree = Tree::parse(small_tree, "small");
    EXPECT_EQ(tree.features(), (std::vector<std::string>{"density", "row_mean"}));
    EXPECT_EQ(tree.classes(), (std::vector<std::string>{"plain", "grouped"}));
    EXPECT_EQ(tree.depth(), 2);
    EXPECT_EQ(tree.nodes(), 5u);
    EXPECT_EQ(choose(tree, 0.01, 50), 0);
    EXPECT_EQ(choose(tree, 0.5, 50), 1);
    EXPECT_EQ(choose(tree, 0.5, 101), 0);
}

TEST(Tree, TheLimitItselfGoesLow)
{
    const Tree tree = Tree::parse(small_tree, "small");
    EXPECT_EQ(choose(tree, 0.076, 50), 0);
    EXPECT_EQ(choose(tree, std::nextafter(0.076, 1.0), 100), 1);
    EXPECT_EQ(choose(tree, 1, std::nextafter(100.0, 200.0)), 0);
}

TEST(Tree, NanAndInfinityEndSomewhere)
{
    const Tree tree = Tree::parse(small_tree, "small");
    const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
    EXPECT_EQ(choose(tree, nan, nan), 0);  // high, high
    EXPECT_EQ(choose(tree, nan, -infinity), 1);
    EXPECT_EQ(choose(tree, -infinity, nan), 0);
}

TEST(Tree, ALeafAlone)
{
    const Tree tree = Tree::parse("tulle tree 1\nfeatures a\nclasses x y\nleaf 0 y", "leaf");
    EXPECT_EQ(tree.depth(), 0);
    EXPECT_EQ(tree.choose(std::array{3.0}), 1);
}

TEST(Tree, RefusesAnotherNumberOfFeatures)
{
    const Tree tree = Tree::parse(small_tree, "small");
    EXPECT_THROW(tree.choose(std::array{1.0}), ShapeError);
    EXPECT_THROW(tree.choose(std::array{1.0, 2.0, 3.0}), ShapeError);
}

TEST(Tree, FullDepthIsAllowedAndNoMore)
{
    const auto chain = [](int depth) {  // split 0 … : the low child a leaf, the high one the next split
        std::string text = "tulle tree 1\nfeatures a\nclasses x y\n";
        for (int k = 0; k < depth; ++k) {
            const std::string node = std::to_string(2 * k), low = std::to_string(2 * k + 1),
                              high = std::to_string(2 * k + 2);
            text.append("split ")
                .append(node)
                .append(" a 1 ")
                .append(low)
                .append(" ")
                .append(high)
                .append("\nleaf ")
                .append(low)
                .append(" x\n");
        }
        return text.append("leaf ").append(std::to_string(2 * depth)).append(" y\n");
    };
    EXPECT_EQ(Tree::parse(chain(4), "chain").depth(), 4);
    EXPECT_THROW(Tree::parse(chain(5), "chain"), FormatError);
}

struct Fault {
    const char* text;
    const char* complaint;  // file, line and what is wrong
};

TEST(Tree, NamesTheLineThatIsWrong)
{
    const std::string head = "tulle tree 1\nfeatures a b\nclasses x y\n";
    const Fault faults[] = {
        {"leaf 0 z", "t:4: there is no class 'z'"},
        {"leaf 1 x", "t:4: node 0 belongs here"},
        {"leaf 0 x\nleaf 1 x", "t:5: node 1 is nobody's child"},
        {"split 0 c 1 1 2\nleaf 1 x\nleaf 2 y", "t:4: there is no feature 'c'"},
        {"split 0 a one 1 2\nleaf 1 x\nleaf 2 y", "t:4: 'one' is not a number"},
        {"split 0 a nan 1 2\nleaf 1 x\nleaf 2 y", "t:4: 'nan' is not finite"},
        {"split 0 a 1e999 1 2\nleaf 1 x\nleaf 2 y", "t:4: '1e999' is not a number"},
        {"split 0 a 1 0 2\nleaf 1 x\nleaf 2 y", "t:4: node 0 cannot be a child of node 0"},
        {"split 0 a 1 -1 2\nleaf 1 x\nleaf 2 y", "t:4: node -1 cannot be a child of node 0"},
        {"split 0 a 1 1 1\nleaf 1 x", "t:4: node 1 is the child of two nodes"},
        {"split 0 a 1 1 1000000000\nleaf 1 x", "t:4: node 1000000000 cannot be a child of node 0"},
        {"split 0 a 1 1 2\nleaf 1 x", "t:6: node 2 is missing"},
        {"split 0 a 1 1\nleaf 1 x", "t:4: 5 words instead of 6"},
        {"split 0 a 1 1 2.5\nleaf 1 x", "t:4: '2.5' is not a whole number"},
        {"branch 0 a", "t:4: 'branch' is neither split nor leaf"},
        {"leaf", "t:4: only 1 words"},
        {"", "t:4: node 0 is missing"},
    };
    for (const Fault& fault : faults) {
        SCOPED_TRACE(fault.text);
        EXPECT_TRUE(complains([&] { Tree::parse(head + fault.text, "t"); }, fault.complaint));
    }
    EXPECT_TRUE(complains([&] { Tree::parse("", "t"); }, "t:1: not a decision tree"));
    EXPECT_TRUE(complains([&] { Tree::parse("tulle tree 2\n", "t"); }, "t:1: not a decision tree"));
    EXPECT_TRUE(complains([&] { Tree::parse("tulle tree 1\nfeatures\n", "t"); }, "t:2: no features"));
    EXPECT_TRUE(complains([&] { Tree::parse("tulle tree 1\nfeatures a a\n", "t"); }, "t:2: 'a' twice"));
    EXPECT_TRUE(complains([&] { Tree::parse("tulle tree 1\nclasses a\n", "t"); }, "t:2: a line 'features"));
}

// Whatever is done to a file, it is refused or it chooses.
TEST(Tree, SurvivesDamage)
{
    int refused = 0;
    for (int seed = 0; seed < 3000; ++seed) {
        const std::string text = damaged(small_tree, seed);
        SCOPED_TRACE(text);
        try {
            const Tree tree = Tree::parse(text, "damaged");
            const int chosen = tree.choose(std::vector<double>(tree.features().size(), 1.0));
            EXPECT_GE(chosen, 0);
            EXPECT_LT(chosen, static_cast<int>(tree.classes().size()));
        } catch (const FormatError& fault) {
            ++refused;
            EXPECT_TRUE(std::string(fault.what()).starts_with("damaged:"));
        }
    }
    EXPECT_GT(refused, 1000);
    EXPECT_LT(refused, 3000);
}

TEST(Tree, LoadsFromAFile)
{
    const std::filesystem::path path = std::filesystem::temp_directory_path() / "tulle_tree_test.txt";
    std::ofstream(path) << small_tree;
    EXPECT_EQ(Tree::load(path.string()).nodes(), 5u);
    std::filesystem::remove(path);
    EXPECT_THROW(Tree::load(path.string()), FileError);
}

// Every model that was built in can be read, and has a name.
TEST(Models, EmbeddedOnesAreSound)
{
    EXPECT_TRUE(embedded("no such model").empty());
    for (const std::string_view name : embedded_names()) {
        SCOPED_TRACE(name);
        const std::string_view text = embedded(name);
        const bool is_tree = text.find("tulle tree") != std::string_view::npos;
        EXPECT_NO_THROW(is_tree ? void(Tree::parse(text, name)) : void(Perceptron::parse(text, name)));
    }
}

}  // namespace
}  // namespace tulle::inline TULLE_ABI::model
