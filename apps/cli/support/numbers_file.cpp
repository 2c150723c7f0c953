// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "apps/cli/support/numbers_file.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <system_error>

#include "apps/cli/support/layout.hpp"
#include "apps/cli/support/source.hpp"
#include "apps/cli/support/whole_file.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"

namespace tulle::cli {

std::istream& open_text(const std::string& file, std::ifstream& opened)
{
    if (file == "-") {
        claim_stdin("a vector");
        return std::cin;
    }
    std::error_code none;
    require<FileError>(!std::filesystem::is_directory(file, none),
                       [&] { return concat(file, ": is a directory, not a file"); });
    opened.open(file);
    require<FileError>(opened.good(),
                       [&] { return concat(file, ": cannot be opened: ", std::generic_category().message(errno)); });
    return opened;
}

bool next_line(std::istream& in, std::string& line, offset_t& number)
{
    while (std::getline(in, line)) {
        ++number;
        if (number == 1 && line.starts_with("\xef\xbb\xbf")) line.erase(0, 3);
        if (!line.empty() && line.back() == '\r') line.pop_back();
        if (line.find_first_not_of(" \t") != line.npos) return true;
    }
    return false;
}

void check_read(const std::istream& in, const std::string& file)
{
    const int fault = errno;
    require<FileError>(!in.bad() && !(&in == &std::cin && std::ferror(stdin) != 0),
                       [&] { return concat(file, ": cannot be read: ", std::generic_category().message(fault)); });
}

void check_text_file(const std::string& file, std::string_view hint)
{
    check_ending(file, ".txt", hint);
    check_writable(file);
}

template <class V>
std::vector<V> read_numbers(const std::string& file, index_t expected)
{
    std::ifstream opened;
    std::istream& in = open_text(file, opened);
    std::vector<V> all;
    std::string line;
    for (offset_t number = 0; next_line(in, line, number);) {
        V value{};
        const auto [rest, fault] = std::from_chars(line.data(), line.data() + line.size(), value);
        const bool whole = rest == line.data() + line.size(), fits = fault != std::errc::result_out_of_range;
        require<FormatError>(fault == std::errc{} && whole, [&, whole, fits] {
            const char* const type = sizeof(V) == 4 ? "float" : "double";
            return concat(file, ":", number, ": '", line, "' ",
                          whole && !fits ? concat("does not fit ", type) : std::string("is not a number"));
        });
        all.push_back(value);
    }
    check_read(in, file);
    require<FormatError>(std::ssize(all) == expected, [&] {
        return concat(file, ": ", counted(std::ssize(all), "number", "numbers"), ", but ", expected,
                      expected == 1 ? " is needed" : " are needed");
    });
    return all;
}

template <class V>
void write_numbers(const std::string& file, std::span<const V> numbers)
{
    std::string text;
    for (const V number : numbers) {
        std::array<char, 32> room{};
        const auto end = std::to_chars(room.data(), room.data() + room.size(), number);
        text.append(room.data(), end.ptr).append("\n");
    }
    write_whole_file(file, text);
}

template std::vector<float> read_numbers(const std::string&, index_t);
template std::vector<double> read_numbers(const std::string&, index_t);
template void write_numbers(const std::string&, std::span<const float>);
template void write_numbers(const std::string&, std::span<const double>);

}  // namespace tulle::cli
