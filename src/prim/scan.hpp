// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "tulle/memory.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::prim {

// begin[0] = 0, begin[i+1] = begin[i] + count[i]; begin has n+1 entries. In place (count == begin) is allowed: count[n]
// is not read.
void exclusive_scan(const CpuQueue& q, const offset_t* count, offset_t* begin, offset_t n);
void exclusive_scan(const CudaQueue& q, const offset_t* count, offset_t* begin, offset_t n);

}  // namespace tulle::inline TULLE_ABI::prim
