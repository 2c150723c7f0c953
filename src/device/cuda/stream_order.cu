// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// One stream after another, by an event: the host does not wait. An event may be recorded again while a stream still
// waits for what it meant before, so that one for each device and thread is enough.
#include <unordered_map>

#include "device/cuda/runtime.cuh"
#include "device/cuda_devices.hpp"

namespace tulle::inline TULLE_ABI::cuda {
namespace {

// The device must be current. Never destroyed: the driver may be gone when a thread ends.
cudaEvent_t event_of(int device)
{
    thread_local auto* const events = new std::unordered_map<int, cudaEvent_t>;
    cudaEvent_t& event = (*events)[device];
    if (!event) check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    return event;
}

}  // namespace

void order_streams(int device, CUstream_st* earlier, CUstream_st* later)
{
    if (earlier == later) return;
    const DeviceGuard guard(device);
    const cudaEvent_t event = event_of(device);
    check(cudaEventRecord(event, earlier));
    check(cudaStreamWaitEvent(later, event, 0));
}

}  // namespace tulle::inline TULLE_ABI::cuda
