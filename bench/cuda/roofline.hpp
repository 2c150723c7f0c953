// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The GPU side of bench/operations/roofline.hpp; defined where the CUDA backend is built.
#pragma once

#include <cstdint>

#include "tulle/memory.hpp"
#include "tulle/types.hpp"

namespace tulle::bench {

// Reads all words; `sink` receives something only in a case that never happens, so that the loads are kept. Returns 0,
// at once.
std::uint64_t read_all(const CudaQueue& q, const std::uint64_t* data, offset_t words, std::uint64_t* sink);
void copy_all(const CudaQueue& q, const std::uint64_t* from, std::uint64_t* to, offset_t words);
void launch_nothing(const CudaQueue& q);

}  // namespace tulle::bench
