// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "apps/cli/support/run_program.hpp"

#include <algorithm>
#include <csignal>
#include <exception>
#include <string>
#include <string_view>

#include "apps/cli/support/failure.hpp"
#include "apps/cli/support/parser.hpp"
#include "apps/cli/support/wait_policy.hpp"
#include "io/sink.hpp"

namespace tulle::cli {
namespace {

void answer_or_help(Parser& parser, const std::function<void(Parser&)>& answer)
{
    try {
        answer(parser);
    } catch (const CLI::CallForHelp&) {
        Console().print(parser.help());
    } catch (const CLI::CallForVersion& version) {
        Console().print(version.what() + std::string("\n"));
    }
}

// Ends the process as the signal would have, without the files that are not finished.
void end_by_signal(int signal)
{
    io::remove_unfinished_files();
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

void remove_unfinished_files_on_signals()
{
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        struct sigaction action {};
        sigaction(signal, nullptr, &action);
        if (action.sa_handler == SIG_IGN) continue;  // nohup
        action = {};
        action.sa_handler = end_by_signal;
        sigaction(signal, &action, nullptr);
    }
}

}  // namespace

int run_program(int count, char** words, const std::function<void(Parser&)>& answer)
{
    spin_briefly_if_busy(words);
    remove_unfinished_files_on_signals();
    Parser parser;
    try {
        answer_or_help(parser, answer);
        return static_cast<int>(ExitCode::ok);
    } catch (const std::exception& error) {
        const bool json = std::any_of(words + 1, words + std::max(count, 1),
                                      [](const char* word) { return std::string_view(word) == "--json"; });
        const Settings& settings = parser.settings();
        return static_cast<int>(
            explain(Console(settings.colour, settings.quiet, settings.stdout_taken), error, json, settings.budget));
    }
}

}  // namespace tulle::cli
