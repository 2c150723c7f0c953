// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>

#include "tulle/solve.hpp"

namespace tulle::inline TULLE_ABI::solve {

// The method to go on with where the chosen one failed for this reason; none where there is no better one.
std::optional<Method> fallback_of(Method method, Reason reason);

// ValueError where a number of the recipe is out of range.
void check_recipe(const Recipe& recipe, bool is_double);

}  // namespace tulle::inline TULLE_ABI::solve
