// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Places in a stream that the host can ask about without waiting, and a stream that goes before others.
#include "device/cuda/runtime.cuh"
#include "mpi/steps.hpp"

namespace tulle::inline TULLE_ABI::mpi {
namespace {

cudaEvent_t of(void* event) { return static_cast<cudaEvent_t>(event); }

}  // namespace

Mark::Mark(int device) : device_(device)
{
    const cuda::DeviceGuard guard(device);
    cudaEvent_t event = nullptr;
    cuda::check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    event_ = event;
}

Mark::~Mark() { (void)cudaEventDestroy(of(event_)); }

void Mark::set(CUstream_st* stream)
{
    const cuda::DeviceGuard guard(device_);
    cuda::check(cudaEventRecord(of(event_), stream));
}

bool Mark::is_passed() const
{
    const cuda::DeviceGuard guard(device_);
    const cudaError_t state = cudaEventQuery(of(event_));
    if (state != cudaErrorNotReady) cuda::check(state);
    else (void)cudaGetLastError();  // or the next launch would report it
    return state == cudaSuccess;
}

std::shared_ptr<CUstream_st> open_urgent_stream(int device)
{
    constexpr int most_urgent = -1000;  // CUDA takes the nearest that the device has
    const cuda::DeviceGuard guard(device);
    cudaStream_t stream = nullptr;
    cuda::check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, most_urgent));
    return {stream, [](CUstream_st* s) { (void)cudaStreamDestroy(s); }};
}

void on_device(int device, const std::function<void()>& f)
{
    const cuda::DeviceGuard guard(device);
    f();
}

}  // namespace tulle::inline TULLE_ABI::mpi
