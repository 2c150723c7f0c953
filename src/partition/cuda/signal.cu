// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "partition/signal.hpp"

#include "device/cuda/runtime.cuh"

namespace tulle::inline TULLE_ABI::partition::cuda {

using tulle::cuda::check;
using tulle::cuda::DeviceGuard;

std::shared_ptr<void> open_event(int device)
{
    const DeviceGuard guard(device);
    cudaEvent_t event = nullptr;
    check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    return {event, [](void* e) { (void)cudaEventDestroy(static_cast<cudaEvent_t>(e)); }};
}

void set_event(void* event, const CudaQueue& q)
{
    const DeviceGuard guard(q.device);
    check(cudaEventRecord(static_cast<cudaEvent_t>(event), q.stream));
}

void wait_event(void* event, const CudaQueue& q)
{
    const DeviceGuard guard(q.device);
    check(cudaStreamWaitEvent(q.stream, static_cast<cudaEvent_t>(event), 0));
}

void finish_event(void* event) { check(cudaEventSynchronize(static_cast<cudaEvent_t>(event))); }

}  // namespace tulle::inline TULLE_ABI::partition::cuda
