// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Somebody who wants to know what is launched.
#pragma once

#include "simt/launch.hpp"

namespace tulle::inline TULLE_ABI::simt {

// Calls `observer` for every launch that was accepted from now on, also one that a graph records; null: nobody. Before
// the first launch.
TULLE_API void observe_launches(void (*observer)(const Launch& launch));

}  // namespace tulle::inline TULLE_ABI::simt
