// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Layout of the spy picture. All lengths are multiples of a unit that grows with the picture, so that text keeps its
// proportion.
//
//     title                                title
//     subtitle                             subtitle
//     r +--------------------+             r +--------------------+
//     o |                    |             o |                    |
//     w |        map         |             w |        map         |
//       +--------------------+               +--------------------+
//               column                               column
//                         [ colour scale ]
//                         [ that of what stands out ]
//                     what the colours mean
#include "apps/cli/picture/plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "apps/cli/picture/scale.hpp"
#include "apps/cli/support/whole_file.hpp"
#include "io/sink.hpp"
#include "tulle/text.hpp"

namespace tulle::cli::picture {
namespace {

constexpr double longest_aspect = 4;  // a map is at most so many times as long as it is wide
constexpr int most_ticks = 6;         // on an axis, unless every row and column can have one
constexpr int large_cell = 6;         // pixels from which cells are told apart by a gap

// Along one side of a map: so many cells, so many pixels each.
struct Side {
    int cells = 1, pixels = 1;
    int length() const { return cells * pixels; }
};

// A row or column for each cell as long as they have a pixel each; otherwise cells of two pixels, which the eye can
// still see.
Side divide(index_t n, double length)
{
    const int room = std::max(2, static_cast<int>(length));
    if (n <= room) return {std::max(1, n), std::max(1, static_cast<int>(std::lround(length / std::max(1, n))))};
    return {room / 2, 2};
}

struct Shape {
    Side across, down;
    bool single_cols = false, single_rows = false;  // cells are single columns, rows
};

Shape shape_of(const Pattern& a, int size)
{
    const double aspect =
        std::clamp(static_cast<double>(std::max(1, a.cols)) / std::max(1, a.rows), 1 / longest_aspect, longest_aspect);
    Shape shape{divide(a.cols, aspect >= 1 ? size : size * aspect), divide(a.rows, aspect >= 1 ? size / aspect : size)};
    shape.single_cols = shape.across.cells == a.cols;
    shape.single_rows = shape.down.cells == a.rows;
    return shape;
}

// Where things stand, in pixels.
struct Layout {
    double unit = 1;
    int left = 0, top = 0, right = 0, below = 0;  // around a map
    int panel = 0;                                // from one map to the next
    int width = 0, height = 0;

    double pt(double points) const { return points * unit; }
};

double widest(const std::vector<Tick>& ticks, double size)
{
    double width = 0;
    for (const Tick& tick : ticks) width = std::max(width, text_width(tick.text, size));
    return width;
}

// What the colours mean: a bar for each ramp, ticks below the last one, and a sentence.
struct Legend {
    struct Bar {
        const Stops& stops;
        std::string text;  // at its right end
    };
    std::vector<Bar> bars = {};
    std::string key = {};
    bool flat = false, shown = true;  // flat: bars are short, of one colour, without ticks

