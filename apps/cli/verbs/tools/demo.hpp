// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace tulle::cli {

// The tool with the verb `demo` alone, which may be left out: the program tulle-demo.
int run_demo_program(int count, char** words);

}  // namespace tulle::cli
