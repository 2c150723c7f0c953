// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Pictures: the counting behind them is exact, the files are what they say, and different matrices look different.
#include <map>
#include <random>

#include "apps/cli/picture/density.hpp"
#include "cli/program.hpp"

namespace tulle::test {
namespace {

using cli::picture::Grid;

struct Arrays {
    index_t rows, cols;
    std::vector<offset_t> row_begin{0};
    std::vector<index_t> col;
    cli::picture::Pattern pattern() const { return {rows, cols, row_begin.data(), col.data()}; }
};

Arrays scattered(index_t rows, index_t cols, unsigned seed)
{
    std::mt19937 random(seed);
    Arrays a{.rows = rows, .cols = cols, .col = {}};
    for (index_t i = 0; i < rows; ++i) {
        for (index_t j = 0; j < cols; ++j)
            if (random() % 5 == 0) a.col.push_back(j);
        a.row_begin.push_back(std::ssize(a.col));
    }
    return a;
}

// The cell that holds a position, by looking for it.
int cell_of(offset_t at, int cells, const auto& first)
{
    int cell = 0;
    while (cell + 1 < cells && first(cell + 1) <= at) ++cell;
    return cell;
}

TEST(Density, CountsEveryNonzeroInItsCell)
{
    for (const auto& [rows, cols, height, width] : {std::array{37, 53, 7, 10}, std::array{5, 5, 5, 5}, std::array{100, 3, 33, 2}, std::array{64, 64, 1, 1}}) {
        const Arrays a = scattered(rows, cols, 3);
        const Grid grid = cli::picture::count_cells(a.pattern(), {}, height, width, 4);
        std::vector<std::int64_t> plain(grid.count.size(), 0);
        for (index_t i = 0; i < rows; ++i)
            for (offset_t k = a.row_begin[static_cast<std::size_t>(i)]; k < a.row_begin[static_cast<std::size_t>(i) + 1]; ++k) {
                const int y = cell_of(i, height, [&](int c) { return grid.first_row(c); }), x = cell_of(a.col[static_cast<std::size_t>(k)], width, [&](int c) { return grid.first_col(c); });
                ++plain[static_cast<std::size_t>(y * width + x)];
            }
        EXPECT_EQ(grid.count, plain) << rows << " x " << cols << " in " << height << " x " << width;
    }
}

TEST(Density, PermutesOnTheWay)
{
    const Arrays a = scattered(9, 9, 5);
    cli::picture::Order reversed;
    for (index_t i = 0; i < 9; ++i) {
        reversed.row_from.push_back(8 - i);
        reversed.col_to.push_back(8 - i);
    }
    const Grid plain = cli::picture::count_cells(a.pattern(), {}, 9, 9, 2), turned = cli::picture::count_cells(a.pattern(), reversed, 9, 9, 2);
    for (int y = 0; y < 9; ++y)
        for (int x = 0; x < 9; ++x) EXPECT_EQ(plain.at(y, x), turned.at(8 - y, 8 - x));
}

class Spy : public Program {
protected:
    std::string drawn(const std::string& words, const std::string& name) const
    {
        const Outcome run = tulle("spy " + words + " -o " + name);
        EXPECT_EQ(run.code, 0) << run.err;
        return text_of(folder / name);
    }
    static std::uint32_t number_at(const std::string& png, std::size_t at)
    {
        std::uint32_t number = 0;
        for (std::size_t i = 0; i < 4; ++i) number = number << 8 | static_cast<unsigned char>(png[at + i]);
        return number;
    }
    bool writes_png() const { return json("doctor")["build"]["png"]; }
};

TEST_F(Spy, WritesPngOfTheSizeAskedFor)
{
    if (!writes_png()) GTEST_SKIP() << "built without libpng";
    for (const unsigned size : {200u, 800u}) {
        const std::string png = drawn("stencil5:50 --size " + std::to_string(size), "a.png");
        ASSERT_GT(png.size(), 100u);
        EXPECT_EQ(png.substr(0, 8), "\x89PNG\r\n\x1a\n");
        EXPECT_GE(number_at(png, 16), size);
        EXPECT_LE(number_at(png, 16), size + 450);
        EXPECT_GE(number_at(png, 20), size);
    }
}

TEST_F(Spy, DrawsTwoPanelsForAPermutation)
{
    if (!writes_png()) GTEST_SKIP() << "built without libpng";
    const std::string one = drawn("stencil5:50", "one.png"), two = drawn("stencil5:50 --permute random", "two.png");
    EXPECT_GE(number_at(two, 16), 2 * number_at(one, 16) - 100);
}

// Rows use one of four blocks in turn: bsa brings those of a block together, and only then are tiles dense.
TEST_F(Spy, DrawsReorderedRowsWithDenseTiles)
{
    std::string lines;
    int entries = 0;
    for (int i = 0; i < 16; ++i)
        for (int j = 0; j < 4; ++j, ++entries) lines += std::to_string(i + 1) + " " + std::to_string(4 * (i % 4) + j + 1) + "\n";
    file("comb.mtx", "%%MatrixMarket matrix coordinate pattern general\n16 16 " + std::to_string(entries) + "\n" + lines);
    const std::string svg = drawn("comb.mtx --reorder bsa --tau 4 --delta 0.9", "comb.svg");
    EXPECT_NE(svg.find("rows by bsa, tau 4, alpha 0.3"), svg.npos);
    EXPECT_NE(svg.find("tiles of 4 × 4 over 90 % filled"), svg.npos);
    const std::size_t second = svg.find("rows by bsa");
    const auto dense = [](const std::string& part) { return part.find("fill=\"#bc3719\" d=") != part.npos; };      // red, for cells of one density
    EXPECT_FALSE(dense(svg.substr(0, second)));
    EXPECT_TRUE(dense(svg.substr(second)));
    const auto told = json("spy comb.mtx --reorder bsa --tau 4 --delta 0.9 -o comb.svg")["reorder"];
    EXPECT_EQ(told["before"]["dense_tiles"], 0);
    EXPECT_EQ(told["after"]["dense_tiles"], 4);
    EXPECT_EQ(told["after"]["share_in_dense_tiles"], 1.0);
    EXPECT_EQ(told["clusters"], 4);
    for (const char* order : {"degree", "minhash", "pack", "natural"}) drawn(std::string("comb.mtx --reorder ") + order, "other.svg");
    EXPECT_NE(tulle("spy comb.mtx --reorder bsb -o a.svg").code, 0);
    EXPECT_NE(tulle("spy comb.mtx --reorder bsa --permute random -o a.svg").code, 0);
}

TEST_F(Spy, DifferentMatricesGiveDifferentPictures)
{
    std::map<std::string, std::string> seen;
    for (const char* words : {"stencil5:50", "stencil9:50", "arrow:2500", "stencil5:50 --permute reverse", "stencil5:50 --permute random", "stencil5:50 --permute random --seed 2"}) {
        const std::string svg = drawn(words, "a.svg");
        // Names and titles differ anyway: what is compared is the map itself.
        const std::string map = svg.substr(svg.find("<path"), svg.rfind("</g>") - svg.find("<path"));
        EXPECT_TRUE(seen.emplace(map, words).second) << words << " looks like " << seen[map];
    }
    EXPECT_EQ(drawn("stencil5:50", "a.svg"), drawn("stencil5:50 --threads 1", "b.svg"));
}

TEST_F(Spy, DrawsOneCellForEachEntryOfATinyMatrix)
{
    file("tiny.mtx", "%%MatrixMarket matrix coordinate pattern general\n10 10 4\n1 1\n2 3\n9 9\n10 1\n");
    const std::string svg = drawn("tiny.mtx", "tiny.svg");
    const std::string map = svg.substr(svg.find("<path"));
    EXPECT_EQ(std::count(map.begin(), map.end(), 'M'), 4);
    for (const char* part : {">tiny<", "10 × 10, 4 nonzeros", ">row<", ">column<"}) EXPECT_NE(svg.find(part), svg.npos) << part;
}

TEST_F(Spy, DrawsEmptyAndOddShapes)
{
    drawn(file("empty.mtx", "%%MatrixMarket matrix coordinate real general\n5 5 0\n"), "empty.svg");
    drawn(file("wide.mtx", "%%MatrixMarket matrix coordinate real general\n1 100000 2\n1 1 1\n1 100000 1\n"), "wide.svg");
    drawn(file("tall.mtx", "%%MatrixMarket matrix coordinate real general\n100000 1 2\n1 1 1\n100000 1 1\n") + " --permute degree", "tall.svg");
}

}  // namespace
}  // namespace tulle::test
