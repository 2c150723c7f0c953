// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "prim/sim/twin.hpp"

#include <cstddef>
#include <utility>

#include "device/cuda/runtime.cuh"
#include "simt/launch.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::prim {

void run_twin(const CudaQueue& q, const char* name, std::vector<const void*> pointers, std::function<void()> task)
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

}  // namespace tulle::inline TULLE_ABI::prim