    static constexpr double thick = 16, apart = 8;  // points
    double height() const
    {
        if (!shown) return 0;
        return static_cast<double>(bars.size()) * (thick + apart) + (flat || bars.empty() ? 14 : 32) +
               (bars.empty() ? 0 : 14) + 22;
    }
};

constexpr double above_legend = 76;  // points between map and legend: ticks and the name of the axis
constexpr double least_margin = 8;   // points between text and the edge of the picture

// As many as have room below the map.
std::vector<Tick> column_ticks(const Plot& plot, const Shape& shape, double unit)
{
    const double label = text_width(grouped(plot.matrix.cols), 17 * unit) + 24 * unit;
    const int fit = std::max(1, static_cast<int>(shape.across.length() / label));
    return axis_ticks(plot.matrix.cols, shape.single_cols, std::min(most_ticks, fit));
}

// How far labels of the columns reach beyond the right end of the map.
double overhang(const std::vector<Tick>& ticks, double length, double size)
{
    double most = 0;
    for (const Tick& tick : ticks) most = std::max(most, (tick.at - 1) * length + text_width(tick.text, size) / 2);
    return most;
}

Layout lay_out(const Plot& plot, const Shape& shape, const Legend& legend)
{
    Layout at;
    at.unit = std::clamp(plot.size / 800.0, 0.6, 2.5);
    const auto whole = [&](double points) { return static_cast<int>(std::ceil(at.pt(points))); };
    at.left =
        whole(52) + static_cast<int>(widest(axis_ticks(plot.matrix.rows, shape.single_rows, most_ticks), at.pt(17)));
    const double beyond = overhang(column_ticks(plot, shape, at.unit), shape.across.length(), at.pt(17));
    at.right = std::max(whole(34), whole(least_margin) + static_cast<int>(std::ceil(beyond)));
    at.top = whole(88);
    at.below = whole(above_legend + legend.height());
    double text = 0;
    for (const Panel& panel : plot.panels)
        text = std::max({text, text_width(panel.title, at.pt(25), true), text_width(panel.subtitle, at.pt(18))});
    const int map = std::max({shape.across.length(), static_cast<int>(text) + 1, whole(330)});
    at.panel = at.left + map + at.right;
    at.width = at.panel * static_cast<int>(plot.panels.size());
    at.height = at.top + shape.down.length() + at.below;
    return at;
}

// The part that has the middle row of a cell; 0 without parts.
int part_of(const std::vector<offset_t>& parts, const Grid& grid, int y)
{
    const offset_t row = (grid.first_row(y) + grid.first_row(y + 1) - 1) / 2;
    const auto after = std::upper_bound(parts.begin(), parts.end(), row);
    return static_cast<int>(std::max<std::ptrdiff_t>(0, after - parts.begin() - 1));
}

// Cells with more than half of their nonzeros in the part that stands out show it.
Cells cells_of(const Grid& grid, const Grid& part, const std::vector<offset_t>& parts, const Shape& shape,
               const DensityScale& scale)
{
    const int smaller = std::min(shape.across.pixels, shape.down.pixels);
    Cells map{.width = grid.width,
              .height = grid.height,
              .across = shape.across.pixels,
              .down = shape.down.pixels,
              .gap = smaller >= large_cell ? std::max(1, smaller / 14) : 0,
              .level = {}};
    for (int y = 0; y < grid.height; ++y) {
        const int owner = parts.empty() ? -1 : part_of(parts, grid, y);
        for (int x = 0; x < grid.width; ++x) {
            const int level = grid.at(y, x) > 0 ? scale.level(grid.density(y, x)) : 0;
            const bool stands_out = part.rows > 0 && 2 * part.at(y, x) > grid.at(y, x);
            map.level.push_back(static_cast<std::int16_t>(stands_out ? -level : level_of_part(level, owner)));
        }
    }
    return map;
}

void draw_frame(Canvas& canvas, const Layout& at, double x, double y, double width, double height)
{
    const double line = std::max(1.0, std::round(at.pt(1.2)));
    canvas.rectangle(x - line, y - line, width + 2 * line, line, frame);
    canvas.rectangle(x - line, y + height, width + 2 * line, line, frame);
    canvas.rectangle(x - line, y - line, line, height + 2 * line, frame);
    canvas.rectangle(x + width, y - line, line, height + 2 * line, frame);
}

void draw_axes(Canvas& canvas, const Layout& at, const Plot& plot, const Shape& shape, double x, double y)
{
    const double width = shape.across.length(), height = shape.down.length(), tick = at.pt(6), size = at.pt(17);
    for (const Tick& t : column_ticks(plot, shape, at.unit)) {
        canvas.line(x + t.at * width, y + height, x + t.at * width, y + height + tick, at.pt(1.2), frame);
        canvas.text({.x = x + t.at * width,
                     .y = y + height + at.pt(26),
                     .text = t.text,
                     .size = size,
                     .anchor = Anchor::middle,
                     .colour = grey});
    }
    const int stack = std::max(1, static_cast<int>(height / at.pt(36)));
    for (const Tick& t : axis_ticks(plot.matrix.rows, shape.single_rows, std::min(most_ticks, stack))) {
        canvas.line(x - tick, y + t.at * height, x, y + t.at * height, at.pt(1.2), frame);
        canvas.text({.x = x - at.pt(11),
                     .y = y + t.at * height + at.pt(6),
                     .text = t.text,
                     .size = size,
                     .anchor = Anchor::end,
                     .colour = grey});
    }
    canvas.text({.x = x + width / 2,
                 .y = y + height + at.pt(54),
                 .text = "column",
                 .size = at.pt(18),
                 .anchor = Anchor::middle});
    canvas.text({.x = x - at.left + at.pt(26),
                 .y = y + height / 2,
                 .text = "row",
                 .size = at.pt(18),
                 .anchor = Anchor::middle,
                 .upwards = true});
}

void draw_panel(Canvas& canvas, const Layout& at, const Plot& plot, const Panel& panel, const Shape& shape,
                const Cells& map, double left)
{
    const double x = left + at.left, y = at.top;
    canvas.text({.x = x, .y = at.pt(40), .text = panel.title, .size = at.pt(25), .bold = true});
    canvas.text({.x = x, .y = at.pt(70), .text = panel.subtitle, .size = at.pt(18), .colour = grey});
    canvas.cells(x, y, map);
    draw_frame(canvas, at, x, y, shape.across.length(), shape.down.length());
    draw_axes(canvas, at, plot, shape, x, y);
}

// What a colour means, in words.
std::string key_of(const Plot& plot, const Shape& shape, bool flat)
{
    if (plot.matrix.rows == 0 || plot.matrix.cols == 0) return "the matrix has no positions";
    if (shape.single_rows && shape.single_cols) return "one cell for each position";
    const bool exact = plot.matrix.rows % shape.down.cells == 0 && plot.matrix.cols % shape.across.cells == 0;
    return fmt::format("{}; a cell is {}{} × {}",
                       flat ? "coloured where there are nonzeros" : "share of positions filled", exact ? "" : "about ",
                       grouped(plot.matrix.rows / shape.down.cells), grouped(plot.matrix.cols / shape.across.cells));
}

Legend legend_of(const Plot& plot, const Shape& shape, const DensityScale& scale)
{
    Legend legend{.key = key_of(plot, shape, scale.is_flat()), .flat = scale.is_flat(), .shown = plot.legend};
    const bool two = !plot.standing_out.empty();
    const int parts = static_cast<int>(std::ssize(plot.parts)) - 1, hues = static_cast<int>(part_stops.size());
    for (int p = 0; p < std::min(parts, hues); ++p)
        legend.bars.push_back(
            {part_stops[static_cast<std::size_t>(p)],
             p + hues < parts ? fmt::format("devices {}, {}, …", p, p + hues) : fmt::format("device {}", p)});
    if (parts <= 0 && (two || !legend.flat)) legend.bars.push_back({cool_stops, two ? "elsewhere" : ""});
    if (two) legend.bars.push_back({warm_stops, plot.standing_out});
    return legend;
}

void draw_bar(Canvas& canvas, const Stops& stops, bool flat, double x, double y, double length, double high)
{
    constexpr int steps = 64;
    if (flat) return canvas.rectangle(x, y, length, high, ramp(flat_shade, stops));
    for (int i = 0; i < steps; ++i) {
        const double from = std::round(x + length * i / steps), to = std::round(x + length * (i + 1) / steps);
        canvas.rectangle(from, y, to - from, high, ramp(i / (steps - 1.0), stops));
    }
}

// Bars with their text are centred, as far as the picture has room for that; returns where the next line of text goes.
double draw_bars(Canvas& canvas, const Layout& at, const Legend& legend, const DensityScale& scale, double middle,
                 double y)
{
    const double high = std::round(at.pt(Legend::thick)), size = at.pt(17);
    double text = 0;
    for (const auto& bar : legend.bars)
        text = std::max(text, bar.text.empty() ? 0 : at.pt(12) + text_width(bar.text, size));
    // Room for text at the ends of the bars: half of a tick's label at both, or the name of a bar at the right one.
    const double margin = at.pt(least_margin) + (legend.flat ? 0 : widest(scale.ticks(), size) / 2),
                 beside = std::max(text, margin),
                 room = std::max(at.pt(32), at.width - margin - beside - at.pt(least_margin)),
                 length = std::round(legend.flat ? at.pt(32) : std::min(at.pt(420), room)),
                 last = std::max(margin, at.width - at.pt(least_margin) - beside - length),
                 x = std::round(std::clamp(middle - (length + text) / 2, margin, last));
    for (const auto& bar : legend.bars) {
        draw_bar(canvas, bar.stops, legend.flat, x, y, length, high);
        canvas.text({.x = x + length + at.pt(12), .y = y + at.pt(14), .text = bar.text, .size = size, .colour = grey});
        y += std::round(at.pt(Legend::thick + Legend::apart));
    }
    y -= std::round(at.pt(Legend::apart));
    if (legend.flat) return y + at.pt(32);
    for (const Tick& t : scale.ticks()) {
        canvas.line(x + t.at * length, y, x + t.at * length, y + at.pt(6), at.pt(1.2), frame);
        canvas.text({.x = x + t.at * length,
                     .y = y + at.pt(26),
                     .text = t.text,
                     .size = size,
                     .anchor = Anchor::middle,
                     .colour = grey});
    }
    return y + at.pt(54);
}

void draw_legend(Canvas& canvas, const Layout& at, const Legend& legend, const DensityScale& scale, double y)
{
    if (!legend.shown) return;
    const double middle = at.width / 2.0 + (at.left - at.right) / 2.0;
    const double words = legend.bars.empty() ? y + at.pt(14) : draw_bars(canvas, at, legend, scale, middle, y);
    const double size =
        std::min(at.pt(18), at.pt(18) * (at.width - at.pt(20)) / std::max(1.0, text_width(legend.key, at.pt(18))));
    const double half = text_width(legend.key, size) / 2 + at.pt(8),
                 centre = std::clamp(middle, half, std::max(half, at.width - half));
    canvas.text({.x = centre, .y = words, .text = legend.key, .size = size, .anchor = Anchor::middle});
}

}  // namespace

std::string name_for_format(const std::string& file, const std::string& format)
{
    if (!format.empty()) return "picture." + format;
    const bool named = file.ends_with(".png") || file.ends_with(".pdf");
    return io::is_stream(file) && !named ? "picture.svg" : file;
}

void check_picture(const std::string& file, const std::string& format)
{
    check_picture_name(name_for_format(file, format));
    check_writable(file);
}

void write_plot(const std::string& file, const Plot& plot, int threads)
{
    const Shape shape = shape_of(plot.matrix, plot.size);
    std::vector<Grid> grids;
    for (const Panel& panel : plot.panels)
        grids.push_back(count_cells(plot.matrix, panel.order, shape.down.cells, shape.across.cells, threads));
    const DensityScale scale(grids);
    const Legend legend = legend_of(plot, shape, scale);
    const Layout at = lay_out(plot, shape, legend);

    Canvas canvas(name_for_format(file, plot.format), at.width, at.height);
    for (std::size_t p = 0; p < plot.panels.size(); ++p) {
        const Pattern& part = plot.panels[p].standing_out;
        const Grid standing_out =
            part.rows > 0 ? count_cells(part, {}, shape.down.cells, shape.across.cells, threads) : Grid{};
        draw_panel(canvas, at, plot, plot.panels[p], shape,
                   cells_of(grids[p], standing_out, p == 0 ? plot.parts : std::vector<offset_t>{}, shape, scale),
                   static_cast<double>(p) * at.panel);
    }
    draw_legend(canvas, at, legend, scale, at.top + shape.down.length() + at.pt(above_legend));
    write_whole_file(file, canvas.bytes());
}

}  // namespace tulle::cli::picture
