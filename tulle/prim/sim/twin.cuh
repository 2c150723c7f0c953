// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The twins of the CUB files for the simulated GPU, no kinder than these: they work in the queue's order, when somebody waits, and take scratch memory of the
// device, which holds garbage before and after.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "tulle/device/buffer.hpp"
#include "tulle/device/cuda/runtime.cuh"
#include "tulle/simt/launch.hpp"

namespace tulle::prim {

constexpr offset_t scratch_bytes = 767;      // as odd as CUB's are

// Puts `task` on the queue; `pointers` are what it uses of the device's memory.
inline void run_twin(const CudaQueue& q, const char* name, std::vector<const void*> pointers, std::function<void()> task)
{
    const cuda::DeviceGuard guard(q.device);
    Buffer<unsigned char> scratch(q, scratch_bytes);
    unsigned char* const used = scratch.data();
    pointers.push_back(used);
    cuda::check(simt::enqueue_task(q.stream, name, pointers, [task = std::move(task), used] {
        task();
        simt::spoil(used, static_cast<std::size_t>(scratch_bytes));
    }));
}

}  // namespace tulle::prim
