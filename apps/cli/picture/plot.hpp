// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The spy picture: one density map, or several side by side on one colour scale, with axes, titles and the scale below.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apps/cli/picture/canvas.hpp"
#include "apps/cli/picture/density.hpp"

namespace tulle::cli::picture {

struct Panel {
    std::string title, subtitle;
    Order order;
    Pattern standing_out = {};                           // a part of the map's nonzeros, where they are in the picture; no rows: none
};

struct Plot {
    Pattern matrix;
    std::vector<Panel> panels;
    int size = 800;                                      // pixels of a map's longer side, about
    std::string standing_out = {};                       // what that part is, in words
    std::string format = {};                             // png or svg; empty: by the file's name
};

// Whether pictures can be written as PNG here; SVG is always possible.
bool can_write_png();

// An empty one for a .png or .svg file; UsageError for other names.
// Streams whose name says nothing get SVG. `format` is png or svg, or empty.
std::string name_for_format(const std::string& file, const std::string& format);
std::unique_ptr<Canvas> canvas_for(const std::string& file, int width, int height);

// Draws the plot into a .png or .svg file; UsageError for other names. Leaves no half file behind.
void write_plot(const std::string& file, const Plot& plot, int threads);

}  // namespace tulle::cli::picture
