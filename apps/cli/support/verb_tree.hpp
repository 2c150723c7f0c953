// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The verbs and their options as plain data, taken from the parser: what completions and the manual page are made from.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace tulle::cli {

struct OptionEntry {
    std::vector<std::string> names;    // "-o", "--out"; of an argument its placeholder, "MATRIX"
    std::string value;                 // placeholder of its value; empty: a flag
    std::vector<std::string> choices;  // where only some values are possible
    std::string description;
    bool argument = false;  // known by its place, not by a name
};

struct VerbEntry {
    std::string path;  // "tulle run spmv"
    std::string name, description, examples;
    std::vector<std::string> verbs;  // below it
    std::vector<OptionEntry> options;
};

// All verbs, the program itself first, each before those below it; hidden ones are left out.
std::vector<VerbEntry> verb_tree(CLI::App& program);

}  // namespace tulle::cli
