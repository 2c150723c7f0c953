// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Pictures: the counting behind them is exact, the files are what they say, and different matrices look different. PNGs
// are read back and looked at.
#include <algorithm>
#include <array>
#include <numeric>
#include <random>
#include <set>

#include "apps/cli/picture/colour.hpp"
#include "apps/cli/picture/density.hpp"
#include "apps/cli/picture/scale.hpp"
#include "cli/program.hpp"
#ifdef TULLE_CLI_CAIRO
#include <cairo.h>
#endif

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
    for (const auto& [rows, cols, height, width] :
         {std::array{37, 53, 7, 10}, std::array{5, 5, 5, 5}, std::array{100, 3, 33, 2}, std::array{64, 64, 1, 1}}) {
        const Arrays a = scattered(rows, cols, 3);
        const Grid grid = cli::picture::count_cells(a.pattern(), {}, height, width, 4);
        std::vector<std::int64_t> plain(grid.count.size(), 0);
        for (index_t i = 0; i < rows; ++i)
            for (offset_t k = a.row_begin[static_cast<std::size_t>(i)];
                 k < a.row_begin[static_cast<std::size_t>(i) + 1]; ++k) {
                const int y = cell_of(i, height, [&](int c) { return grid.first_row(c); }),
                          x = cell_of(a.col[static_cast<std::size_t>(k)], width,
                                      [&](int c) { return grid.first_col(c); });
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
    const Grid plain = cli::picture::count_cells(a.pattern(), {}, 9, 9, 2),
               turned = cli::picture::count_cells(a.pattern(), reversed, 9, 9, 2);
    for (int y = 0; y < 9; ++y)
        for (int x = 0; x < 9; ++x) EXPECT_EQ(plain.at(y, x), turned.at(8 - y, 8 - x));
}

// Cells are 12 or 13 columns wide: a single entry has the same colour in all of them, and so has a full cell.
TEST(DensityScale, CellsOfUnequalWidthAreToldApartByWhatTheyHold)
{
    const auto scale_of = [](const std::vector<index_t>& columns) {
        const std::vector<offset_t> row_begin{0, std::ssize(columns)};
        return cli::picture::DensityScale(
            {cli::picture::count_cells({1, 50, row_begin.data(), columns.data()}, {}, 1, 4, 1)});
    };
    EXPECT_TRUE(scale_of({0, 13, 26, 40}).is_flat());
    std::vector<index_t> all(50);
    std::iota(all.begin(), all.end(), 0);
    EXPECT_TRUE(scale_of(all).is_flat());
    const auto two = scale_of({0, 1, 13, 26, 40});
    EXPECT_FALSE(two.is_flat());
    EXPECT_LT(std::abs(two.level(1 / 12.0) - two.level(1 / 13.0)), cli::picture::levels / 5);
    EXPECT_GT(two.level(2 / 13.0) - two.level(1 / 12.0), cli::picture::levels / 2);
}

TEST(DensityScale, LabelsAreInOneStyle)
{
    const auto axis = cli::picture::axis_ticks(25'000, false, 6);
    std::string all;
    for (const auto& tick : axis) all += tick.text + "|";
    EXPECT_EQ(all, "0|5 000|10 000|15 000|20 000|25 000|");
    std::vector<index_t> dense(1000);
    std::iota(dense.begin(), dense.end(), 0);
    dense.push_back(1'000'000);
    const std::vector<offset_t> row_begin{0, std::ssize(dense)};
    const auto grid = cli::picture::count_cells({1, 2'000'000, row_begin.data(), dense.data()}, {}, 1, 2000, 1);
    std::string powers;
    for (const auto& tick : cli::picture::DensityScale({grid}).ticks()) powers += tick.text + "|";
    EXPECT_EQ(powers, "10⁻³|10⁻²|10⁻¹|10⁰|");
}

#ifdef TULLE_CLI_CAIRO

using cli::picture::Colour;

// A PNG as it looks.
struct Image {
    int width = 0, height = 0;
    std::vector<Colour> pixel;
    Colour at(int x, int y) const
    {
        return pixel[static_cast<std::size_t>(y) * static_cast<std::size_t>(width) + static_cast<std::size_t>(x)];
    }
    int count(Colour colour) const { return static_cast<int>(std::count(pixel.begin(), pixel.end(), colour)); }
    bool operator==(const Image&) const = default;

    Image part(int left, int top, int right, int bottom) const
    {
        Image cut{right - left, bottom - top, {}};
        for (int y = top; y < bottom; ++y)
            for (int x = left; x < right; ++x) cut.pixel.push_back(at(x, y));
        return cut;
    }

    // The inside of the k-th frame from the left, found by its upper edge: the longest lines in the frame's colour.
    Image map(int k = 0) const
    {
        for (int y = 0; y < height; ++y)
            for (int x = 0, found = 0; x < width; ++x) {
                int end = x;
                while (end < width && at(end, y) == cli::picture::frame) ++end;
                if (end - x > 60 && found++ == k) {
                    int bottom = y + 1;
                    while (bottom < height && at(x, bottom) == cli::picture::frame) ++bottom;
                    return part(x + 1, y + 1, end - 1, bottom - 1);
                }
                x = end;
            }
        ADD_FAILURE() << "there is no frame";
        return {};
    }

    std::set<std::array<int, 3>> colours() const
    {
        std::set<std::array<int, 3>> all;
        for (const Colour& c : pixel)
            if (c != cli::picture::white) all.insert({c.red, c.green, c.blue});
        return all;
    }
};

Image image_of(const std::filesystem::path& file)
{
    cairo_surface_t* surface = cairo_image_surface_create_from_png(file.c_str());
    EXPECT_EQ(cairo_surface_status(surface), CAIRO_STATUS_SUCCESS) << file;
    Image image{cairo_image_surface_get_width(surface), cairo_image_surface_get_height(surface), {}};
    const int stride = cairo_image_surface_get_stride(surface);
    for (int y = 0; y < image.height; ++y)
        for (int x = 0; x < image.width; ++x) {
            const auto p = reinterpret_cast<const std::uint32_t*>(cairo_image_surface_get_data(surface) +
                                                                  std::ptrdiff_t{y} * stride)[x];
            image.pixel.push_back(
                {static_cast<std::uint8_t>(p >> 16), static_cast<std::uint8_t>(p >> 8), static_cast<std::uint8_t>(p)});
        }
    cairo_surface_destroy(surface);
    return image;
}

class Spy : public Program {
protected:
    std::string drawn(const std::string& words, const std::string& name) const
    {
        const Outcome run = tulle("spy " + words + " -o " + name);
        EXPECT_EQ(run.code, 0) << run.err;
        return text_of(folder / name);
    }
    Image picture(const std::string& words) const
    {
        drawn(words, "a.png");
        return image_of(folder / "a.png");
    }
};

TEST_F(Spy, WritesPngOfTheSizeAskedFor)
{
    for (const int size : {200, 800}) {
        const Image png = picture("stencil5:50 --size " + std::to_string(size));
        EXPECT_GE(png.width, size);
        EXPECT_LE(png.width, size + 450);
        EXPECT_GE(png.height, size);
    }
}

TEST_F(Spy, WritesSvgAndPdfTheSameEveryTime)
{
    for (const std::string words : {"stencil5:50", "stencil5:3", "stencil5:50 --levels"}) {
        const std::string svg = drawn(words, "a.svg"), pdf = drawn(words, "a.pdf");
        EXPECT_EQ(svg.substr(0, 5), "<?xml");
        EXPECT_NE(svg.find("</svg>"), svg.npos);
        EXPECT_EQ(pdf.substr(0, 5), "%PDF-");
        EXPECT_NE(pdf.rfind("%%EOF"), pdf.npos);
        EXPECT_EQ(drawn(words + " --threads 1", "b.svg"), svg);
        EXPECT_EQ(drawn(words, "b.pdf"), pdf);
    }
}

// Labels and legends that are wider than the map: long numbers at the right end, narrow maps.
TEST_F(Spy, NothingIsCutOffAtTheEdges)
{
    for (const std::string words : {"banded:1000000,1", "uniform:3000,20,3", "uniform:20,3000,3", "banded:30000,1",
                                    "uniform:3000,20,3 --devices 3", "rmat:8,8 --levels"}) {
        const Image all = picture(words);
        EXPECT_TRUE(all.part(0, 0, 4, all.height).colours().empty()) << words;
        EXPECT_TRUE(all.part(all.width - 4, 0, all.width, all.height).colours().empty()) << words;
    }
}

// Names of files may hold any bytes.
TEST_F(Spy, DrawsTextThatIsNotUtf8)
{
    file("bad\xff.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n2 2 1\n");
    for (const char* words : {"spy 'bad\xff.mtx' -o a.png", "spy stencil5:4 --title '\xff\xfe' -o a.svg",
                              "solve 'bad\xff.mtx' --plot a.pdf"}) {
        const Outcome run = tulle(words);
        EXPECT_EQ(run.code, 0) << words << "\n" << run.err;
    }
}

TEST_F(Spy, DrawsTwoPanelsForAPermutation)
{
    const Image one = picture("stencil5:50"), two = picture("stencil5:50 --permute random");
    EXPECT_GE(two.width, 2 * one.width - 100);
    EXPECT_NE(two.map(1), two.map(0));
}

TEST_F(Spy, SingleEntriesHaveOneColour) { EXPECT_EQ(picture("uniform:10,5000,3").map().colours().size(), 1u); }

TEST_F(Spy, TitleAndLegendAreAMatterOfWish)
{
    for (const std::string words : {"rmat:8,8", "rmat:8,8 --levels"}) {
        const Image plain = picture(words), titled = picture(words + " --title 'Another name'"),
                    bare = picture(words + " --no-legend");
        EXPECT_NE(titled.part(0, 0, titled.width, 60), plain.part(0, 0, plain.width, 60)) << words;
        EXPECT_EQ(titled.part(0, 100, titled.width, titled.height), plain.part(0, 100, plain.width, plain.height))
            << words;
        EXPECT_NE(bare, plain) << words;
        EXPECT_LE(bare.height, plain.height) << words;
    }
}

// Tiles have a colour scale of their own.
TEST_F(Spy, DenseTilesAreInTheLegend)
{
    const Image reordered = picture("fem:8,3 --reorder bsa --tau 8"),
                bare = picture("fem:8,3 --reorder bsa --tau 8 --no-legend");
    EXPECT_GE(reordered.height, bare.height + 80);
    const Image legend = reordered.part(0, bare.height, reordered.width, reordered.height);
    for (const auto* stops : {&cli::picture::cool_stops, &cli::picture::warm_stops})
        for (const double t : {0.0, 1.0}) EXPECT_GT(legend.count(cli::picture::ramp(t, *stops)), 20) << t;
}

// A tridiagonal matrix: each third of the rows has one hue, in order, and each hue stands in the legend.
TEST_F(Spy, ColoursRowsByDevice)
{
    const Image plain = picture("banded:90,1 --size 360"), parts = picture("banded:90,1 --size 360 --devices 3");
    const Image map = parts.map();
    std::vector<Colour> diagonal;
    for (int row = 0; row < 90; ++row) diagonal.push_back(map.at(row * map.width / 90 + 2, row * map.height / 90 + 2));
    for (int p = 0; p < 3; ++p) {
        const Colour hue =
            cli::picture::ramp(cli::picture::flat_shade, cli::picture::part_stops[static_cast<std::size_t>(p)]);
        EXPECT_NEAR(static_cast<double>(std::count(diagonal.begin(), diagonal.end(), hue)), 30, 1) << p;
        EXPECT_GT(parts.count(hue) - map.count(hue), 20) << p;
    }
    EXPECT_TRUE(std::is_sorted(diagonal.begin(), diagonal.end(), [&](Colour a, Colour b) {
        const auto first = [&](Colour c) { return std::find(diagonal.begin(), diagonal.end(), c) - diagonal.begin(); };
        return first(a) < first(b);
    }));
    EXPECT_NE(plain.map(), map);
    EXPECT_EQ(json("spy uniform:10,5000,3 --devices 4 -o a.pdf")["parts"].size(), 4u);
    EXPECT_EQ(json("spy stencil5:3 --devices 64 -o a.svg")["parts"].size(), 64u);
    EXPECT_EQ(tulle("spy stencil5:3 --devices 65 -o a.svg").code, 2);
    EXPECT_EQ(tulle("spy stencil5:3 --devices 2 --levels -o a.svg").code, 2);
}

// Rows use one of four blocks in turn: bsa brings those of a block together, and only then are tiles dense.
TEST_F(Spy, DrawsReorderedRowsWithDenseTiles)
{
    std::string lines;
    int entries = 0;
    for (int i = 0; i < 16; ++i)
        for (int j = 0; j < 4; ++j, ++entries)
            lines += std::to_string(i + 1) + " " + std::to_string(4 * (i % 4) + j + 1) + "\n";
    file("comb.mtx",
         "%%MatrixMarket matrix coordinate pattern general\n16 16 " + std::to_string(entries) + "\n" + lines);
    const Image png = picture("comb.mtx --reorder bsa --tau 4 --delta 0.9");
    const auto red = cli::picture::ramp(cli::picture::flat_shade, cli::picture::warm_stops);
    EXPECT_EQ(png.map(0).count(red), 0);
    EXPECT_GT(png.map(1).count(red), 0);
    const auto told = json("spy comb.mtx --reorder bsa --tau 4 --delta 0.9 -o comb.svg")["reorder"];
    EXPECT_EQ(told["before"]["dense_tiles"], 0);
    EXPECT_EQ(told["after"]["dense_tiles"], 4);
    EXPECT_EQ(told["after"]["share_in_dense_tiles"], 1.0);
    EXPECT_EQ(told["clusters"], 4);
    for (const char* order : {"degree", "minhash", "pack", "natural"})
        drawn(std::string("comb.mtx --reorder ") + order, "other.svg");
    EXPECT_NE(tulle("spy comb.mtx --reorder bsb -o a.svg").code, 0);
    EXPECT_NE(tulle("spy comb.mtx --reorder bsa --permute random -o a.svg").code, 0);
}

TEST_F(Spy, DifferentMatricesGiveDifferentPictures)
{
    std::vector<std::pair<std::string, Image>> seen;
    for (const char* words : {"stencil5:50", "stencil9:50", "arrow:2500", "arrow:2500 --permute reverse",
                              "stencil5:50 --permute random", "stencil5:50 --permute random --seed 2"}) {
        const Image png = picture(words), map = png.map(std::string(words).find("--permute") == std::string::npos
                                                            ? 0
                                                            : 1);  // names and titles differ anyway
        for (const auto& [other, image] : seen) EXPECT_NE(map, image) << words << " looks like " << other;
        seen.emplace_back(words, map);
    }
    EXPECT_EQ(picture("stencil5:50"), picture("stencil5:50 --threads 1"));
}

TEST_F(Spy, DrawsOneCellForEachEntryOfATinyMatrix)
{
    file("tiny.mtx", "%%MatrixMarket matrix coordinate pattern general\n10 10 4\n1 1\n2 3\n9 9\n10 1\n");
    const Image map = picture("tiny.mtx").map();
    for (const auto& [row, col] : {std::pair{0, 0}, std::pair{1, 2}, std::pair{8, 8}, std::pair{9, 0}})
        EXPECT_NE(map.at((2 * col + 1) * map.width / 20, (2 * row + 1) * map.height / 20), cli::picture::white)
            << row << ", " << col;
    EXPECT_EQ(map.at(3 * map.width / 20, map.height / 20), cli::picture::white);
    const auto filled = static_cast<double>(std::ssize(map.pixel) - map.count(cli::picture::white));
    EXPECT_NEAR(filled / static_cast<double>(map.pixel.size()), 0.04 * 0.87, 0.004)
        << "four cells with a gap around them";
}

TEST_F(Spy, DrawsEmptyAndOddShapes)
{
    drawn(file("empty.mtx", "%%MatrixMarket matrix coordinate real general\n5 5 0\n"), "empty.svg");
    drawn(file("wide.mtx", "%%MatrixMarket matrix coordinate real general\n1 100000 2\n1 1 1\n1 100000 1\n"),
          "wide.svg");
    drawn(file("tall.mtx", "%%MatrixMarket matrix coordinate real general\n100000 1 2\n1 1 1\n100000 1 1\n") +
              " --permute degree",
          "tall.svg");
}

#else

class Spy : public Program {};
TEST_F(Spy, SaysThatPicturesWereNotBuilt)
{
    const Outcome run = tulle("spy stencil5:4 -o a.png");
    EXPECT_EQ(run.code, 5);
    EXPECT_NE(run.err.find("libcairo2-dev"), run.err.npos) << run.err;
    EXPECT_EQ(tulle("demo stencil5:4").code, 0);
}

#endif

}  // namespace
}  // namespace tulle::test
