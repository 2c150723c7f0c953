// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI {

// CpuQueue::work_per_thread unless the environment says otherwise: about 5 us; a second thread costs 1.3 us where it is
// awake, and far more where it sleeps.
inline constexpr offset_t usual_work_per_thread = 8192;

}  // namespace tulle::inline TULLE_ABI
