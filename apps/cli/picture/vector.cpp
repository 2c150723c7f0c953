// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "apps/cli/picture/vector.hpp"

#include <fmt/format.h>

#include <array>
#include <iterator>

namespace tulle::cli::picture {
namespace {

constexpr int shades = 64;                               // the ramp in SVG; each becomes one path

std::string hex(Colour c) { return fmt::format("#{:02x}{:02x}{:02x}", c.red, c.green, c.blue); }

std::string escaped(std::string_view text)
{
    std::string safe;
    for (const char c : text) safe += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
    return safe;
}

// Shades of what stands out come after the others.
std::size_t shade_of(int level) { return level > 0 ? static_cast<std::size_t>((level - 1) * shades / levels) : shades + static_cast<std::size_t>((-level - 1) * shades / levels); }
Colour colour_of_shade(std::size_t shade)
{
    return shade < shades ? ramp(static_cast<double>(shade) / (shades - 1)) : ramp(static_cast<double>(shade - shades) / (shades - 1), warm_stops);
}

class Vector : public Canvas {
public:
    Vector(int width, int height)
    {
        add("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" font-family=\"Helvetica, Arial, sans-serif\">\n", width, height);
        rectangle(0, 0, width, height, white);
    }

    void rectangle(double x, double y, double width, double height, Colour colour) override
    {
        add("<rect x=\"{:g}\" y=\"{:g}\" width=\"{:g}\" height=\"{:g}\" fill=\"{}\" shape-rendering=\"crispEdges\"/>\n", x, y, width, height, hex(colour));
    }

    void line(double x1, double y1, double x2, double y2, double thickness, Colour colour) override
    {
        add("<line x1=\"{:g}\" y1=\"{:g}\" x2=\"{:g}\" y2=\"{:g}\" stroke=\"{}\" stroke-width=\"{:g}\"/>\n", x1, y1, x2, y2, hex(colour), thickness);
    }

    void text(const Label& label) override
    {
        constexpr std::array anchors{"start", "middle", "end"};
        const std::string turned = label.upwards ? fmt::format(" transform=\"rotate(-90 {:g} {:g})\"", label.x, label.y) : "";
        add("<text x=\"{:g}\" y=\"{:g}\" font-size=\"{:g}\" text-anchor=\"{}\" fill=\"{}\"{}{}>{}</text>\n", label.x, label.y, label.size,
            anchors[static_cast<std::size_t>(label.anchor)], hex(label.colour), label.bold ? " font-weight=\"bold\"" : "", turned, escaped(label.text));
    }

    // One path for each shade. Cells of one shade that touch in a row are one stroke as thick as a cell: half the size of rectangles.
    // Where a gap shall be seen, every cell is a rectangle.
    void cells(double x, double y, const Cells& map) override
    {
        std::array<std::string, 2 * shades> paths;
        for (int v = 0; v < map.height; ++v)
            for (int u = 0; u < map.width; u += run_at(map, u, v)) {
                if (level_at(map, u, v) == 0) continue;
                const auto to = std::back_inserter(paths[shade_of(level_at(map, u, v))]);
                const int wide = map.across - map.gap, high = map.down - map.gap, inset = map.gap / 2;
                if (map.gap > 0)
                    fmt::format_to(to, "M{} {}h{}v{}h-{}z", u * map.across + inset, v * map.down + inset, wide, high, wide);
                else
                    fmt::format_to(to, "M{} {}h{}", u, v, run_at(map, u, v));
            }
        const std::string scaled = map.gap > 0 ? "" : fmt::format(" scale({} {}) translate(0 0.5)", map.across, map.down);
        add("<g transform=\"translate({:g} {:g}){}\" shape-rendering=\"crispEdges\">\n", x, y, scaled);
        for (std::size_t s = 0; s < paths.size(); ++s)
            if (!paths[s].empty()) add("<path {}=\"{}\" d=\"{}\"/>\n", map.gap > 0 ? "fill" : "stroke", hex(colour_of_shade(s)), paths[s]);
        add("</g>\n");
    }

    std::string bytes() const override { return body_ + "</svg>\n"; }

private:
    static int level_at(const Cells& map, int u, int v)
    {
        return map.level[static_cast<std::size_t>(v) * static_cast<std::size_t>(map.width) + static_cast<std::size_t>(u)];
    }

    // Cells from here on that can be drawn in one go: of the same shade, or empty as well.
    static int run_at(const Cells& map, int u, int v)
    {
        const int level = level_at(map, u, v);
        const auto alike = [&](int other) { return other == 0 ? level == 0 : level != 0 && shade_of(other) == shade_of(level); };
        int run = 1;
        while (map.gap == 0 && u + run < map.width && alike(level_at(map, u + run, v))) ++run;
        return run;
    }

    template <class... T>
    void add(fmt::format_string<T...> form, T&&... parts)
    {
        fmt::format_to(std::back_inserter(body_), form, std::forward<T>(parts)...);
    }

    std::string body_;
};

}  // namespace

std::unique_ptr<Canvas> make_vector(int width, int height) { return std::make_unique<Vector>(width, height); }

}  // namespace tulle::cli::picture
