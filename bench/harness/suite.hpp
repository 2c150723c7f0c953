// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Which matrices. A suite is a text file: one matrix a line, either a generator's sentence (twin:cant) or a file name,
// which is looked for in the folder TULLE_MATRICES, or in `matrices` in the source tree; "name = file" gives it a
// shorter name, # starts a comment.
#pragma once

#include <string>
#include <vector>

#include "tulle/context.hpp"
#include "tulle/csr.hpp"

namespace tulle::bench {

struct Case {
    std::string name;    // for tables: "twin:cant", "xenon1"
    std::string source;  // sentence or path
    bool generated = false;
};

Case make_case(const std::string& text);  // FileError where no such file exists and it is no sentence either

// In which folder files are looked for, and what to do if there is no such folder; for messages.
std::string where_files_are();

struct Suite {
    std::vector<Case> cases;
    std::vector<std::string> missing;  // files that are not there
};

// `name` is that of a file in bench/suites without its ending, or a path.
Suite read_suite(const std::string& name);

template <class V>
Csr<V> load(const Context& host, const Case& which);

}  // namespace tulle::bench
