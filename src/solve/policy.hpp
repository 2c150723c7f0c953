// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "tulle/solve.hpp"

namespace tulle::inline TULLE_ABI::solve {

// ValueError where a number of the recipe is out of range, or what is nested in it does not fit. depth: recipes around
// it.
void check_recipe(const Recipe& recipe, bool is_double, int depth = 0);

// Not the same linear operator in every step.
bool is_flexible(const Preconditioner& preconditioner);

}  // namespace tulle::inline TULLE_ABI::solve
