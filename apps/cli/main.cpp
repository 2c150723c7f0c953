// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "apps/cli/verbs.hpp"

int main(int count, char** words) { return tulle::cli::run_tool(count, words); }
