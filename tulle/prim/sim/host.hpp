// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The twins of the CUB files for the simulated GPU: its memory is ordinary memory, so the CPU's implementation works on it, once
// everything queued before has run.
#pragma once

#include "tulle/device/queue.hpp"

namespace tulle::prim {

inline CpuQueue host_after(const CudaQueue& q)
{
    synchronize(q);
    return CpuQueue(1, q.memory);
}

}  // namespace tulle::prim
