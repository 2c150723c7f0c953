// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "spgemm/team/split_rows.hpp"

#include "device/cuda/kernel.cuh"

namespace tulle::inline TULLE_ABI::spgemm {
namespace {

// One thread per item, and one behind the last.      grid: ceil((items + 1) / 256)      found: every entry written
// once, by the item it falls to
__global__ void scan_around_kernel(const offset_t* __restrict__ prefix, offset_t items, offset_t count,
                                   partition::SplitCandidate* __restrict__ found)
{
    const offset_t item = global_thread();
    if (item > items) return;
    const offset_t total = prefix[items];
    for (offset_t p = 0; p < count; ++p) {
        const offset_t position = partition::fair_position(total, p, count - 1);
        if (begins_at(prefix, items, item, position))
            found[p] = {position, item, item == 0 ? 0 : prefix[item - 1], prefix[item]};
    }
}

}  // namespace

void scan_split_candidates(const CudaQueue& q, const offset_t* prefix, offset_t items, offset_t count,
                           partition::SplitCandidate* found)
{
    launch(q, one_thread_each(items + 1), scan_around_kernel, prefix, items, count, found);
}

}  // namespace tulle::inline TULLE_ABI::spgemm
