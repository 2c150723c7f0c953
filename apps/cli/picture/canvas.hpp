// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What a picture is drawn on. The plot is laid out once; a canvas turns it into pixels (PNG) or into shapes (SVG).
// Units are pixels, y grows downwards.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "apps/cli/picture/colour.hpp"

namespace tulle::cli::picture {

enum class Anchor { start, middle, end };

struct Label {
    double x = 0, y = 0;                                 // of the baseline, at the anchor
    std::string text;                                    // UTF-8; letters, digits, common signs, superscript digits
    double size = 16;                                    // as fonts count it
    Anchor anchor = Anchor::start;
    bool bold = false, upwards = false;                  // upwards: reads from bottom to top
    Colour colour = ink;
};

// A map of levels, each cell across x down pixels large, with a gap between cells where they are large enough to be told apart.
struct Cells {
    int width = 0, height = 0, across = 1, down = 1, gap = 0;
    std::vector<std::int16_t> level;                     // as colour.hpp has them
};

class Canvas {
public:
    virtual ~Canvas() = default;
    virtual void rectangle(double x, double y, double width, double height, Colour colour) = 0;
    virtual void line(double x1, double y1, double x2, double y2, double thickness, Colour colour) = 0;
    virtual void text(const Label& label) = 0;
    virtual void cells(double x, double y, const Cells& map) = 0;
    virtual std::string bytes() const = 0;               // the finished file
};

}  // namespace tulle::cli::picture
