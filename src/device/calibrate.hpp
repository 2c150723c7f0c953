// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What measurements of the machine itself need. They take milliseconds at most, and only speed depends on them.
#pragma once

#include "tulle/api.hpp"

namespace tulle::inline TULLE_ABI {

// False where TULLE_CALIBRATE=off forbids measurements: everything is then decided by typical costs.
TULLE_API bool may_calibrate();

// The clock of the calling thread, which stands still while others have the processor.
TULLE_API double thread_seconds();

}  // namespace tulle::inline TULLE_ABI
