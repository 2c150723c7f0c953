// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "apps/cli/picture/raster.hpp"

#include <png.h>

#include <algorithm>
#include <cmath>

#include "apps/cli/picture/font.hpp"
#include "tulle/base/error.hpp"

namespace tulle::cli::picture {
namespace {

class Raster : public Canvas {
public:
    Raster(int width, int height)
        : width_(width), height_(height), pixel_(static_cast<std::size_t>(width) * static_cast<std::size_t>(height), white), cover_(pixel_.size(), 0.0)
    {
    }

    void rectangle(double x, double y, double width, double height, Colour colour) override
    {
        const int right = pixel_edge(x + width), bottom = pixel_edge(y + height);
        for (int v = std::max(0, pixel_edge(y)); v < std::min(height_, bottom); ++v)
            for (int u = std::max(0, pixel_edge(x)); u < std::min(width_, right); ++u) at(u, v) = colour;
    }

    // Lines of the frame are upright or level: whole pixels, no blur.
    void line(double x1, double y1, double x2, double y2, double thickness, Colour colour) override
    {
        const double half = thickness / 2;
        if (x1 == x2) return rectangle(std::round(x1 - half), std::min(y1, y2), std::max(1.0, thickness), std::abs(y2 - y1), colour);
        if (y1 == y2) return rectangle(std::min(x1, x2), std::round(y1 - half), std::abs(x2 - x1), std::max(1.0, thickness), colour);
        stroke({x1, y1}, {x2, y2}, half);
        settle(colour);
    }

    void text(const Label& label) override
    {
        const Outline outline = outline_of(label.text, label.size);
        const double shift = label.anchor == Anchor::start ? 0 : label.anchor == Anchor::middle ? outline.width / 2 : outline.width;
        const double half = label.size * (label.bold ? 0.066 : 0.043);
        const auto placed = [&](Point p) {
            p.x -= shift;
            return label.upwards ? Point{label.x + p.y, label.y - p.x} : Point{label.x + p.x, label.y + p.y};
        };
        for (const auto& line : outline.strokes) {
            if (line.size() == 1) stroke(placed(line[0]), placed(line[0]), 1.35 * half);
            for (std::size_t i = 1; i < line.size(); ++i) stroke(placed(line[i - 1]), placed(line[i]), half);
            settle(label.colour);
        }
    }

    void cells(double x, double y, const Cells& map) override
    {
        for (int v = 0; v < map.height; ++v)
            for (int u = 0; u < map.width; ++u)
                if (const int level = map.level[static_cast<std::size_t>(v) * static_cast<std::size_t>(map.width) + static_cast<std::size_t>(u)]; level != 0)
                    rectangle(x + u * map.across + map.gap / 2, y + v * map.down + map.gap / 2, map.across - map.gap, map.down - map.gap, colour_of_level(level));
    }

    std::string bytes() const override;

private:
    static int pixel_edge(double x) { return static_cast<int>(std::lround(x)); }
    std::size_t index(int u, int v) const { return static_cast<std::size_t>(v) * static_cast<std::size_t>(width_) + static_cast<std::size_t>(u); }
    Colour& at(int u, int v) { return pixel_[index(u, v)]; }

    // Covers the pixels near a piece of a stroke. Pieces of one stroke overlap, so coverage is collected here and painted once by settle().
    void stroke(Point a, Point b, double half)
    {
        const double reach = half + 1;
        const int left = std::max(0, static_cast<int>(std::min(a.x, b.x) - reach)), right = std::min(width_, static_cast<int>(std::max(a.x, b.x) + reach) + 1);
        const int top = std::max(0, static_cast<int>(std::min(a.y, b.y) - reach)), bottom = std::min(height_, static_cast<int>(std::max(a.y, b.y) + reach) + 1);
        for (int v = top; v < bottom; ++v)
            for (int u = left; u < right; ++u) {
                const std::size_t p = index(u, v);
                const double cover = std::clamp(half + 0.5 - distance({u + 0.5, v + 0.5}, a, b), 0.0, 1.0);
                if (cover > 0 && cover_[p] == 0) touched_.push_back(p);
                cover_[p] = std::max(cover_[p], cover);
            }
    }

    static double distance(Point p, Point a, Point b)
    {
        const double dx = b.x - a.x, dy = b.y - a.y, length = dx * dx + dy * dy;
        const double t = length > 0 ? std::clamp(((p.x - a.x) * dx + (p.y - a.y) * dy) / length, 0.0, 1.0) : 0;
        return std::hypot(p.x - a.x - t * dx, p.y - a.y - t * dy);
    }

    void settle(Colour colour)
    {
        for (const std::size_t p : touched_) {
            Colour& under = pixel_[p];
            const auto mix = [&](std::uint8_t below, std::uint8_t above) { return static_cast<std::uint8_t>(std::lround(below + cover_[p] * (above - below))); };
            under = {mix(under.red, colour.red), mix(under.green, colour.green), mix(under.blue, colour.blue)};
            cover_[p] = 0;
        }
        touched_.clear();
    }

    int width_, height_;
    std::vector<Colour> pixel_;
    std::vector<double> cover_;                          // of the stroke being drawn
    std::vector<std::size_t> touched_;
};

std::string Raster::bytes() const
{
    static_assert(sizeof(Colour) == 3);
    png_image image{};
    image.version = PNG_IMAGE_VERSION;
    image.width = static_cast<png_uint_32>(width_);
    image.height = static_cast<png_uint_32>(height_);
    image.format = PNG_FORMAT_RGB;
    png_alloc_size_t size = 0;
    std::string file;
    const auto write = [&](void* to) { return png_image_write_to_memory(&image, to, &size, 0, pixel_.data(), 0, nullptr) != 0; };
    const bool sized = write(nullptr);
    if (sized) file.resize(size);
    if (!sized || !write(file.data())) throw Error(std::string("libpng could not write the picture: ") + image.message);
    file.resize(size);
    return file;
}

}  // namespace

std::unique_ptr<Canvas> make_raster(int width, int height) { return std::make_unique<Raster>(width, height); }

}  // namespace tulle::cli::picture
