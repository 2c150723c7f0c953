// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "apps/cli/picture/history.hpp"

#include <algorithm>
#include <cmath>

#include "apps/cli/picture/canvas.hpp"
#include "apps/cli/picture/plot.hpp"
#include "apps/cli/picture/scale.hpp"
#include "apps/cli/support/whole_file.hpp"

namespace tulle::cli::picture {
namespace {

constexpr Colour curve_colour = ramp(0.55);

// Where things stand, in pixels; decades from 10^low to 10^high.
struct HistoryFrame {
    double unit = 1, left = 0, top = 0, width = 0, height = 0;
    int low = 0, high = 1;
    std::size_t points = 1;
    double pt(double points_) const { return points_ * unit; }
    double x(std::size_t k) const
    {
        return left + (points < 2 ? 0 : width * static_cast<double>(k) / static_cast<double>(points - 1));
    }
    double y(double residual) const
    {
        const double decade = std::clamp(std::log10(std::max(residual, 1e-300)), double(low), double(high));
        return top + height * (high - decade) / (high - low);
    }
};

HistoryFrame frame_of(const HistoryPlot& plot)
{
    HistoryFrame f;
    f.unit = std::clamp(plot.size / 800.0, 0.6, 2.5);
    f.left = std::ceil(f.pt(110));
    f.top = f.pt(100);
    f.width = plot.size;
    f.height = std::round(plot.size * 0.6);
    f.points = plot.residual.size();
    double least = plot.target > 0 ? plot.target : 1, most = 1;
    for (const double r : plot.residual)
        if (std::isfinite(r)) {
            if (r > 0) least = std::min(least, r);
            most = std::max(most, r);
        }
    f.low = static_cast<int>(std::floor(std::log10(std::max(least, 1e-300))));
    f.high = std::max(f.low + 1, static_cast<int>(std::ceil(std::log10(most))));
    return f;
}

void draw_axes(Canvas& canvas, const HistoryFrame& f)
{
    const double line = std::max(1.0, std::round(f.pt(1.2)));
    canvas.rectangle(f.left - line, f.top, line, f.height, frame);
    canvas.rectangle(f.left - line, f.top + f.height, f.width + line, line, frame);
    const int step = std::max(1, (f.high - f.low + 7) / 8);
    for (int decade = f.low; decade <= f.high; decade += step) {
        const double at = f.top + f.height * (f.high - decade) / (f.high - f.low);
        canvas.line(f.left - f.pt(6), at, f.left, at, f.pt(1.2), frame);
        canvas.text({.x = f.left - f.pt(11),
                     .y = at + f.pt(6),
                     .text = power_text(decade),
                     .size = f.pt(17),
                     .anchor = Anchor::end,
                     .colour = grey});
    }
    for (const Tick& t : axis_ticks(static_cast<index_t>(std::max<std::size_t>(f.points, 2) - 1), false, 6)) {
        canvas.line(f.left + t.at * f.width, f.top + f.height, f.left + t.at * f.width, f.top + f.height + f.pt(6),
                    f.pt(1.2), frame);
        canvas.text({.x = f.left + t.at * f.width,
                     .y = f.top + f.height + f.pt(26),
                     .text = t.text,
                     .size = f.pt(17),
                     .anchor = Anchor::middle,
                     .colour = grey});
    }
    canvas.text({.x = f.left + f.width / 2,
                 .y = f.top + f.height + f.pt(50),
                 .text = "iteration",
                 .size = f.pt(18),
                 .anchor = Anchor::middle});
    canvas.text({.x = f.pt(26),
                 .y = f.top + f.height / 2,
                 .text = "residual / |b|",
                 .size = f.pt(18),
                 .anchor = Anchor::middle,
                 .upwards = true});
}

// Where the solve may stop: a line with a word at its left end, where the curve is far above it.
void draw_target(Canvas& canvas, const HistoryFrame& f, double target)
{
    const double y = f.y(target);
    canvas.line(f.left, y, f.left + f.width, y, f.pt(1.2), grey);
    canvas.text({.x = f.left + f.pt(10), .y = y - f.pt(8), .text = "tolerance", .size = f.pt(17), .colour = grey});
}

}  // namespace

void write_history(const std::string& file, const HistoryPlot& plot)
{
    const HistoryFrame f = frame_of(plot);
    Canvas canvas(name_for_format(file, {}), static_cast<int>(f.left + f.width + f.pt(34)),
                  static_cast<int>(f.top + f.height + f.pt(70)));
    canvas.text({.x = f.left, .y = f.pt(40), .text = plot.title, .size = f.pt(25), .bold = true});
    canvas.text({.x = f.left, .y = f.pt(70), .text = plot.subtitle, .size = f.pt(18), .colour = grey});
    if (plot.target > 0) draw_target(canvas, f, plot.target);
    for (std::size_t k = 1; k < plot.residual.size(); ++k)
        if (std::isfinite(plot.residual[k - 1]) && std::isfinite(plot.residual[k]))
            canvas.line(f.x(k - 1), f.y(plot.residual[k - 1]), f.x(k), f.y(plot.residual[k]), f.pt(2.4), curve_colour);
    draw_axes(canvas, f);
    write_whole_file(file, canvas.bytes());
}

}  // namespace tulle::cli::picture
