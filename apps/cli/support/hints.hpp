// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The library's hints speak to programmers. On the command line they name options instead of members of C++ structures.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tulle::cli {

// The hint as a user of the program can follow it: never with "::" in it, empty where there is nothing to do here.
std::string cli_hint(std::string_view library_hint);

// The same where memory did not suffice: with --budget, what to raise it to; without, the remedies that are left.
std::string memory_hint(std::string_view library_hint, std::size_t needed, std::size_t available, std::size_t budget);

// "raise --chunks to at least 70.4KiB (later steps may need more)": more than `present` in any case.
std::string raise_hint(std::string_view option, std::size_t present, std::size_t needed, std::size_t available);

// Whether there are words of our own for it; an unknown hint that names a member is not shown at all.
bool has_translation(std::string_view library_hint);

}  // namespace tulle::cli
