// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "bench/harness/suite.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <system_error>

#include "bench/build.hpp"
#include "bench/harness/values.hpp"
#include "io/sink.hpp"
#include "tulle/error.hpp"
#include "tulle/generate.hpp"
#include "tulle/io.hpp"
#include "tulle/text.hpp"

namespace tulle::bench {
namespace {

namespace fs = std::filesystem;

fs::path matrix_folder()
{
    if (const char* given = std::getenv("TULLE_MATRICES")) return given;
    return fs::path(source_folder) / "matrices";
}

fs::path suite_file(const std::string& name)
{
    const fs::path known = fs::path(source_folder) / "bench" / "suites" / (name + ".txt");
    return name.find('/') == std::string::npos && fs::exists(known) ? known : fs::path(name);
}

bool is_sentence(const std::string& text)
{
    const std::string kind = text.substr(0, text.find(':'));  // "twin" stands for "twin:cant" and its sisters
    const auto& all = io::generators();
    return std::any_of(all.begin(), all.end(),
                       [&](const io::Generator& g) { return g.name == kind || g.name.starts_with(kind + ":"); });
}

// "dlmc/layer.smtx.xz" is called "layer".
std::string short_name(const fs::path& file)
{
    std::string name = file.filename().string();
    for (const char* ending : {".xz", ".gz", ".tar", ".mtx", ".smtx", ".npz", ".tulle"})
        if (name.ends_with(ending)) name.resize(name.size() - std::string_view(ending).size());
    return name;
}

std::string trimmed(std::string line)
{
    line = line.substr(0, line.find('#'));
    const auto begin = line.find_first_not_of(" \t\r");
    if (begin == std::string::npos) return {};
    return line.substr(begin, line.find_last_not_of(" \t\r") - begin + 1);
}

// "short name = file": tables are easier to read.
Case parse_line(const std::string& line)
{
    const std::size_t equals = line.find(" = ");
    if (equals == std::string::npos) return make_case(line);
    Case named = make_case(trimmed(line.substr(equals + 3)));
    named.name = trimmed(line.substr(0, equals));
    return named;
}

// What was asked for, and what became of it.
struct Values {
    std::optional<std::uint64_t> seed;
    io::Narrow narrow = io::Narrow::no;
    std::map<std::string, std::string> made;  // by the name of the case
};

Values& values()
{
    static Values all;
    return all;
}

template <class V>
Csr<V> read_file(const Context& host, const Case& which)
{
    io::FileInfo info;
    Csr<V> a =
        io::read<V>(host, which.source,
                    {.complex = io::Complex::real_part, .random_values = values().seed, .narrow = values().narrow},
                    &info);
    values().made[which.name] = info.values;
    if (info.field == "complex") fmt::print(stderr, "warning: {} is complex: its real part is taken\n", which.source);
    for (const io::Warning& warning : io::warnings(which.source, info))
        fmt::print(stderr, "warning: {}\n", warning.message);
    return a;
}

// A stream can be read once, and is needed once for each backend.
const Csr<double>& read_stream(const Context& host, const Case& which)
{
    static std::map<std::string, Csr<double>> all;
    const auto known = all.find(which.source);
    return known != all.end() ? known->second : all.emplace(which.source, read_file<double>(host, which)).first->second;
}

template <class V>
Csr<V> converted(const Context& host, const CsrView<double>& a)
{
    const CpuQueue q = host.host();
    Csr<V> b{.rows = a.rows,
             .cols = a.cols,
             .row_begin = Buffer<offset_t>(q, offset_t{a.rows} + 1),
             .col = Buffer<index_t>(q, a.nonzeros),
             .value = Buffer<V>(q, a.nonzeros)};
    std::copy_n(a.row_begin, offset_t{a.rows} + 1, b.row_begin.data());
    std::copy_n(a.col, a.nonzeros, b.col.data());
    std::transform(a.value, a.value + a.nonzeros, b.value.data(), [](double v) { return static_cast<V>(v); });
    b.sorted = b.unique = true;
    return b;
}

}  // namespace

void set_pattern_values(const std::string& how)
{
    values().seed.reset();
    if (how == "ones") return;
    const std::string prefix = "random:";
    std::uint64_t seed = 0;
    const char* end = how.data() + how.size();
    const auto [rest, fault] = std::from_chars(how.data() + std::min(prefix.size(), how.size()), end, seed);
    require<ValueError>(
        how.starts_with(prefix) && fault == std::errc{} && rest == end,
        [&] { return concat("--values cannot be '", how, "'"); },
        "use ones, or random:SEED with a whole number, like random:1");
    values().seed = seed;
}

void set_value_type(const std::string& type)
{
    values().narrow = type == "f16" ? io::Narrow::f16 : type == "bf16" ? io::Narrow::bf16 : io::Narrow::no;
}

std::string values_of(const std::string& matrix)
{
    const auto found = values().made.find(matrix);
    return found == values().made.end() ? "stored" : found->second;
}

Case make_case(const std::string& text)
{
    if (is_sentence(text)) return {text, text, true};
    if (io::is_stream(text)) return {text == "-" ? "stdin" : text, text, false};
    for (const fs::path& file : {fs::path(text), matrix_folder() / text})
        if (fs::is_regular_file(file)) return {short_name(file), file.string(), false};
    throw FileError(concat("there is no matrix file '", text, "', and it is no generator's sentence"),
                    concat(where_files_are(), "; 'tulle gen --list' lists the sentences"));
}

std::string where_files_are()
{
    const fs::path folder = matrix_folder();
    std::error_code unreadable;
    if (fs::is_directory(folder, unreadable))
        return concat("files are also looked for in ", folder.string(), " (set TULLE_MATRICES)");
    return concat("files are also looked for in ", folder.string(),
                  ", which is not there: put them into it, or set TULLE_MATRICES to their folder");
}

Suite read_suite(const std::string& name)
{
    std::ifstream file(suite_file(name));
    require<FileError>(
        file.good(), [&] { return concat("there is no suite '", name, "'"); },
        "use paper, real, quick, or a file with one matrix a line");
    Suite suite;
    for (std::string line; std::getline(file, line);) {
        line = trimmed(line);
        if (line.empty()) continue;
        try {
            suite.cases.push_back(parse_line(line));
        } catch (const FileError&) {
            suite.missing.push_back(line);
        }
    }
    return suite;
}

template <class V>
Csr<V> load(const Context& host, const Case& which)
{
    if (which.generated) return io::generate<V>(host, which.source);
    if (io::is_stream(which.source)) return converted<V>(host, read_stream(host, which).view());
    return read_file<V>(host, which);
}

template Csr<float> load(const Context&, const Case&);
template Csr<double> load(const Context&, const Case&);

}  // namespace tulle::bench
