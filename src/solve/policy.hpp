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

// The same steps for every right-hand side.
bool makes_fixed_steps(const Recipe& recipe);

// A symmetric operator where A is symmetric, as far as the smoothers of multigrid tell.
bool is_symmetric(const Preconditioner& preconditioner);
// Whether a method relies on it.
bool needs_symmetric(Method method);

// Whether its residuals do not rise.
bool minimises_residual(Method method);

// Whether a solver is inside, which waits in every application.
bool has_inner_solver(const Preconditioner& preconditioner);

}  // namespace tulle::inline TULLE_ABI::solve
