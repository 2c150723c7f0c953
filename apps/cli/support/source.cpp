// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "apps/cli/support/source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include "apps/cli/support/failure.hpp"
#include "apps/cli/support/layout.hpp"
#include "apps/cli/support/progress.hpp"
#include "base/suggest.hpp"
#include "tulle/generate.hpp"
#include "tulle/text.hpp"

namespace tulle::cli {
namespace {

std::string before(const std::string& text, char mark) { return text.substr(0, text.find(mark)); }

bool names_generator(const std::string& name)
{
    const auto& kinds = io::generators();
    return std::any_of(kinds.begin(), kinds.end(), [&](const io::Generator& g) { return g.name == name; });
}

// A file that is not there might have been meant as a sentence; reading it gives the error, this the way out.
[[noreturn]] void explain_missing(const std::string& text)
{
    std::vector<std::string> kinds;
    for (const io::Generator& g : io::generators()) kinds.push_back(g.name);
    throw FileError(concat("there is no file '", text, "'"),
                    did_you_mean(before(text, ':'), kinds) +
                        "give a matrix file (.mtx .mtx.gz .mtx.xz .tar.gz .npz .smtx .tulle .petsc) or a sentence like "
                        "stencil7:100; 'tulle gen --list' shows all");
}

// The seed of "random:SEED".
std::optional<std::uint64_t> seed_of(const std::string& values)
{
    if (values.empty() || values == "ones") return {};
    const std::string_view text = values, prefix = "random:";
    std::uint64_t seed = 0;
    const char* end = text.data() + text.size();
    const auto [rest, fault] = std::from_chars(text.data() + std::min(prefix.size(), text.size()), end, seed);
    require<UsageError>(
        text.starts_with(prefix) && fault == std::errc{} && rest == end,
        [&] { return concat("--values cannot be '", values, "'"); },
        "use ones, or random:SEED with a whole number, like random:1");
    return seed;
}

template <class V>
Csr<V> read_file(const Context& ctx, const Source& source, const Progress& progress, io::FileInfo* info)
{
    std::error_code none;
    if (source.is_stdin()) claim_stdin("the matrix -");
    else check_exists(source);
    const auto complex = source.real_part ? io::Complex::real_part : io::Complex::refuse;
    io::ReadOptions options{.complex = complex,
                            .random_values = seed_of(source.values),
                            .format = source.format,
                            .narrow = source.narrow,
                            .strict = source.strict,
                            .progress = progress};
    if (source.trust_header) options.unproven_bytes = Memory::unlimited;
    try {
        return io::read<V>(ctx, source.text, options, info);
    } catch (const NotBuilt& missing) {  // a compression this build cannot read: the file is the matter, not a device
        throw FileError(concat(source.text, ": ", missing.message()), missing.hint());
    }
}

void warn(const Session& session, const Source& source, const io::FileInfo& file)
{
    for (io::Warning& warning : io::warnings(source.is_stdin() ? "stdin" : source.text, file)) {
        session.console.say("warning: " + warning.message);
        session.warnings->push_back(std::move(warning));
    }
}

}  // namespace

void check_exists(const Source& source)
{
    std::error_code none;
    const bool there = source.is_stdin() || source.is_sentence() || std::filesystem::exists(source.text, none) || none;
    if (!there) explain_missing(source.text);
}

void claim_stdin(const std::string& what)
{
    static std::string taken;
    require<UsageError>(
        taken.empty(), [&] { return concat("standard input cannot be read twice: by ", taken, " and by ", what); },
        "give one of them a file");
    taken = what;
}

Source Source::with_text(const std::string& other) const
{
    Source same = *this;
    same.text = other;
    if (!same.is_stdin()) same.format.clear();
    return same;
}

bool Source::is_sentence() const
{
    if (is_stdin()) return false;
    std::error_code none;
    if (std::filesystem::exists(text, none)) return false;
    if (names_generator(before(text, ':'))) return true;
    return text.find(':') != text.npos && text.find('/') == text.npos &&
           text.find('.') == text.npos;  // generate() tells what it does not know
}

std::string Source::name() const
{
    if (is_stdin()) return "stdin";
    if (is_sentence()) return text.rfind("twin:", 0) == 0 ? text.substr(5) : text;
    const std::string file = std::filesystem::path(text).filename().string();
    for (const char* ending : {".mtx", ".tar.gz", ".npz", ".smtx", ".tulle", ".petsc"})
        if (const auto at = file.rfind(ending); at != file.npos && at > 0) return file.substr(0, at);
    return file;
}

template <class V>
Loaded<V> load(const Session& session, const Context& ctx, const Source& source)
{
    const bool sentence = source.is_sentence();
    Loaded<V> loaded;
    {
        Activity work(session.console, concat(sentence ? "generating " : "reading ", source.text));
        loaded.matrix = sentence ? io::generate<V>(ctx, source.text, work.progress())
                                 : read_file<V>(ctx, source, work.progress(), &loaded.file);
        loaded.seconds = work.seconds();
    }
    if (sentence) loaded.file = {};
    warn(session, source, loaded.file);
    if (!source.values.empty() && loaded.file.values == "stored")
        session.console.say(concat("--values has no effect: ", source.text, " has values of its own"));
    if (source.real_part && !sentence && loaded.file.field != "complex")
        session.console.say(concat("--real-part has no effect: ", source.text, " is not complex"));
    session.console.say(
        fmt::format("{} {} in {}", sentence ? "generated" : "read", source.text, seconds_text(loaded.seconds)));
    return loaded;
}

template Loaded<float> load(const Session&, const Context&, const Source&);
template Loaded<double> load(const Session&, const Context&, const Source&);

}  // namespace tulle::cli
