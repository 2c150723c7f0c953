// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Pictures of convergence: residuals on a logarithmic scale over iterations.
#pragma once

#include <string>
#include <vector>

namespace tulle::cli::picture {

struct HistoryPlot {
    std::string title, subtitle;
    std::vector<double> residual;  // relative, before the first iteration and after each one
    double target = 0;             // drawn as a line; 0: none
    int size = 800;                // pixels of the axes' length, about
};

// Into a .png, .svg or .pdf file; UsageError for other names. Leaves no half file behind.
void write_history(const std::string& file, const HistoryPlot& plot);

}  // namespace tulle::cli::picture
