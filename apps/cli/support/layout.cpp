// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "apps/cli/support/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tulle/text.hpp"

namespace tulle::cli {
namespace {

// Columns on the screen: every code point we print takes one.
std::size_t width_of(std::string_view text)
{
    return static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string padded(std::string_view text, std::size_t width, Align align)
{
    const std::string gap(width - std::min(width, width_of(text)), ' ');
    return align == Align::left ? std::string(text) + gap : gap + std::string(text);
}

std::string trimmed(std::string line)
{
    line.erase(line.find_last_not_of(' ') + 1);
    return line;
}

// A bar of `cells` cells, to an eighth of a cell where the terminal can draw that.
std::string bar(double cells, bool unicode)
{
    static constexpr const char* eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    if (!unicode) return std::string(static_cast<std::size_t>(std::ceil(cells)), '#');
    const int parts = cells > 0 ? std::max(1, static_cast<int>(std::lround(cells * 8))) : 0;
    std::string text;
    for (int i = 0; i < parts / 8; ++i) text += "█";
    return text + eighths[parts % 8];
}

std::string range_text(int bits)
{
    if (bits <= 1) return std::to_string(bits);
    const offset_t from = offset_t{1} << (bits - 1);
    return fmt::format("{} - {}", grouped(from), grouped(2 * from - 1));
}

}  // namespace

std::string seconds_text(double seconds)
{
    if (seconds >= 1) return fmt::format("{:.3g} s", seconds);
    if (seconds >= 1e-3) return fmt::format("{:.3g} ms", 1e3 * seconds);
    return fmt::format("{:.3g} us", 1e6 * seconds);
}

std::string rate_text(double bytes_per_second)
{
    return bytes_per_second < 1e12 ? fmt::format("{:.3g} GB/s", 1e-9 * bytes_per_second)
                                   : fmt::format("{:.3g} TB/s", 1e-12 * bytes_per_second);
}

std::string share_text(double share) { return fmt::format("{:.3g} %", 100 * share); }
std::string number_text(double number) { return fmt::format("{:.4g}", number); }
std::string hex_text(std::uint64_t number) { return fmt::format("{:016x}", number); }

std::string counted(offset_t n, std::string_view one, std::string_view many)
{
    return fmt::format("{} {}", grouped(n), n == 1 ? one : many);
}

std::string shown(const Session& session, std::string description)
{
    if (!description.ends_with('\n')) description += '\n';
    const std::size_t from = description.find("  also possible: ");
    if (!session.settings.verbose && from != std::string::npos)
        description.erase(from, description.find('\n', from) + 1 - from);
    return description;
}

void Table::add(std::vector<std::string> row)
{
    row.resize(columns_.size());
    rows_.push_back(std::move(row));
}

std::string Table::text(const Console& console) const
{
    std::vector<std::size_t> widths;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
        widths.push_back(width_of(columns_[c].title));
        for (const auto& row : rows_) widths[c] = std::max(widths[c], width_of(row[c]));
    }
    const auto line = [&](auto&& cell) {
        std::string all = "  ";
        for (std::size_t c = 0; c < columns_.size(); ++c)
            all += (c ? "  " : "") + padded(cell(c), widths[c], columns_[c].align);
        return trimmed(all);
    };
    std::string all = console.styled(line([&](std::size_t c) { return columns_[c].title; }), Style::bold) + "\n";
    for (const auto& row : rows_) all += line([&](std::size_t c) { return row[c]; }) + "\n";
    return all;
}

std::string Facts::text(const Console& console) const
{
    std::size_t width = 0;
    for (const auto& [key, value] : items) width = std::max(width, width_of(key));
    std::string all = title.empty() ? "" : console.styled(title, Style::bold) + "\n";
    for (const auto& [key, value] : items)
        all += "  " + console.styled(padded(key, width, Align::left), Style::dim) + "  " + value + "\n";
    return all;
}

std::string bar_text(double cells, bool unicode) { return bar(cells, unicode); }

std::string row_length_bars(const Console& console, const RowStatistics& row)
{
    int first = 63, last = 0;
    index_t most = 1;
    for (int bits = 0; bits < 64; ++bits)
        if (const index_t rows = row.rows_by_length[static_cast<std::size_t>(bits)]; rows > 0) {
            first = std::min(first, bits);
            last = bits;
            most = std::max(most, rows);
        }
    std::string all;
    if (row.rows == 0) return all;
    const std::string heading = "row length";
    std::size_t width = width_of(heading), digits = grouped(most).size();
    for (int bits = first; bits <= last; ++bits) width = std::max(width, range_text(bits).size());
    const double room = std::max(10, std::min(console.width() - 30 - static_cast<int>(width + digits), 50));
    all += console.styled("  " + padded(heading, width, Align::right) + "  " + padded("rows", digits, Align::right),
                          Style::bold) +
           "\n";
    for (int bits = first; bits <= last; ++bits) {
        const index_t rows = row.rows_by_length[static_cast<std::size_t>(bits)];
        const std::string length = padded(range_text(bits), width, Align::right),
                          count = padded(grouped(rows), digits, Align::right);
        all += trimmed(fmt::format("  {}  {}  {}", length, count,
                                   console.styled(bar(room * rows / most, console.unicode()), Style::accent))) +
               "\n";
    }
    return all;
}

}  // namespace tulle::cli
