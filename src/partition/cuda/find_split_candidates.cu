// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "partition/cutting.hpp"

#include "device/cuda/kernel.cuh"

namespace tulle::inline TULLE_ABI::partition {
namespace {

// One thread per position.      grid: ceil(count / 256)      found: every entry written once
template <class Prefix>
__global__ void find_around_kernel(const Prefix* __restrict__ prefix, offset_t items,
                                   const offset_t* __restrict__ wanted, offset_t count,
                                   SplitCandidate* __restrict__ found)
{
    const offset_t i = global_thread();
    if (i < count) found[i] = around_nth(prefix, items, wanted, count, i);
}

}  // namespace

template <class Prefix>
void find_split_candidates(const CudaQueue& q, const Prefix* prefix, offset_t items, const offset_t* wanted,
                           offset_t count, SplitCandidate* found)
{
    launch(q, one_thread_each(count), find_around_kernel<Prefix>, prefix, items, wanted, count, found);
}

template void find_split_candidates(const CudaQueue&, const offset_t*, offset_t, const offset_t*, offset_t,
                                    SplitCandidate*);
template void find_split_candidates(const CudaQueue&, const index_t*, offset_t, const offset_t*, offset_t,
                                    SplitCandidate*);

}  // namespace tulle::inline TULLE_ABI::partition
