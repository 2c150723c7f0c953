// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A rule of the GPU was broken. The text names kernel, block, thread, place and seed.
#pragma once

#include <stdexcept>
#include <string>

#include "tulle/api.hpp"

namespace tulle::inline TULLE_ABI::simt {

struct Fault : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// "tulle::spmv::multiply_rows<4, float>" for the address of a kernel, from the symbol table of the program.
std::string kernel_name(const void* function);

struct Launch;
std::string name_of(const Launch& launch);  // "kernel f<3>"

// "tests/simt/warp.cpp" for a path that depends on where the sources are.
std::string short_path(const char* file);

// Prints whereabouts when a sanitizer or a signal ends the program inside a kernel.
void explain_crashes();

}  // namespace tulle::inline TULLE_ABI::simt
