// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The spy picture: one density map, or several side by side on one colour scale, with axes, titles and the scale below.
#pragma once

#include <string>
#include <vector>

#include "apps/cli/picture/density.hpp"

namespace tulle::cli::picture {

struct Panel {
    std::string title, subtitle;
    Order order;
};

struct Plot {
    Pattern matrix;
    std::vector<Panel> panels;
    int size = 800;                                      // pixels of a map's longer side, about
};

// Whether pictures can be written as PNG here; SVG is always possible.
bool can_write_png();

// Draws the plot into a .png or .svg file; UsageError for other names. Leaves no half file behind.
void write_plot(const std::string& file, const Plot& plot, int threads);

}  // namespace tulle::cli::picture
