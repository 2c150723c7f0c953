// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// How a run of the tool ends: the exit codes, and which error leads to which.
#pragma once

#include <cstddef>
#include <exception>

#include "apps/cli/support/console.hpp"
#include "tulle/error.hpp"
#include "tulle/memory.hpp"

namespace tulle::cli {

enum class ExitCode { ok = 0, check_failed = 1, usage = 2, file = 3, memory = 4, device = 5, internal = 6 };

// A check the user asked for came out badly: validate, --verify.
class CheckFailed : public Error {
public:
    using Error::Error;
};
// The command line asks for something that does not exist or does not fit together.
class UsageError : public Error {
public:
    using Error::Error;
};

// Prints "tulle: <sentence>" and the hint on stderr and says how to exit. The only place that maps errors to codes.
// With `json` and no result printed, stdout gets {"error": {"kind", "message", "hint", "exit_code"}}. `budget` is that
// of --budget: hints name a larger one.
ExitCode explain(const Console& console, const std::exception& error, bool json = false,
                 std::size_t budget = Memory::unlimited);

}  // namespace tulle::cli
