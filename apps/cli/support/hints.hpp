// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The library's hints speak to programmers. On the command line they name options instead of members of C++ structures.
#pragma once

#include <string>
#include <string_view>

namespace tulle::cli {

// The hint as a user of the program can follow it: never with "::" in it, empty where there is nothing to do here.
std::string cli_hint(std::string_view library_hint);

// Whether there are words of our own for it; an unknown hint that names a member is not shown at all.
bool has_translation(std::string_view library_hint);

}  // namespace tulle::cli
