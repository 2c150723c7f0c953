// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The exit codes of the command line tool: 1 a wrong result, 2 usage, 3 file, 4 memory, 5 device, 6 anything else.
#pragma once

#include <exception>
#include <new>
#include <string>
#include <system_error>

#include "apps/cli/support/failure.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"

namespace tulle::bench {

inline int exit_code(const std::exception& fault)
{
    if (dynamic_cast<const FileError*>(&fault) || dynamic_cast<const std::system_error*>(&fault))
        return 3;  // fmt: a stream that takes nothing
    if (dynamic_cast<const OutOfMemory*>(&fault) || dynamic_cast<const std::bad_alloc*>(&fault)) return 4;
    if (dynamic_cast<const DeviceError*>(&fault) || dynamic_cast<const NotBuilt*>(&fault)) return 5;
    return dynamic_cast<const ValueError*>(&fault) || dynamic_cast<const ShapeError*>(&fault) ||
                   dynamic_cast<const cli::UsageError*>(&fault)
               ? 2
               : 6;
}

// What is told of a fault. Hints of the library that name members of C++ structures are for programs, not for this one.
inline std::string text_of(const std::exception& fault)
{
    const auto* ours = dynamic_cast<const Error*>(&fault);
    if (!ours) return fault.what();
    const bool helps = !ours->hint().empty() && ours->hint().find("::") == std::string::npos;
    return helps ? concat(ours->message(), "\n  hint: ", ours->hint()) : ours->message();
}

}  // namespace tulle::bench
