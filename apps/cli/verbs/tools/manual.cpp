// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "apps/cli/verbs/tools/manual.hpp"

#include <fmt/format.h>

#include "tulle/version.hpp"

namespace tulle::cli {
namespace {

// As roff reads it: a hyphen that can be copied, no line that begins with a command.
std::string plain(std::string_view text)
{
    std::string safe;
    for (const char c : text) {
        const bool begins = safe.empty() || safe.back() == '\n';
        if (begins && (c == '.' || c == '\'')) safe += "\\&";
        safe += c == '-' ? "\\-" : c == '\\' ? "\\e" : std::string(1, c);
    }
    return safe;
}

std::string bold(std::string_view text) { return "\\fB" + plain(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + plain(text) + "\\fR"; }

std::string entry(const OptionEntry& option)
{
    std::string names;
    for (const std::string& name : option.names)
        names += (names.empty() ? "" : ", ") + (option.argument ? italic(name) : bold(name));
    if (!option.value.empty()) names += " " + italic(option.value);
    return ".TP\n" + names + "\n" + plain(option.description) + "\n";
}

// "Examples:\n  tulle …": the lines after the first, as they are.
std::string examples(const VerbEntry& verb)
{
    const auto first = verb.examples.find('\n');
    if (first == std::string::npos) return "";
    return ".PP\nExamples:\n.PP\n.nf\n" + plain(verb.examples.substr(first + 1)) + "\n.fi\n";
}

std::string synopsis(const VerbEntry& verb)
{
    std::string line = bold(verb.path);
    for (const OptionEntry& option : verb.options)
        if (option.argument) line += " " + italic(option.names.front());
    return line + (verb.verbs.empty() ? " [options]" : " " + italic("verb")) + "\n";
}

std::string section(const VerbEntry& verb)
{
    std::string text =
        fmt::format(".SS \"{}\"\n{}.PP\n{}\n", plain(verb.path), synopsis(verb), plain(verb.description));
    if (verb.verbs.empty())
        for (const OptionEntry& option : verb.options) text += entry(option);
    return text + examples(verb);
}

constexpr const char* exit_status = ".SH EXIT STATUS\n"
                                    ".TP\n0\nsuccess\n"
                                    ".TP\n1\na check failed (\\fBvalidate\\fR, \\fB\\-\\-verify\\fR)\n"
                                    ".TP\n2\nthe command line is wrong\n"
                                    ".TP\n3\na file cannot be read or written\n"
                                    ".TP\n4\nnot enough memory\n"
                                    ".TP\n5\na device cannot be used, or something was not built\n"
                                    ".TP\n6\nan error in tulle itself\n";

}  // namespace

std::string manual_page(const std::vector<VerbEntry>& verbs)
{
    std::string text = fmt::format(
        ".TH TULLE 1 \"\" \"tulle {}\" \"User Commands\"\n.SH NAME\ntulle \\- sparse linear algebra on CPUs and GPUs\n",
        build::version);
    text += ".SH SYNOPSIS\n" + bold("tulle") + " " + italic("verb") + " [options]\n";
    text += ".SH DESCRIPTION\nReads, generates, describes and draws sparse matrices, and multiplies and solves with "
            "them on CPUs and GPUs.\n"
            "Results go to standard output, messages to standard error.\n";
    text += examples(verbs.front()) + ".SH VERBS\n";
    for (std::size_t k = 1; k < verbs.size(); ++k) text += section(verbs[k]);
    return text + exit_status;
}

}  // namespace tulle::cli
