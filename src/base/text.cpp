// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "tulle/text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

#include "tulle/error.hpp"

namespace tulle::inline TULLE_ABI {
namespace {

struct Unit {
    std::string_view name;
    double bytes;
};

constexpr std::array units{
    Unit{"", 1.0},       Unit{"B", 1.0},    Unit{"K", 0x1p10},   Unit{"KB", 1e3},     Unit{"KIB", 0x1p10},
    Unit{"M", 0x1p20},   Unit{"MB", 1e6},   Unit{"MIB", 0x1p20}, Unit{"G", 0x1p30},   Unit{"GB", 1e9},
    Unit{"GIB", 0x1p30}, Unit{"T", 0x1p40}, Unit{"TB", 1e12},    Unit{"TIB", 0x1p40},
};

}  // namespace

std::string to_text(double number)
{
    std::array<char, 32> room{};
    const auto end = std::to_chars(room.data(), room.data() + room.size(), number);
    return {room.data(), end.ptr};
}

namespace detail {

void TextPart::append_to(std::string& all) const
{
    switch (kind_) {
    case Kind::text: all += text_; break;
    case Kind::integer: all += std::to_string(integer_); break;
    case Kind::natural: all += std::to_string(natural_); break;
    case Kind::real: all += to_text(real_); break;
    }
}

std::string join(const TextPart* part, std::size_t parts)
{
    std::string all;
    for (const TextPart* end = part + parts; part != end; ++part) part->append_to(all);
    return all;
}

}  // namespace detail

std::string fixed(double number, int decimals)
{
    std::array<char, 400> room{};  // the largest double has 309 digits before the point
    const auto end = std::to_chars(room.data(), room.data() + room.size(), number, std::chars_format::fixed, decimals);
    return {room.data(), end.ptr};
}

std::string grouped(offset_t number)
{
    std::string digits = std::to_string(number);
    const std::size_t first = number < 0 ? 1 : 0;
    for (std::size_t at = digits.size(); at > first + 3; at -= 3) digits.insert(at - 3, 1, ' ');
    return digits;
}

std::string human_bytes(std::size_t bytes)
{
    constexpr std::array<std::string_view, 6> names{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double amount = static_cast<double>(bytes);
    std::size_t unit = 0;
    for (; amount >= 1024.0 && unit + 1 < names.size(); ++unit) amount /= 1024.0;
    return fixed(amount, unit == 0 ? 0 : 1) + " " + std::string(names[unit]);
}

std::size_t parse_bytes(std::string_view text)
{
    double amount = 0;
    const auto [rest, fault] = std::from_chars(text.data(), text.data() + text.size(), amount);
    std::string name;
    for (const char* c = rest; c != text.data() + text.size(); ++c)
        if (*c != ' ') name += static_cast<char>(std::toupper(static_cast<unsigned char>(*c)));
    const auto unit = std::find_if(units.begin(), units.end(), [&](const Unit& u) { return u.name == name; });
    const bool good = fault == std::errc{} && unit != units.end() && amount >= 0 && amount * unit->bytes < 0x1p63;
    require<ValueError>(
        good, [&] { return concat("'", text, "' is not an amount of memory"); },
        "write it like 512MiB, 8GiB or 1000000");
    return static_cast<std::size_t>(amount * unit->bytes);
}

}  // namespace tulle::inline TULLE_ABI
