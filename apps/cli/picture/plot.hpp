// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The spy picture: one density map, or several side by side on one colour scale, with axes, titles and the scale below.
#pragma once

#include <string>
#include <vector>

#include "apps/cli/picture/canvas.hpp"
#include "apps/cli/picture/density.hpp"

namespace tulle::cli::picture {

struct Panel {
    std::string title, subtitle;
    Order order;
    Pattern standing_out = {};  // a part of the map's nonzeros, where they are in the picture; no rows: none
};

struct Plot {
    Pattern matrix;
    std::vector<Panel> panels;
    int size = 800;                    // pixels of a map's longer side, about
    std::string standing_out = {};     // what that part is, in words
    std::string format = {};           // png, svg or pdf; empty: by the file's name
    bool legend = true;                // the colour scale and what it means
    std::vector<offset_t> parts = {};  // first rows of parts in the first map, and the end; a colour for each
};

// The file can be written and its name ends in .png, .svg or .pdf, unless the format is given or it is a stream:
// FileError, UsageError or NotBuilt otherwise. Asked before there is anything to draw.
void check_picture(const std::string& file, const std::string& format = {});

// The name that tells a canvas the format (png, svg or pdf, or empty). Streams whose name says nothing get SVG.
std::string name_for_format(const std::string& file, const std::string& format);

// Draws the plot into a .png, .svg or .pdf file, or in the format given; UsageError for other names. Leaves no half
// file behind.
void write_plot(const std::string& file, const Plot& plot, int threads);

}  // namespace tulle::cli::picture
