// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Other programs of tulle that this one becomes.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tulle::cli {

// A program beside this one, or where the build tree has it; empty if it was not built.
std::string find_program(const std::string& name);
inline std::string find_bench() { return find_program("tulle-bench"); }

// Becomes a program with these arguments; comes back only by an error.
[[noreturn]] void become(std::string program, std::vector<std::string> arguments);

// The program for the ranks of an MPI job and its arguments, where this process is one of several under mpirun and is
// asked for an operation that works on all of them; else nothing.
struct OnRanks {
    std::string program;  // empty: it was not built
    std::vector<std::string> arguments;
    int ranks = 1, rank = 0;
};
std::optional<OnRanks> on_ranks(const std::vector<std::string>& words);
[[noreturn]] void run_on_ranks(const OnRanks& job);

}  // namespace tulle::cli
