// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "apps/cli/support/failure.hpp"

#include <array>
#include <new>
#include <string>

#include "apps/cli/support/hints.hpp"
#include "apps/cli/support/json.hpp"

namespace tulle::cli {
namespace {

template <class... E>
bool is_any(const std::exception& error)
{
    return ((dynamic_cast<const E*>(&error) != nullptr) || ...);
}

ExitCode code_of(const std::exception& error)
{
    if (is_any<CheckFailed>(error)) return ExitCode::check_failed;
    if (is_any<UsageError, ShapeError, ValueError>(error)) return ExitCode::usage;
    if (is_any<FileError>(error)) return ExitCode::file;
    if (is_any<OutOfMemory, std::bad_alloc>(error)) return ExitCode::memory;
    if (is_any<DeviceError, NotBuilt>(error)) return ExitCode::device;
    return ExitCode::internal;
}

std::string sentence_of(const std::exception& error)
{
    if (const auto* ours = dynamic_cast<const Error*>(&error)) return ours->message();
    if (is_any<std::bad_alloc>(error)) return "the machine has no memory left";
    return error.what();
}

std::string hint_of(const std::exception& error, ExitCode code, std::size_t budget)
{
    if (const auto* memory = dynamic_cast<const OutOfMemory*>(&error))
        return memory_hint(memory->hint(), memory->needed(), memory->available(), budget);
    if (const auto* ours = dynamic_cast<const Error*>(&error); ours && !ours->hint().empty())
        return cli_hint(ours->hint());
    return code == ExitCode::internal ? "this is a mistake in tulle; please report it with the command that led here"
                                      : "";
}

const char* kind_of(ExitCode code)
{
    constexpr std::array kinds{"ok", "check_failed", "usage", "file", "memory", "device", "internal"};
    return kinds[static_cast<std::size_t>(code)];
}

// A result that says what failed is out already when a check fails; there is one document on stdout, never two.
void print_json(const Console& console, ExitCode code, const std::string& sentence, const std::string& hint)
{
    if (Console::has_printed()) return;
    const Json error{{"kind", kind_of(code)},
                     {"message", sentence},
                     {"hint", hint.empty() ? Json() : Json(hint)},
                     {"exit_code", static_cast<int>(code)}};
    try {
        console.print(Json{{"error", error}}.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
    } catch (const FileError&) {}  // stdout takes nothing: what happened is on stderr, and in the exit code
}

}  // namespace

ExitCode explain(const Console& console, const std::exception& error, bool json, std::size_t budget)
{
    const ExitCode code = code_of(error);
    const std::string sentence = sentence_of(error), hint = hint_of(error, code, budget);
    console.complain(sentence, hint);
    if (json) print_json(console, code, sentence, hint);
    return code;
}

}  // namespace tulle::cli
