// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "apps/cli/support/console.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tulle/error.hpp"

namespace tulle::cli {
namespace {

bool results_are_out = false;

bool is_set(const char* variable)
{
    const char* value = std::getenv(variable);
    return value && *value;
}

bool wants_colour(std::string_view wish, int stream)
{
    if (wish != "auto") return wish == "always";
    const char* terminal = std::getenv("TERM");
    return isatty(stream) && !is_set("NO_COLOR") && !(terminal && std::string_view(terminal) == "dumb");
}

// Everything speaks UTF-8 today, unless the locale says otherwise in so many words.
bool speaks_unicode()
{
    for (const char* variable : {"LC_ALL", "LC_CTYPE", "LANG"})
        if (is_set(variable)) {
            const std::string_view locale = std::getenv(variable);
            return locale.find("UTF-8") != locale.npos || locale.find("utf8") != locale.npos ||
                   locale.find("UTF8") != locale.npos;
        }
    return true;
}

int terminal_width(int stream)
{
    winsize size{};
    return isatty(stream) && ioctl(stream, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

std::string_view escape_of(Style style)
{
    switch (style) {
    case Style::bold: return "\033[1m";
    case Style::dim: return "\033[2m";
    case Style::accent: return "\033[36m";
    case Style::bad: return "\033[1;31m";
    case Style::plain: break;
    }
    return "";
}

std::string dressed(std::string_view text, Style style, bool colour)
{
    if (!colour || style == Style::plain || text.empty()) return std::string(text);
    return std::string(escape_of(style)).append(text).append("\033[0m");
}

}  // namespace

Console::Console(std::string_view colour, bool quiet, bool stdout_taken)
    : colour_out_(wants_colour(colour, stdout_taken ? STDERR_FILENO : STDOUT_FILENO)),
      colour_err_(wants_colour(colour, STDERR_FILENO)),
      quiet_(quiet),
      progress_(!quiet && isatty(STDERR_FILENO)),
      unicode_(speaks_unicode()),
      stdout_taken_(stdout_taken),
      width_(std::clamp(terminal_width(STDOUT_FILENO), 40, 160))
{}

void Console::print(std::string_view text) const
{
    std::FILE* to = stdout_taken_ ? stderr : stdout;
    const bool written = std::fwrite(text.data(), 1, text.size(), to) == text.size() && std::fflush(to) == 0;
    if (!written)
        throw FileError(std::string("the result could not be written to ") + (stdout_taken_ ? "stderr: " : "stdout: ") +
                        std::strerror(errno));
    results_are_out = true;
}

bool Console::has_printed() { return results_are_out; }

void Console::say(std::string_view line) const
{
    if (!quiet_) std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
}

void Console::complain(std::string_view sentence, std::string_view hint) const
{
    std::string text = dressed("tulle:", Style::bad, colour_err_) + " " + std::string(sentence) + "\n";
    if (!hint.empty()) text += "  " + dressed("hint:", Style::bold, colour_err_) + " " + std::string(hint) + "\n";
    std::fwrite(text.data(), 1, text.size(), stderr);
}

std::string Console::styled(std::string_view text, Style style) const { return dressed(text, style, colour_out_); }

}  // namespace tulle::cli
