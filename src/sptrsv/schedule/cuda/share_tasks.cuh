// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Tasks dealt out to the warps of a block: each takes a small one of its own, and all of them share the large ones.
#pragma once

#include "device/cuda/kernel.cuh"
#include "sptrsv/schedule/tasks.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {

constexpr int sharers = 4;              // warps of a block
constexpr offset_t large_task = 256;    // places for entries
constexpr offset_t mostly_large = 128;  // places of a task, in the mean: each gets a block

// How many tasks a block has, of so many with so many places.
constexpr int tasks_of_block(offset_t tasks, offset_t places) { return places >= tasks * mostly_large ? 1 : sharers; }
constexpr LaunchShape shape_for(offset_t tasks, int of_block)
{
    return {(tasks + of_block - 1) / of_block, sharers * lanes};
}

// work(task, member, members) for this warp's own task, and for those that it shares with the others of its block.
// places(task): how many it has.
template <class Places, class Work>
__device__ void share_tasks(offset_t tasks, int of_block, Places&& places, Work&& work)
{
    const int lane = static_cast<int>(threadIdx.x) % lanes, warp = static_cast<int>(threadIdx.x) / lanes;
    const offset_t first = offset_t{blockIdx.x} * of_block;
    const bool there = lane < of_block && first + lane < tasks;
    const unsigned all = __ballot_sync(0xffffffffu, there),
                   large = __ballot_sync(0xffffffffu, there && places(first + lane) > large_task);
    for (unsigned left = (all & 1u << warp) | large; left != 0; left &= left - 1) {
        const int which = __ffs(static_cast<int>(left)) - 1;
        const bool shared = (large >> which & 1) != 0;
        work(first + which, shared ? warp : 0, shared ? sharers : 1);
    }
}

}  // namespace tulle::inline TULLE_ABI::sptrsv
