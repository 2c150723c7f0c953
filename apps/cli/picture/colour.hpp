// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Colours of the density map: from light aqua (few) to deep violet (all), evenly darker all the way, readable in grey
// and by people who see colours differently. White is kept for "nothing here". What shall stand out has a ramp of its
// own, from amber to dark red. Parts of a matrix have a hue each.
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

// Hues of parts, one after the other and again from the first; those of the page of tulle report (report.js).
inline constexpr std::array<std::array<double, 3>, 8> part_hues{{{37, 99, 168},
                                                                 {217, 130, 43},
                                                                 {47, 143, 91},
                                                                 {184, 64, 94},
                                                                 {111, 88, 181},
                                                                 {15, 139, 141},
                                                                 {138, 109, 31},
                                                                 {92, 103, 112}}};
// From a light tint of the hue over the hue itself to a dark shade of it.
constexpr Stops part_ramp(int part)
{
    const auto& hue = part_hues[static_cast<std::size_t>(part) % part_hues.size()];
    Stops stops{};
    for (std::size_t i = 0; i < stops.size(); ++i) {
        const double t = static_cast<double>(i) / last_stop;
        for (std::size_t c = 0; c < 3; ++c)
            stops[i][c] = t < 0.6 ? 255 + (hue[c] - 255) * (0.4 + t) : hue[c] * (1 - 0.75 * (t - 0.6));
    }
    return stops;
}
inline constexpr std::array<Stops, 8> part_stops{part_ramp(0), part_ramp(1), part_ramp(2), part_ramp(3),
                                                 part_ramp(4), part_ramp(5), part_ramp(6), part_ramp(7)};

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

// A map is drawn in levels: 0 is empty, 1 … 255 along the ramp, -1 … -255 along that of what stands out. The levels of
// part p are larger by 256 (p + 1).
inline constexpr int levels = 255, most_parts = 64;
constexpr int level_of_part(int level, int part) { return level == 0 ? 0 : level + (levels + 1) * (part + 1); }
constexpr Colour colour_of_level(int level)
{
    if (level == 0) return white;
    if (level > levels)
        return ramp((level % (levels + 1) - 1) / static_cast<double>(levels - 1),
                    part_stops[static_cast<std::size_t>(level / (levels + 1) - 1) % part_stops.size()]);
    return level > 0 ? ramp((level - 1) / static_cast<double>(levels - 1))
                     : ramp((-level - 1) / static_cast<double>(levels - 1), warm_stops);
}

}  // namespace tulle::cli::picture
