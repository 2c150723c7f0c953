// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A file reads
//
//     tulle sptrsv scheme 1
//     device NVIDIA H200
//     type f64
//     pattern 0123456789abcdef
//     scheme kernel=tasks merge=critical rows=32
//     seconds 0.000117
//
// The key stands inside too: a file under another's name is found out.
#include "sptrsv/steps.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <exception>
#include <filesystem>

#include "base/hash.hpp"
#include "io/sink.hpp"
#include "model/lines.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view title = "tulle sptrsv scheme 1";
constexpr std::uintmax_t most_bytes = 4096;

std::string hex(std::uint64_t number)
{
    std::array<char, 16> text;
    text.fill('0');
    std::array<char, 16> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, 16).ptr;
    std::copy(digits.data(), end, text.end() - (end - digits.data()));
    return {text.data(), text.size()};
}

std::uint64_t hash_text(std::uint64_t seed, std::string_view text)
{
    for (const char c : text) seed = hash_of(seed, static_cast<unsigned char>(c));
    return seed;
}

std::string contents(const CacheKey& key, const Policy& scheme, double seconds)
{
    return concat(title, "\ndevice ", key.device, "\ntype ", key.type, "\npattern ", hex(key.pattern), "\nscheme ",
                  to_line(scheme), "\nseconds ", seconds, "\n");
}

// The rest of the next line, which must begin with this word.
std::string_view after(model::Lines& lines, std::string_view word)
{
    if (!lines.next() || lines.word(0) != word) lines.fail(concat("a line '", word, " …' belongs here"));
    lines.word(1);
    return lines.after_first();
}

Remembered read(const std::string& file, const CacheKey& key, const Limits& limits)
{
    require<FormatError>(fs::file_size(file) <= most_bytes,
                         [&] { return concat(file, ": too large for what it should be"); });
    const std::string text = model::read_text(file);
    model::Lines lines(text, file);
    if (!lines.next() || concat(lines.word(0), " ", lines.after_first()) != title)
        lines.fail("not a remembered scheme");
    if (after(lines, "device") != key.device) lines.fail("of another device");
    if (after(lines, "type") != key.type) lines.fail("of another type");
    if (after(lines, "pattern") != hex(key.pattern)) lines.fail("of another pattern");
    const std::optional<Policy> scheme = parse_policy(after(lines, "scheme"));
    if (!scheme) lines.fail("a scheme that is not understood");
    check_policy(*scheme, limits);
    after(lines, "seconds");
    const auto seconds = lines.number<double>(1);
    if (lines.next()) lines.fail("more than belongs here");
    return {scheme, seconds, {}};
}

// Whether a file is there that this library did not write.
bool is_foreign(const std::string& file)
{
    std::error_code ignored;
    if (!fs::exists(file, ignored)) return false;
    if (!fs::is_regular_file(file, ignored)) return true;
    const std::string text = fs::file_size(file, ignored) <= most_bytes ? model::read_text(file) : std::string();
    return !text.empty() && !text.starts_with("tulle sptrsv scheme");
}

}  // namespace

std::uint64_t fingerprint(const CpuQueue& host, const Pattern& t, bool unit_diagonal)
{
    std::uint64_t sum = hash_of(1, t.rows, t.reversed, unit_diagonal || t.rows == 0);
#pragma omp parallel for num_threads(host.threads) schedule(static) reduction(+ : sum)
    for (index_t i = 0; i < t.rows; ++i) {
        std::uint64_t row = hash_of(2, i);
        for (offset_t k = t.row_begin.data()[i]; k < t.row_begin.data()[i + 1]; ++k)
            row = mix(row ^ static_cast<std::uint64_t>(t.col.data()[k]));
        sum += row;
    }
    return mix(sum);
}

std::string cache_file(const std::string& folder, const CacheKey& key)
{
    return (fs::path(folder) / concat("sptrsv-", hex(hash_text(hash_text(key.pattern, key.device), key.type)), ".txt"))
        .string();
}

Remembered recall(const std::string& folder, const CacheKey& key, const Limits& limits)
{
    const std::string file = cache_file(folder, key);
    try {
        if (!fs::exists(file)) return {};
        return read(file, key, limits);
    } catch (const std::exception& fault) {
        return {.note = concat("ignored: ", fault.what())};
    }
}

std::string remember(const std::string& folder, const CacheKey& key, const Policy& scheme, double seconds)
{
    const std::string file = cache_file(folder, key);
    try {
        fs::create_directories(folder);
        if (is_foreign(file)) return concat(file, " is not a remembered scheme and stays as it is");
        io::AtomicFile out(file);
        out.write(contents(key, scheme, seconds));
        out.commit();
        return {};
    } catch (const std::exception& fault) {
        return concat("not remembered: ", fault.what());
    }
}

}  // namespace tulle::inline TULLE_ABI::sptrsv
