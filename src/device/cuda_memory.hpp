// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What the memory resource asks of the CUDA backend; defined in device/cuda/memory.cu.
#pragma once

#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::cuda {

void* allocate_device(const Place& place, std::size_t bytes);  // null when there is none
void release_device(const Place& place, void* data) noexcept;
void* allocate_pinned(std::size_t bytes);  // null when there is none
void release_pinned(void* data) noexcept;
std::size_t free_device_bytes(int device);

}  // namespace tulle::inline TULLE_ABI::cuda
