// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

namespace tulle::cli {

// The program tulle-bench beside this one, or where the build tree has it; empty if it was not built.
std::string find_bench();

}  // namespace tulle::cli
