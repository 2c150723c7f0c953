// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What GPUs of a compute capability have, as far as kernels are chosen by it. Compute capabilities are written as 80
// for 8.0. From the CUDA C++ Programming Guide, "Compute Capabilities".
#pragma once

#include <array>
#include <cstddef>

#include "tulle/api.hpp"

namespace tulle::inline TULLE_ABI {

// Those that are compiled for and tested on the simulated GPU.
inline constexpr std::array supported_computes{80, 86, 89, 90, 100, 120};

// Shared memory that a block may have, dynamic and static together.
constexpr std::size_t block_bytes_of(int compute)
{
    if (compute >= 120 || compute == 86 || compute == 89) return 99 * 1024;
    return (compute >= 90 ? 227 : 163) * std::size_t{1024};
}

// Blocks that can run together in a cluster; 1: there are no clusters. More than 8 are not portable.
constexpr int cluster_blocks_of(int compute) { return compute < 90 ? 1 : compute < 110 ? 16 : 8; }

}  // namespace tulle::inline TULLE_ABI
