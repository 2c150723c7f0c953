// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Running sums of few numbers: one launch and no scratch memory, where a scan of any length takes two and an
// allocation.
#pragma once

#include "tulle/memory.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::prim {

inline constexpr offset_t few_to_scan =
    1 << 15;  // one multiprocessor reads and writes so many while two launches begin (reasoned)

// exclusive_scan() for n up to few_to_scan.
void scan_few(const CudaQueue& q, const offset_t* count, offset_t* begin, offset_t n);

}  // namespace tulle::inline TULLE_ABI::prim
