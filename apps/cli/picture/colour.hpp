// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Colours of the density map: from light aqua (few) to deep violet (all), evenly darker all the way, readable in grey and by people who
// see colours differently. White is kept for "nothing here".
#pragma once

#include <array>
#include <cstdint>

namespace tulle::cli::picture {

struct Colour {
    std::uint8_t red = 0, green = 0, blue = 0;
    bool operator==(const Colour&) const = default;
};

inline constexpr Colour white{255, 255, 255}, ink{34, 34, 40}, grey{110, 110, 118}, frame{150, 150, 158};

// t in 0 … 1.
constexpr Colour ramp(double t)
{
    constexpr std::array<std::array<double, 3>, 6> stops{{{158, 214, 205}, {92, 178, 190}, {52, 135, 172}, {48, 92, 150}, {54, 48, 112}, {38, 10, 58}}};
    const double at = (t < 0 ? 0 : t > 1 ? 1 : t) * (stops.size() - 1);
    const std::size_t below = at >= stops.size() - 1 ? stops.size() - 2 : static_cast<std::size_t>(at);
    const double part = at - static_cast<double>(below);
    const auto mix = [&](std::size_t c) { return static_cast<std::uint8_t>(stops[below][c] + part * (stops[below + 1][c] - stops[below][c]) + 0.5); };
    return {mix(0), mix(1), mix(2)};
}

// A map is drawn in levels: 0 is empty, 1 … 255 along the ramp.
inline constexpr int levels = 255;
constexpr Colour colour_of_level(int level) { return level == 0 ? white : ramp((level - 1) / static_cast<double>(levels - 1)); }

}  // namespace tulle::cli::picture
