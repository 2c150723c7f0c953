// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The twins of the CUB files for the simulated GPU, no kinder than these: they work in the queue's order, when somebody
// waits, and take scratch memory of the device, which holds garbage before and after.
#pragma once

#include <functional>
#include <vector>

#include "tulle/memory.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::prim {

inline constexpr offset_t scratch_bytes = 767;  // as odd as CUB's are

// Puts `task` on the queue; `pointers` are what it uses of the device's memory.
void run_twin(const CudaQueue& q, const char* name, std::vector<const void*> pointers, std::function<void()> task);

}  // namespace tulle::inline TULLE_ABI::prim
