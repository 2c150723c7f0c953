// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A tar archive is a list of files, each a header of 512 bytes and the contents rounded up to 512 bytes (POSIX.1-1988
// ustar, and GNU's base-256 sizes and long names).
#include "io/compression/tar.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <vector>

#include "base/math.hpp"
#include "io/formats.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::io {
namespace {

constexpr std::size_t tar_block = 512;
constexpr std::size_t longest_name = 4096;  // names are copied, outside of the budget
constexpr const char* not_tar = "a header is damaged, or this is not a tar archive";

struct TarMember {
    std::string name;
    std::string_view contents;
};

std::string_view field(std::string_view header, std::size_t at, std::size_t size)
{
    const std::string_view text = header.substr(at, size);
    return text.substr(0, std::min(text.find('\0'), text.size()));
}

// Octal digits, or with the top bit set a big-endian number.
std::size_t number(const Source& archive, std::string_view header, std::size_t at, std::size_t size)
{
    const std::string_view text = header.substr(at, size);
    std::size_t value = 0;
    if (static_cast<unsigned char>(text.front()) >= 0x80) {
        for (const char c : text.substr(text.size() - 8)) value = value << 8 | static_cast<unsigned char>(c);
        return value;
    }
    for (const char c : field(header, at, size)) {
        if (c == ' ') continue;
        if (c < '0' || c > '7') archive.fail(text.data(), not_tar);
        value = value << 3 | static_cast<std::size_t>(c - '0');
    }
    return value;
}

void check_header(const Source& archive, std::string_view header)
{
    constexpr std::size_t sum_at = 148, sum_size = 8;
    std::size_t sum = sum_size * ' ';
    for (std::size_t i = 0; i < tar_block; ++i)
        if (i < sum_at || i >= sum_at + sum_size) sum += static_cast<unsigned char>(header[i]);
    if (number(archive, header, sum_at, sum_size) != sum) archive.fail(header.data(), not_tar);
}

std::vector<TarMember> list_files(const Source& archive)
{
    std::vector<TarMember> members;
    std::string long_name;
    std::string_view rest = archive.bytes();
    while (rest.size() >= tar_block && rest.substr(0, tar_block).find_first_not_of('\0') != std::string_view::npos) {
        const std::string_view header = rest.substr(0, tar_block);
        check_header(archive, header);
        const std::size_t size = number(archive, header, 124, 12);
        if (size > rest.size() - tar_block)
            archive.fail(header.data(), concat("the archive ends inside of '", field(header, 0, 100), "'"));
        const std::string_view contents = rest.substr(tar_block, size);
        const std::string_view prefix =
            header.substr(257, 6) == std::string_view("ustar\0", 6) ? field(header, 345, 155) : "";
        const char kind = header[156];
        if (kind == 'L') {
            if (size > longest_name)
                archive.fail(header.data(), concat("a file name has ", size, " bytes, more than ", longest_name));
            long_name = field(contents, 0, contents.size());
        } else {
            const std::string name =
                std::string(prefix) + (prefix.empty() ? "" : "/") + std::string(field(header, 0, 100));
            if (kind == '0' || kind == '\0') members.push_back({long_name.empty() ? name : long_name, contents});
            long_name.clear();
        }
        rest.remove_prefix(std::min(rest.size(), tar_block + round_up(size, tar_block)));
    }
    return members;
}

bool is_matrix(const TarMember& member) { return member.name.ends_with(".mtx"); }

}  // namespace

Source find_matrix(Source archive)
{
    const std::vector<TarMember> members = list_files(archive);
    const std::string file = std::filesystem::path(archive.name()).filename().string();
    const std::string stem = file.substr(0, file.find('.'));
    const std::string wanted = stem + "/" + stem + ".mtx";
    auto found = std::find_if(members.begin(), members.end(),
                              [&](const TarMember& m) { return m.name == wanted || m.name == "./" + wanted; });
    const auto matrices = std::count_if(members.begin(), members.end(), is_matrix);
    const auto leads = [](const TarMember& m) {  // NAME/NAME.mtx, for any NAME
        const std::filesystem::path path(m.name);
        return is_matrix(m) && path.parent_path().filename() == path.stem();
    };
    const bool unnamed = find_format(archive.name()) == nullptr;  // stdin, a pipe
    if (found == members.end() && unnamed && std::count_if(members.begin(), members.end(), leads) == 1)
        found = std::find_if(members.begin(), members.end(), leads);
    if (found == members.end() && matrices == 1) found = std::find_if(members.begin(), members.end(), is_matrix);
    if (found == members.end())
        throw FormatError(concat(archive.name(), ": no ", wanted, " among the ", members.size(),
                                 " files of the archive, ", matrices, " of which are .mtx"),
                          "unpack the archive and name the matrix");
    const std::string name = archive.name() + ":" + found->name;
    return std::move(archive).part(name, found->contents);
}

}  // namespace tulle::inline TULLE_ABI::io
