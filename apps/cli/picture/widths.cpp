// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "apps/cli/picture/widths.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "apps/cli/picture/canvas.hpp"
#include "apps/cli/picture/plot.hpp"
#include "apps/cli/picture/scale.hpp"
#include "apps/cli/support/whole_file.hpp"
#include "tulle/text.hpp"

namespace tulle::cli::picture {
namespace {

constexpr double panel_height = 0.28;  // of the axes' length
constexpr Colour largest_colour = ramp(0.05), mean_colour = ramp(0.55);

// Where things stand, in pixels; the vertical axis is logarithmic from half a row to `most` rows.
struct Frame {
    double unit = 1, left = 0, width = 0, height = 0, step = 0, most = 1;
    double pt(double points) const { return points * unit; }
    double top(std::size_t panel) const { return pt(100) + static_cast<double>(panel) * step; }
    double high(double rows) const { return rows <= 0.5 ? 0 : height * std::log(rows / 0.5) / std::log(most / 0.5); }
};

Frame frame_of(const WidthPlot& plot)
{
    Frame f;
    f.unit = std::clamp(plot.size / 800.0, 0.6, 2.5);
    f.left = std::ceil(f.pt(110));
    f.width = plot.size;
    f.height = std::round(plot.size * panel_height);
    f.step = f.height + f.pt(118);
    for (const WidthPanel& panel : plot.panels)
        for (const offset_t rows : panel.rows) f.most = std::max(f.most, static_cast<double>(rows));
    f.most *= 1.3;
    return f;
}

void draw_bars(Canvas& canvas, const Frame& f, const WidthPanel& panel, double y)
{
    const std::vector<WidthColumn> columns = columns_of(panel.rows, static_cast<int>(f.width));
    for (std::size_t k = 0; k < columns.size(); ++k) {
        const double largest = f.high(static_cast<double>(columns[k].largest)), mean = f.high(columns[k].mean),
                     x = f.left + static_cast<double>(k);
        canvas.rectangle(x, y + f.height - largest, 1, largest, largest_colour);
        canvas.rectangle(x, y + f.height - mean, 1, mean, mean_colour);
    }
}

void draw_axes(Canvas& canvas, const Frame& f, const WidthPanel& panel, double y)
{
    const double line = std::max(1.0, std::round(f.pt(1.2)));
    canvas.rectangle(f.left - line, y, line, f.height, frame);
    canvas.rectangle(f.left - line, y + f.height, f.width + line, line, frame);
    for (double rows = 1; rows <= f.most; rows *= 10) {
        const double at = y + f.height - f.high(rows);
        canvas.line(f.left - f.pt(6), at, f.left, at, f.pt(1.2), frame);
        canvas.text({.x = f.left - f.pt(11),
                     .y = at + f.pt(6),
                     .text = grouped(static_cast<offset_t>(rows)),
                     .size = f.pt(17),
                     .anchor = Anchor::end,
                     .colour = grey});
    }
    for (const Tick& t : axis_ticks(static_cast<index_t>(panel.rows.size()), false, 6)) {
        canvas.line(f.left + t.at * f.width, y + f.height, f.left + t.at * f.width, y + f.height + f.pt(6), f.pt(1.2),
                    frame);
        canvas.text({.x = f.left + t.at * f.width,
                     .y = y + f.height + f.pt(26),
                     .text = t.text,
                     .size = f.pt(17),
                     .anchor = Anchor::middle,
                     .colour = grey});
    }
    canvas.text({.x = f.left + f.width / 2,
                 .y = y + f.height + f.pt(50),
                 .text = "level",
                 .size = f.pt(18),
                 .anchor = Anchor::middle});
    canvas.text({.x = f.pt(26),
                 .y = y + f.height / 2,
                 .text = "rows",
                 .size = f.pt(18),
                 .anchor = Anchor::middle,
                 .upwards = true});
}

// Two patches of colour with a word each, from the right end of the axes to the left.
void draw_legend(Canvas& canvas, const Frame& f)
{
    double x = f.left + f.width;
    const double size = f.pt(17), side = std::round(f.pt(16));
    for (const auto& [text, colour] :
         {std::pair{"largest of its levels", largest_colour}, std::pair{"mean", mean_colour}}) {
        canvas.text({.x = x, .y = f.pt(40), .text = text, .size = size, .anchor = Anchor::end, .colour = grey});
        x -= text_width(text, size) + f.pt(8) + side;
        canvas.rectangle(x, f.pt(40) - f.pt(14), side, side, colour);
        x -= f.pt(22);
    }
}

}  // namespace

std::vector<WidthColumn> columns_of(const std::vector<offset_t>& rows, int columns)
{
    std::vector<WidthColumn> all(static_cast<std::size_t>(std::max(0, columns)));
    const auto n = static_cast<offset_t>(rows.size());
    for (std::size_t k = 0; k < all.size() && n > 0; ++k) {
        const offset_t first = static_cast<offset_t>(k) * n / columns,
                       end = std::max(first + 1, (static_cast<offset_t>(k) + 1) * n / columns);
        offset_t sum = 0;
        for (offset_t level = first; level < end; ++level) {
            sum += rows[static_cast<std::size_t>(level)];
            all[k].largest = std::max(all[k].largest, rows[static_cast<std::size_t>(level)]);
        }
        all[k].mean = static_cast<double>(sum) / static_cast<double>(end - first);
    }
    return all;
}

void write_widths(const std::string& file, const WidthPlot& plot)
{
    const Frame f = frame_of(plot);
    const double height = f.top(plot.panels.size()) - f.pt(8);
    Canvas canvas(name_for_format(file, plot.format), static_cast<int>(f.left + f.width + f.pt(34)),
                  static_cast<int>(height));
    canvas.text({.x = f.left, .y = f.pt(40), .text = plot.title, .size = f.pt(25), .bold = true});
    for (std::size_t p = 0; p < plot.panels.size(); ++p) {
        const double y = f.top(p);
        canvas.text({.x = f.left, .y = y - f.pt(14), .text = plot.panels[p].title, .size = f.pt(18), .colour = grey});
        draw_bars(canvas, f, plot.panels[p], y);
        draw_axes(canvas, f, plot.panels[p], y);
    }
    if (plot.legend) draw_legend(canvas, f);
    write_whole_file(file, canvas.bytes());
}

}  // namespace tulle::cli::picture
