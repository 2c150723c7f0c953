// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What a picture is drawn on: Cairo, which writes PNG, SVG and PDF. Units are pixels, y grows downwards; a PDF has 96
// of them to an inch. Without Cairo (no_canvas.cpp) the program is complete but for pictures: can_draw() is false, and
// a canvas cannot be made (NotBuilt).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apps/cli/picture/colour.hpp"

namespace tulle::cli::picture {

enum class Anchor { start, middle, end };

struct Label {
    double x = 0, y = 0;  // of the baseline, at the anchor
    std::string text;     // UTF-8
    double size = 16;     // as fonts count it
    Anchor anchor = Anchor::start;
    bool bold = false, upwards = false;  // upwards: reads from bottom to top
    Colour colour = ink;
};

// A map of levels, each cell across x down pixels large, with a gap between cells where they are large enough to be
// told apart.
struct Cells {
    int width = 0, height = 0, across = 1, down = 1, gap = 0;
    std::vector<std::int16_t> level;  // as colour.hpp has them
    int at(int x, int y) const
    {
        return level[static_cast<std::size_t>(y) * static_cast<std::size_t>(width) + static_cast<std::size_t>(x)];
    }
};

bool can_draw();
double text_width(std::string_view text, double size, bool bold = false);

class Canvas {
public:
    // For a file whose name ends in .png, .svg or .pdf; UsageError for other names.
    Canvas(std::string_view file, int width, int height);
    ~Canvas();

    void rectangle(double x, double y, double width, double height, Colour colour);
    void line(double x1, double y1, double x2, double y2, double thickness, Colour colour);
    void text(const Label& label);
    void cells(double x, double y, const Cells& map);
    std::string bytes();  // the finished file; nothing can be drawn afterwards

private:
    struct State;
    std::unique_ptr<State> state_;
};

// UsageError if the name does not end in .png, .svg or .pdf, NotBuilt without Cairo: asked before there is anything to
// draw.
void check_picture_name(std::string_view file);

}  // namespace tulle::cli::picture
