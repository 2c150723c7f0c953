// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "tulle/solve.hpp"

namespace tulle::inline TULLE_ABI::solve {

// ValueError where a number of the recipe is out of range.
void check_recipe(const Recipe& recipe, bool is_double);

}  // namespace tulle::inline TULLE_ABI::solve
