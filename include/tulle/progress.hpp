// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>

#include "tulle/api.hpp"

namespace tulle::inline TULLE_ABI {

// Told how far long work has come, 0 … 1, now and then, from the calling thread. May be empty.
using Progress = std::function<void(double)>;

}  // namespace tulle::inline TULLE_ABI
