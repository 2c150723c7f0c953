// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// CUB's calling convention in one place: the first call asks how much scratch memory is needed, the second one works.
// The scratch is given back in the queue's order, so nobody waits for it.
#pragma once

#include "device/cuda/runtime.cuh"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::prim {

// call(scratch, bytes) is a CUB function with everything else bound.
template <class F>
void with_scratch(const CudaQueue& q, F&& call)
{
    const cuda::DeviceGuard guard(q.device);
    std::size_t bytes = 0;
    cuda::check(call(nullptr, bytes));
    Buffer<unsigned char> scratch(q, static_cast<offset_t>(bytes));
    cuda::check(call(static_cast<void*>(scratch.data()), bytes));
}

}  // namespace tulle::inline TULLE_ABI::prim
