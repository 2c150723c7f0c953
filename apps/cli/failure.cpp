// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "apps/cli/failure.hpp"

#include <new>
#include <string>

#include "apps/cli/hints.hpp"

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

std::string hint_of(const std::exception& error, ExitCode code)
{
    if (const auto* ours = dynamic_cast<const Error*>(&error); ours && !ours->hint().empty()) return cli_hint(ours->hint());
    return code == ExitCode::internal ? "this is a mistake in tulle; please report it with the command that led here" : "";
}

}  // namespace

ExitCode explain(const Console& console, const std::exception& error)
{
    const ExitCode code = code_of(error);
    console.complain(sentence_of(error), hint_of(error, code));
    return code;
}

}  // namespace tulle::cli
