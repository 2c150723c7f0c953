// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Completions for shells, made from the tree of verbs.
#pragma once

#include <string>
#include <vector>

#include "apps/cli/support/verb_tree.hpp"

namespace tulle::cli {

// shell: bash, zsh or fish.
std::string completion_for(const std::string& shell, const std::vector<VerbEntry>& verbs);

}  // namespace tulle::cli
