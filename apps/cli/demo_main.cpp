// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// tulle-demo: `tulle demo` as a program of its own, so that `make demo` builds neither the other verbs nor what they
// call.
#include "apps/cli/verbs/tools/demo.hpp"

int main(int count, char** words) { return tulle::cli::run_demo_program(count, words); }
