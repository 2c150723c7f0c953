// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The manual page tulle(1), made from the tree of verbs.
#pragma once

#include <string>
#include <vector>

#include "apps/cli/support/verb_tree.hpp"

namespace tulle::cli {

std::string manual_page(const std::vector<VerbEntry>& verbs);

}  // namespace tulle::cli
