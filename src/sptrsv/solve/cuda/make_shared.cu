// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "base/math.hpp"
#include "device/cuda_devices.hpp"
#include "sptrsv/solve/cuda/waiting.cuh"
#include "tulle/context.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {

int multiprocessors(const CudaQueue& q) { return cuda::device_limits(q.device).multiprocessors; }

Limits limits_on(const CudaQueue& q, const Limits& limits)
{
    const cuda::DeviceLimits device = cuda::device_limits(q.device);
    Limits here = limits;
    here.multiprocessors = device.multiprocessors;
    here.block_bytes = device.block_bytes;
    here.cluster_blocks = std::min(here.cluster_blocks, device.cluster_blocks);
    while (here.cluster_blocks > here.multiprocessors) here.cluster_blocks /= 2;
    return here;
}

template <class V>
SolveScratch<V> make_shared(const CudaQueue& q, offset_t unknowns, offset_t tasks, int warps, int team)
{
    const offset_t wanted = std::min(tasks, std::max<offset_t>(1, offset_t{multiprocessors(q)} * warps / team));
    SolveScratch<V> s{.unknown = Buffer<V>(q, 2 * unknowns),
                      .turns = Buffer<TicketState>(q, 1),
                      .half = unknowns,
                      .takers = static_cast<int>(round_up(wanted, offset_t{warps_per_block / team}))};
    fill_bytes(q, s.unknown.data(), 0xff, s.unknown.bytes());
    fill_zero(q, s.turns.data(), 1);
    return s;
}

template <class V>
SolveScratch<V> make_shared(const CudaQueue& q, index_t unknowns, const Policy& s)
{
    const int blocks = blocks_of(s);
    SolveScratch<V> shared{.unknown = {},
                           .turns = Buffer<TicketState>(q, 1),
                           .half = unknowns_of_a_block(s, unknowns),
                           .takers = blocks * s.warps / s.team,
                           .execution_scope = s.execution_scope,
                           .blocks = blocks};
    fill_zero(q, shared.turns.data(), 1);
    return shared;
}

template SolveScratch<float> make_shared(const CudaQueue&, index_t, const Policy&);
template SolveScratch<double> make_shared(const CudaQueue&, index_t, const Policy&);
template SolveScratch<float> make_shared(const CudaQueue&, offset_t, offset_t, int, int);
template SolveScratch<double> make_shared(const CudaQueue&, offset_t, offset_t, int, int);

}  // namespace tulle::inline TULLE_ABI::sptrsv
