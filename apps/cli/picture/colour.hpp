// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Colours of the density map: from light aqua (few) to deep violet (all), evenly darker all the way, readable in grey
// and by people who see colours differently. White is kept for "nothing here". What shall stand out has a ramp of its
// own, from amber to dark red.
#pragma once

#include <array>
#include <cstdint>

namespace tulle::cli::picture {

struct Colour {
    std::uint8_t red = 0, green = 0, blue = 0;
    bool operator==(const Colour&) const = default;
};

inline constexpr Colour white{255, 255, 255}, ink{34, 34, 40}, grey{110, 110, 118}, frame{150, 150, 158};

inline constexpr int last_stop = 5;
using Stops = std::array<std::array<double, 3>, last_stop + 1>;
inline constexpr Stops cool_stops{
    {{158, 214, 205}, {92, 178, 190}, {52, 135, 172}, {48, 92, 150}, {54, 48, 112}, {38, 10, 58}}};
inline constexpr Stops warm_stops{
    {{252, 205, 110}, {250, 165, 60}, {238, 122, 34}, {214, 78, 26}, {168, 38, 24}, {110, 10, 20}}};

// t in 0 … 1.
constexpr Colour ramp(double t, const Stops& stops = cool_stops)
{
    const double at = (t < 0 ? 0 : t > 1 ? 1 : t) * last_stop;
    const std::size_t below = at >= last_stop ? last_stop - 1 : static_cast<std::size_t>(at);
    const double part = at - static_cast<double>(below);
    const auto mix = [&](std::size_t c) {
        return static_cast<std::uint8_t>(stops[below][c] + part * (stops[below + 1][c] - stops[below][c]) + 0.5);
    };
    return {mix(0), mix(1), mix(2)};
}

// A map is drawn in levels: 0 is empty, 1 … 255 along the ramp, -1 … -255 along that of what stands out.
inline constexpr int levels = 255;
constexpr Colour colour_of_level(int level)
{
    if (level == 0) return white;
    return level > 0 ? ramp((level - 1) / static_cast<double>(levels - 1))
                     : ramp((-level - 1) / static_cast<double>(levels - 1), warm_stops);
}

}  // namespace tulle::cli::picture
