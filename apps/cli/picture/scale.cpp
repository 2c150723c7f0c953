// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "apps/cli/picture/scale.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "apps/cli/picture/colour.hpp"
#include "tulle/base/text.hpp"

namespace tulle::cli::picture {
namespace {

std::string power_text(int exponent)
{
    static constexpr const char* digits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    if (exponent == 0) return "1";
    std::string text = exponent < 0 ? "10⁻" : "10";
    for (const char c : std::to_string(std::abs(exponent))) text += digits[c - '0'];
    return text;
}

// The smallest round number (1, 2 or 5 times a power of ten) that needs no more than so many steps to n.
index_t round_step(index_t n, int at_most)
{
    const double raw = static_cast<double>(n) / at_most, power = std::pow(10.0, std::floor(std::log10(std::max(raw, 1.0))));
    for (const double factor : {1.0, 2.0, 5.0, 10.0})
        if (factor * power >= raw) return static_cast<index_t>(std::min<double>(factor * power, max_index));
    return n;
}

std::string short_count(index_t n)
{
    if (n >= 1'000'000 && n % 100'000 == 0) return fmt::format("{:g}M", n / 1e6);
    return n >= 10'000 && n % 1'000 == 0 ? fmt::format("{}k", n / 1'000) : grouped(n);
}

}  // namespace

DensityScale::DensityScale(const std::vector<Grid>& grids)
{
    for (const Grid& grid : grids)
        for (int y = 0; y < grid.height; ++y)
            for (int x = 0; x < grid.width; ++x)
                if (grid.at(y, x) > 0) {
                    const double density = grid.density(y, x);
                    lowest_ = lowest_ == 0 ? density : std::min(lowest_, density);
                    highest_ = std::max(highest_, density);
                }
}

double DensityScale::position(double density) const { return std::log(density / lowest_) / std::log(highest_ / lowest_); }

int DensityScale::level(double density) const
{
    if (density == 0) return 0;
    constexpr double flat = 0.72;
    return 1 + static_cast<int>(std::lround((is_flat() ? flat : position(density)) * (levels - 1)));
}

std::vector<Tick> DensityScale::ticks() const
{
    std::vector<Tick> all;
    if (is_flat()) return all;
    const int from = static_cast<int>(std::ceil(std::log10(lowest_) - 1e-9)), to = static_cast<int>(std::floor(std::log10(highest_) + 1e-9));
    for (int e = from; e <= to; ++e) all.push_back({std::clamp(position(std::pow(10.0, e)), 0.0, 1.0), power_text(e)});
    if (all.size() >= 2) return all;
    constexpr double apart = 0.15;                       // labels nearer than this would touch
    std::vector<Tick> few{{0.0, fmt::format("{:.2g}", lowest_)}};
    if (!all.empty() && all[0].at > apart && all[0].at < 1 - apart) few.push_back({all[0].at, fmt::format("{:g}", std::pow(10.0, from))});
    few.push_back({1.0, fmt::format("{:.2g}", highest_)});
    return few;
}

std::vector<Tick> axis_ticks(index_t n, bool single, int at_most)
{
    std::vector<Tick> all;
    if (n == 0) return all;
    const index_t step = single && n <= 2 * at_most ? 1 : round_step(n, at_most);
    for (offset_t v = 0; v < n + offset_t{!single}; v += step)
        all.push_back({(static_cast<double>(v) + (single ? 0.5 : 0.0)) / n, short_count(static_cast<index_t>(v))});
    return all;
}

}  // namespace tulle::cli::picture
