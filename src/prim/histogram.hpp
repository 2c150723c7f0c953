// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "tulle/memory.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::prim {

// count[b] = how many of bin[0 … n-1] equal b, for 0 <= b < bins. Every bin[i] must be in range.
void histogram(const CpuQueue& q, const index_t* bin, offset_t n, offset_t* count, index_t bins);
void histogram(const CudaQueue& q, const index_t* bin, offset_t n, offset_t* count, index_t bins);

}  // namespace tulle::inline TULLE_ABI::prim
