// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What can be said of the words of a command line before CLI11 reads them: verbs and options that do not exist, with
// the one that was probably meant; options without their value. And the checks of single values, with readable
// messages.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace tulle::cli {

// Throws UsageError for an unknown verb or option and for an option without its value ("--out --quiet"). Returns the
// verb that was named.
const CLI::App& check_arguments(const CLI::App& program, const std::vector<std::string>& words);

std::string path_of(const CLI::App& verb);       // "tulle run spmv"
std::string help_command(const CLI::App& verb);  // "tulle run spmv --help"

// Values that one_of() allows for an option; empty where others are possible.
std::vector<std::string> choices_of(CLI::Option& option);
CLI::Validator one_of(const std::vector<std::string>& names);
CLI::Validator finite();                                // a finite number
CLI::Validator positive();                              // a number greater than zero
CLI::Validator from_zero();                             // zero or a number greater than that
CLI::Validator from_to(double least, double greatest);  // a number in this range; like the others, never nan
CLI::Validator seed_number();                           // a whole number from 0 to 2^64 - 1
CLI::Validator memory_amount();                         // 512MiB

}  // namespace tulle::cli
