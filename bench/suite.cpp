// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "bench/suite.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "bench/build.hpp"
#include "tulle/base/error.hpp"
#include "tulle/base/text.hpp"
#include "tulle/io/generate.hpp"
#include "tulle/io/io.hpp"

namespace tulle::bench {
namespace {

namespace fs = std::filesystem;

fs::path matrix_folder()
{
    if (const char* given = std::getenv("TULLE_MATRICES")) return given;
    return fs::path(source_folder).parent_path() / "shared" / "matrices";
}

fs::path suite_file(const std::string& name)
{
    const fs::path known = fs::path(source_folder) / "bench" / "suites" / (name + ".txt");
    return name.find('/') == std::string::npos && fs::exists(known) ? known : fs::path(name);
}

bool is_sentence(const std::string& text)
{
    const std::string kind = text.substr(0, text.find(':'));     // "twin" stands for "twin:cant" and its sisters
    const auto& all = io::generators();
    return std::any_of(all.begin(), all.end(), [&](const io::Generator& g) { return g.name == kind || g.name.starts_with(kind + ":"); });
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

}  // namespace

Case make_case(const std::string& text)
{
    if (is_sentence(text)) return {text, text, true};
    for (const fs::path& file : {fs::path(text), matrix_folder() / text})
        if (fs::is_regular_file(file)) return {short_name(file), file.string(), false};
    throw FileError(concat("there is no matrix file '", text, "', and it is no generator's sentence"),
                    concat("files are also looked for in ", matrix_folder().string(), " (set TULLE_MATRICES); 'tulle gen --help' lists the sentences"));
}

Suite read_suite(const std::string& name)
{
    std::ifstream file(suite_file(name));
    require<FileError>(file.good(), [&] { return concat("there is no suite '", name, "'"); }, "use paper, real, quick, or a file with one matrix a line");
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
    return which.generated ? io::generate<V>(host, which.source) : io::read<V>(host, which.source, {.complex = io::Complex::real_part});
}

template Csr<float> load(const Context&, const Case&);
template Csr<double> load(const Context&, const Case&);

}  // namespace tulle::bench
