// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// From densities to colours and back to words: a logarithmic scale and its ticks; ticks of the axes.
#pragma once

#include <string>
#include <vector>

#include "apps/cli/picture/density.hpp"

namespace tulle::cli::picture {

struct Tick {
    double at;  // 0 … 1 along the axis
    std::string text;
};

inline constexpr double flat_shade = 0.72;  // along the ramp, of all filled cells where they are alike

class DensityScale {
public:
    explicit DensityScale(const std::vector<Grid>& grids);
    bool is_flat() const { return flat_; }  // all filled cells alike: there is nothing to tell apart
    int level(double density) const;        // 0 for nothing, 1 … 255
    std::vector<Tick> ticks() const;

private:
    double position(double density) const;  // 0 … 1
    double lowest_ = 0, highest_ = 0;       // where the ramp begins and ends
    bool flat_ = true;
};

std::string power_text(int exponent);  // "10⁻⁵"

// Round numbers on an axis of n rows or columns; where cells are single rows, ticks stand at their middle.
std::vector<Tick> axis_ticks(index_t n, bool single, int at_most);

}  // namespace tulle::cli::picture
