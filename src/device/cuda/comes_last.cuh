// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The last of several slices of lanes, of any blocks, to leave a partial result: it adds them up.
#pragma once

#include "device/cuda/kernel.cuh"

namespace tulle::inline TULLE_ABI {

// Counts a slice in, which has left its part. True for the last of so many to come: it sees what all have left, and the
// counter is ready for the next run.
template <int Lanes>
__device__ inline bool comes_last(int* arrived, int slices)
{
    const unsigned lane = threadIdx.x % 32, mine = (0xffffffffu >> (32 - Lanes)) << (lane / Lanes * Lanes);
    __syncwarp(mine);
    int before = 0;
    if (lane % Lanes == 0) {
        before = arrive(arrived);
        if (before == slices - 1) *arrived = 0;
    }
    before = __shfl_sync(mine, before, 0, Lanes);
    __syncwarp(mine);
    return before == slices - 1;
}

}  // namespace tulle::inline TULLE_ABI
