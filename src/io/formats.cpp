// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "io/formats.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "base/suggest.hpp"
#include "io/formats/petsc.hpp"
#include "io/sink.hpp"
#include "io/text.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::io {
namespace {

constexpr std::array formats{
    Format{".mtx", Contents::matrix_market, Packing::none, true},
    Format{".mtx.gz", Contents::matrix_market, Packing::gz, true},
    Format{".mtx.xz", Contents::matrix_market, Packing::xz, false},
    Format{".tar.gz", Contents::matrix_market, Packing::tar_gz, false},
    Format{".tgz", Contents::matrix_market, Packing::tar_gz, false},
    Format{".npz", Contents::npz, Packing::none, true},
    Format{".smtx", Contents::smtx, Packing::none, true},
    Format{".smtx.gz", Contents::smtx, Packing::gz, true},
    Format{".smtx.xz", Contents::smtx, Packing::xz, false},
    Format{".tulle", Contents::binary, Packing::none, true},
    Format{".petsc", Contents::petsc, Packing::none, true},
    Format{".petsc.gz", Contents::petsc, Packing::gz, true},
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// "2, 3, 4": the first line of .smtx.
bool begins_with_sizes(std::string_view bytes)
{
    const std::string_view line = bytes.substr(0, bytes.find('\n'));
    return !line.empty() && is_digit(line.front()) && std::count(line.begin(), line.end(), ',') == 2 &&
           std::all_of(line.begin(), line.end(), [](char c) { return is_digit(c) || is_blank(c) || c == ','; });
}

}  // namespace

std::string known_endings(std::string_view meant, Endings which)
{
    std::string known = which == Endings::read ? "known are" : "written are";
    std::vector<std::string_view> endings;
    for (const Format& format : formats) {
        if (which == Endings::written && !format.writable) continue;
        known += concat(" ", format.ending);
        endings.push_back(format.ending);
    }
    return did_you_mean(meant, endings) + known;
}

const Format* find_format(const std::filesystem::path& file)
{
    const std::string name = lower(file.filename().string());
    const auto found = std::find_if(formats.begin(), formats.end(),
                                    [&](const Format& format) { return name.ends_with(format.ending); });
    return found == formats.end() ? nullptr : &*found;
}

const Format& format_of(const std::filesystem::path& file)
{
    const Format* found = find_format(file);
    require<FileError>(
        found != nullptr,
        [&] { return concat(file.string(), ": the end of the name says no format that tulle knows"); },
        found ? "" : known_endings(lower(file.extension().string())));
    return *found;
}

const Format& format_to_write(const std::filesystem::path& file, const std::string& format)
{
    if (!format.empty()) return format_named(format);
    if (const Format* found = find_format(file)) return *found;
    require<FileError>(
        is_stream(file),
        [&] { return concat(file.string(), ": the end of the name says no format that tulle writes"); },
        known_endings(lower(file.extension().string()), Endings::written));
    return format_named("mtx");
}

const Format& format_named(const std::string& name)
{
    const std::string ending = lower(name.starts_with('.') ? name : "." + name);
    const auto found =
        std::find_if(formats.begin(), formats.end(), [&](const Format& format) { return ending == format.ending; });
    require<ValueError>(
        found != formats.end(), [&] { return concat("there is no format '", name, "'"); },
        found == formats.end() ? known_endings(ending) : "");
    return *found;
}

Packing packing_of(std::string_view bytes)
{
    if (bytes.starts_with("\x1f\x8b")) return Packing::gz;
    return bytes.starts_with("\xfd"
                             "7zXZ")
               ? Packing::xz
               : Packing::none;
}

bool is_tar(std::string_view bytes) { return bytes.size() >= 512 && bytes.substr(257, 5) == "ustar"; }

std::optional<Contents> contents_of(std::string_view bytes)
{
    if (bytes.starts_with("\x89TULLE\r\n")) return Contents::binary;
    if (bytes.starts_with("PK\x03\x04")) return Contents::npz;
    if (is_petsc(bytes)) return Contents::petsc;
    if (bytes.starts_with("\xef\xbb\xbf")) bytes.remove_prefix(3);
    if (lower(bytes.substr(0, 14)) == "%%matrixmarket") return Contents::matrix_market;
    return begins_with_sizes(bytes) ? std::optional(Contents::smtx) : std::nullopt;
}

}  // namespace tulle::inline TULLE_ABI::io
