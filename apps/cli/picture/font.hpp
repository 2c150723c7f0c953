// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A small font of strokes, so that a PNG has readable labels on every machine without any font file.
//
// A glyph is a few strokes on a grid: lines, and curves given the way TrueType does it (quadratic, with the points between two
// controls implied). Strokes are drawn with round ends, so the font has no sizes and no weights of its own.
#pragma once

#include <string_view>
#include <vector>

namespace tulle::cli::picture {

struct Point {
    double x = 0, y = 0;
};

// Text as polylines with y downwards, starting at the origin on the baseline; size as fonts count it. A dot is a line of one point.
struct Outline {
    std::vector<std::vector<Point>> strokes;
    double width = 0;
};

Outline outline_of(std::string_view text, double size);
double text_width(std::string_view text, double size);

}  // namespace tulle::cli::picture
