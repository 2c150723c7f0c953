// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Shared memory of a block differs between GPUs: tables and windows that not every GPU has room for are replaced at the
// launch.
#pragma once

#include <algorithm>

#include "base/math.hpp"
#include "device/cuda_devices.hpp"
#include "tulle/context.hpp"

namespace tulle::inline TULLE_ABI::spgemm {

// What every supported GPU gives a block (base/compute.hpp), less what kernels declare themselves.
inline constexpr std::size_t static_bytes = 256, smallest_block_bytes = 99 * 1024 - static_bytes;

inline bool fits_block(const CudaQueue& q, std::size_t bytes)
{
    return bytes + static_bytes <= cuda::device_limits(q.device).block_bytes;
}

// Columns whose bits a block keeps in one round: all, `most`, or as many as it has room for.
inline index_t bitmap_columns(const CudaQueue& q, index_t cols, index_t most)
{
    const auto room =
        static_cast<offset_t>((cuda::device_limits(q.device).block_bytes - static_bytes) / sizeof(unsigned)) * 32;
    return static_cast<index_t>(std::min({offset_t{most}, round_up(offset_t{cols}, offset_t{32}), room}));
}

}  // namespace tulle::inline TULLE_ABI::spgemm
