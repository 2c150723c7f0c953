// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Pictures of level widths: for each level how many rows it has, one panel below the other on one scale.
#pragma once

#include <string>
#include <vector>

#include "tulle/types.hpp"

namespace tulle::cli::picture {

struct WidthPanel {
    std::string title;
    std::vector<offset_t> rows;  // of each level
};

struct WidthPlot {
    std::string title;
    std::vector<WidthPanel> panels;
    int size = 800;           // pixels of the axes' length, about
    std::string format = {};  // png, svg or pdf; empty: by the file's name
    bool legend = true;       // what the colours mean
};

// Into a .png, .svg or .pdf file; UsageError for other names. Leaves no half file behind.
void write_widths(const std::string& file, const WidthPlot& plot);

// What is drawn: the levels share `columns` columns, or each level has several if there are fewer; a column tells the
// mean and the largest.
struct WidthColumn {
    double mean = 0;
    offset_t largest = 0;
};
std::vector<WidthColumn> columns_of(const std::vector<offset_t>& rows, int columns);

}  // namespace tulle::cli::picture
