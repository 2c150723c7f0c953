// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "tulle/api.hpp"

namespace tulle::inline TULLE_ABI::matrix {

// The line of describe() about offsets that were widened, but are not kept; beside widened_text() (tulle/outline.hpp).
inline constexpr const char* widened_once =
    "\n  offsets: given in 32 bits, widened to 64 while the plan was made; none are kept";

}  // namespace tulle::inline TULLE_ABI::matrix
