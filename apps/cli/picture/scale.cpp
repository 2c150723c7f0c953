// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "apps/cli/picture/scale.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "apps/cli/picture/colour.hpp"
#include "tulle/text.hpp"

namespace tulle::cli::picture {
namespace {

// The smallest round number (1, 2 or 5 times a power of ten) that needs no more than so many steps to n.
index_t round_step(index_t n, int at_most)
{
    const double raw = static_cast<double>(n) / at_most,
                 power = std::pow(10.0, std::floor(std::log10(std::max(raw, 1.0))));
    for (const double factor : {1.0, 2.0, 5.0, 10.0})
        if (factor * power >= raw) return static_cast<index_t>(std::min<double>(factor * power, max_index));
    return n;
}

// Two figures: "0.083", or "8.3 × 10⁻⁵" where the scale begins below a thousandth.
std::string density_text(double density, bool small)
{
    if (!small) return fmt::format("{:.2g}", density);
    const int exponent = static_cast<int>(std::floor(std::log10(density) + 1e-9));
    return fmt::format("{:.2g} × {}", density / std::pow(10.0, exponent), power_text(exponent));
}

constexpr double least_span = 2;  // from the palest to the darkest: less is not worth a colour

}  // namespace

std::string power_text(int exponent)
{
    static constexpr const char* digits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    std::string text = exponent < 0 ? "10⁻" : "10";
    for (const char c : std::to_string(std::abs(exponent))) text += digits[c - '0'];
    return text;
}

// Cells differ in size by a row and a column. So densities that differ by no more than that are all the same: a single
// entry in a narrow cell is not darker than in a wide one.
DensityScale::DensityScale(const std::vector<Grid>& grids)
{
    double smallest = 0, largest = 0;  // cell with a nonzero, in positions
    for (const Grid& grid : grids)
        for (int y = 0; y < grid.height; ++y)
            for (int x = 0; x < grid.width; ++x)
                if (grid.at(y, x) > 0) {
                    const double density = grid.density(y, x), positions = grid.positions(y, x);
                    lowest_ = lowest_ == 0 ? density : std::min(lowest_, density);
                    highest_ = std::max(highest_, density);
                    smallest = smallest == 0 ? positions : std::min(smallest, positions);
                    largest = std::max(largest, positions);
                }
    flat_ = lowest_ == 0 || highest_ * smallest <= lowest_ * largest * (1 + 1e-9);
    lowest_ = std::min(lowest_, highest_ / least_span);
}

double DensityScale::position(double density) const
{
    return std::log(density / lowest_) / std::log(highest_ / lowest_);
}

int DensityScale::level(double density) const
{
    if (density == 0) return 0;
    return 1 + static_cast<int>(std::lround((is_flat() ? flat_shade : position(density)) * (levels - 1)));
}

std::vector<Tick> DensityScale::ticks() const
{
    std::vector<Tick> all;
    if (is_flat()) return all;
    const int from = static_cast<int>(std::ceil(std::log10(lowest_) - 1e-9)),
              to = static_cast<int>(std::floor(std::log10(highest_) + 1e-9));
    for (int e = from; e <= to; ++e) all.push_back({std::clamp(position(std::pow(10.0, e)), 0.0, 1.0), power_text(e)});
    if (all.size() >= 2) return all;
    constexpr double apart = 0.15;  // labels nearer than this would touch
    const bool small = lowest_ < 1e-3;
    std::vector<Tick> few{{0.0, density_text(lowest_, small)}};
    if (!all.empty() && all[0].at > apart && all[0].at < 1 - apart)
        few.push_back({all[0].at, density_text(std::pow(10.0, from), small)});
    few.push_back({1.0, density_text(highest_, small)});
    return few;
}

std::vector<Tick> axis_ticks(index_t n, bool single, int at_most)
{
    std::vector<Tick> all;
    if (n == 0) return all;
    const index_t step = single && n <= 2 * at_most ? 1 : round_step(n, at_most);
    for (offset_t v = 0; v < n + offset_t{!single}; v += step)
        all.push_back({(static_cast<double>(v) + (single ? 0.5 : 0.0)) / n, grouped(v)});
    return all;
}

}  // namespace tulle::cli::picture
