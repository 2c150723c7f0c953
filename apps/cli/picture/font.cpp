// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "apps/cli/picture/font.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

namespace tulle::cli::picture {
namespace {

// Strokes are separated by spaces; the first letter tells the kind: '-' lines, '~' an open curve, 'o' a closed one. Then pairs of
// coordinates, one digit each (0-9, a-z): x from the left edge; y with 0 the descender, 4 the baseline, c the x-height, g the capitals.
struct Glyph {
    char32_t sign;
    int width;
    const char* strokes;
};

constexpr std::array glyphs{
    Glyph{U' ', 3, ""},
    Glyph{U'0', 7, "o04747g0g"},
    Glyph{U'1', 7, "-1d4g44"},
    Glyph{U'2', 7, "~0d0g7g7a04 -0474"},
    Glyph{U'3', 7, "~0e1g7g7a3a ~3a7a741406"},
    Glyph{U'4', 7, "-5g0878 -5g54"},
    Glyph{U'5', 7, "-6g1g1a ~1a7d741406"},
    Glyph{U'6', 7, "o04747b0b ~6e5g0g07"},
    Glyph{U'7', 7, "-0g7g24"},
    Glyph{U'8', 7, "o1a6a6g1g o04747a0a"},
    Glyph{U'9', 7, "o09797g0g ~1624747d"},
    Glyph{U'a', 7, "o04747c0c -7c74"},
    Glyph{U'b', 7, "-0g04 o04747c0c"},
    Glyph{U'c', 7, "~7a6c0c046476"},
    Glyph{U'd', 7, "-7g74 o04747c0c"},
    Glyph{U'e', 7, "-0878 ~787c0c046476"},
    Glyph{U'f', 5, "~5g2g2d -2d24 -0c5c"},
    Glyph{U'g', 7, "o04747c0c -7c73 ~73701001"},
    Glyph{U'h', 7, "-0g04 ~080c7c78 -7874"},
    Glyph{U'i', 0, "-0c04 -0f0g"},
    Glyph{U'j', 2, "-2c22 ~222000 -2f2g"},
    Glyph{U'k', 6, "-0g04 -6c07 -2964"},
    Glyph{U'l', 1, "-0g06 ~060424"},
    Glyph{U'm', 10, "-0c04 ~080c5c58 -5854 ~585caca8 -a8a4"},
    Glyph{U'n', 7, "-0c04 ~080c7c78 -7874"},
    Glyph{U'o', 7, "o04747c0c"},
    Glyph{U'p', 7, "-0c00 o04747c0c"},
    Glyph{U'q', 7, "-7c70 o04747c0c"},
    Glyph{U'r', 4, "-0c04 ~080c4c"},
    Glyph{U's', 6, "~6a5c0c0868641406"},
    Glyph{U't', 5, "-2f26 ~262454 -0c5c"},
    Glyph{U'u', 7, "-0c08 ~08047478 -7c74"},
    Glyph{U'v', 6, "-0c346c"},
    Glyph{U'w', 10, "-0c245c84ac"},
    Glyph{U'x', 6, "-0c64 -6c04"},
    Glyph{U'y', 6, "-0c34 -6c3421 ~212000"},
    Glyph{U'z', 6, "-0c6c0464"},
    Glyph{U'A', 8, "-044g84 -1777"},
    Glyph{U'B', 8, "-0g04 -0g4g ~4g7g7a4a -4a0a ~4a8a8444 -4404"},
    Glyph{U'C', 8, "~8d7g0g047487"},
    Glyph{U'D', 8, "-0g04 -0g3g ~3g8g8434 -3404"},
    Glyph{U'E', 7, "-7g0g0474 -0a6a"},
    Glyph{U'F', 7, "-7g0g04 -0a6a"},
    Glyph{U'G', 8, "~8d7g0g048489 -5989"},
    Glyph{U'H', 8, "-0g04 -8g84 -0a8a"},
    Glyph{U'I', 0, "-0g04"},
    Glyph{U'J', 5, "-5g57 ~57540407"},
    Glyph{U'K', 8, "-0g04 -7g08 -3b84"},
    Glyph{U'L', 7, "-0g0474"},
    Glyph{U'M', 10, "-040g58aga4"},
    Glyph{U'N', 8, "-040g848g"},
    Glyph{U'O', 9, "o04949g0g"},
    Glyph{U'P', 8, "-040g -0g4g ~4g8g8949 -4909"},
    Glyph{U'Q', 9, "o04949g0g -6793"},
    Glyph{U'R', 8, "-040g -0g4g ~4g8g8949 -4909 -4984"},
    Glyph{U'S', 7, "~7d6g0g0a7a741407"},
    Glyph{U'T', 8, "-0g8g -4g44"},
    Glyph{U'U', 8, "-0g08 ~08048488 -888g"},
    Glyph{U'V', 8, "-0g448g"},
    Glyph{U'W', 12, "-0g346g94cg"},
    Glyph{U'X', 8, "-0g84 -8g04"},
    Glyph{U'Y', 8, "-0g4a8g -4a44"},
    Glyph{U'Z', 8, "-0g8g0484"},
    Glyph{U'.', 0, "-04"},
    Glyph{U',', 1, "-1402"},
    Glyph{U':', 0, "-04 -0b"},
    Glyph{U';', 1, "-1402 -1b"},
    Glyph{U'-', 5, "-0959"},
    Glyph{U'_', 7, "-0373"},
    Glyph{U'+', 6, "-3b35 -0868"},
    Glyph{U'=', 6, "-0666 -0a6a"},
    Glyph{U'/', 6, "-026h"},
    Glyph{U'(', 3, "~3h0d0732"},
    Glyph{U')', 3, "~0h3d3702"},
    Glyph{U'[', 3, "-3h0h0232"},
    Glyph{U']', 3, "-0h3h3202"},
    Glyph{U'*', 6, "-3g38 -0e6a -6e0a"},
    Glyph{U'%', 10, "o0b4b4g0g o64a4a969 -9g14"},
    Glyph{U'@', 10, "o37777d3d ~7d76a6ad ~adag0g048494"},
    Glyph{U'\'', 0, "-0g0e"},
    Glyph{U'~', 7, "~080c787c"},
    Glyph{U'×', 6, "-0b65 -6b05"},
};

constexpr Glyph unknown{0, 7, "-040g7g7404"};
constexpr double units_per_size = 17.0;                  // so that capitals are as high as in usual fonts of that size
constexpr double space_between = 3.6;                    // units between two glyphs, stroke included
constexpr double superscript = 0.66, raised = 6.5;

const Glyph& glyph_of(char32_t sign)
{
    const auto found = std::find_if(glyphs.begin(), glyphs.end(), [&](const Glyph& g) { return g.sign == sign; });
    return found == glyphs.end() ? unknown : *found;
}

std::optional<char32_t> lowered(char32_t sign)           // a superscript's plain sign
{
    constexpr std::u32string_view high = U"⁰¹²³⁴⁵⁶⁷⁸⁹⁻", plain = U"0123456789-";
    const auto at = high.find(sign);
    return at == high.npos ? std::nullopt : std::optional(plain[at]);
}

// The next code point; a byte that is no UTF-8 stands for itself.
char32_t next_sign(std::string_view& text)
{
    const auto first = static_cast<unsigned char>(text.front());
    const std::size_t length = first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    char32_t sign = length == 1 ? first : first & (0x7Fu >> length);
    for (std::size_t i = 1; i < std::min(length, text.size()); ++i) sign = (sign << 6) | (static_cast<unsigned char>(text[i]) & 0x3Fu);
    text.remove_prefix(std::min(length, text.size()));
    return sign;
}

int digit(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

Point between(Point a, Point b) { return {(a.x + b.x) / 2, (a.y + b.y) / 2}; }

void add_arc(std::vector<Point>& line, Point from, Point control, Point to)
{
    constexpr int pieces = 12;
    for (int i = 1; i <= pieces; ++i) {
        const double t = static_cast<double>(i) / pieces, s = 1 - t;
        line.push_back({s * s * from.x + 2 * s * t * control.x + t * t * to.x, s * s * from.y + 2 * s * t * control.y + t * t * to.y});
    }
}

std::vector<Point> closed_curve(const std::vector<Point>& p)
{
    const std::size_t n = p.size();
    std::vector<Point> line{between(p[n - 1], p[0])};
    for (std::size_t i = 0; i < n; ++i) add_arc(line, between(p[(i + n - 1) % n], p[i]), p[i], between(p[i], p[(i + 1) % n]));
    return line;
}

std::vector<Point> open_curve(const std::vector<Point>& p)
{
    const std::size_t n = p.size();
    std::vector<Point> line{p[0]};
    for (std::size_t i = 1; i + 1 < n; ++i) add_arc(line, line.back(), p[i], i + 2 == n ? p[n - 1] : between(p[i], p[i + 1]));
    return line;
}

std::vector<Point> stroke_of(std::string_view code)
{
    std::vector<Point> points;
    for (std::size_t i = 1; i + 1 < code.size(); i += 2) points.push_back({static_cast<double>(digit(code[i])), static_cast<double>(digit(code[i + 1]) - 4)});
    if (points.size() < 3 || code[0] == '-') return points;
    return code[0] == 'o' ? closed_curve(points) : open_curve(points);
}

// Puts a glyph at x (in units), scaled and raised, into the outline in pixels.
void place(Outline& outline, const Glyph& glyph, double x, double scale, double lift, double pixels)
{
    std::string_view rest = glyph.strokes;
    while (!rest.empty()) {
        const auto end = std::min(rest.find(' '), rest.size());
        std::vector<Point> stroke = stroke_of(rest.substr(0, end));
        for (Point& p : stroke) p = {(x + scale * p.x) * pixels, -(lift + scale * p.y) * pixels};
        if (!stroke.empty()) outline.strokes.push_back(std::move(stroke));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
}

}  // namespace

Outline outline_of(std::string_view text, double size)
{
    const double pixels = size / units_per_size;
    Outline outline;
    double x = 0;
    while (!text.empty()) {
        const char32_t sign = next_sign(text);
        const std::optional<char32_t> plain = lowered(sign);
        const Glyph& glyph = glyph_of(plain.value_or(sign));
        const double scale = plain ? superscript : 1.0;
        place(outline, glyph, x, scale, plain ? raised : 0, pixels);
        x += scale * (glyph.width + space_between);
    }
    outline.width = std::max(0.0, x - space_between) * pixels;
    return outline;
}

double text_width(std::string_view text, double size) { return outline_of(text, size).width; }

}  // namespace tulle::cli::picture
