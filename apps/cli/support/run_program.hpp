// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What main() of the tool does from its first line to the exit code, but for the verbs.
#pragma once

#include <functional>

namespace tulle::cli {

class Parser;

// Calls `answer`, which adds verbs and runs the one that was asked for. Help and errors are printed here: results go to
// stdout, talk to stderr. The exit code: see failure.hpp. A signal leaves no unfinished file behind.
int run_program(int count, char** words, const std::function<void(Parser&)>& answer);

}  // namespace tulle::cli
