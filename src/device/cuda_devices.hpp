// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What device/cuda defines for contexts: devices and streams.
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "tulle/context.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::cuda {

// What kernels are chosen by. Asking makes no context on the GPU.
struct DeviceLimits {
    int compute = 0;  // compute capability, 90 for 9.0
    int multiprocessors = 0;
    std::size_t block_bytes = 0;  // shared memory that a block may have
    int cluster_blocks = 1;       // that can run together; 1: the GPU has no clusters
};

// TULLE_GPU_COMPUTE=80 in the environment hides what GPUs of that compute capability do not have, so that the kernels
// for them can be tried on a newer one.
DeviceLimits device_limits(int device);

// Those of a context's GPU; none on a CPU.
inline DeviceLimits device_limits(const Context& ctx)
{
    return ctx.run([](const auto& q) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(q)>, CudaQueue>) return device_limits(q.device);
        else return DeviceLimits{};
    });
}

// Whether kernels may begin before the one ahead of them has ended (LaunchShape::early).
inline bool has_dependent_launch(const Context& ctx) { return device_limits(ctx).compute >= 90; }

CudaQueue open_queue(int device);  // with a stream of its own
CudaQueue open_queue(int device, CUstream_st* stream);
// What is queued on `later` from now on begins after what is queued on `earlier` until now.
void order_streams(int device, CUstream_st* earlier, CUstream_st* later);
std::vector<GpuInfo> list_devices(std::string& why_not);
bool is_device_pointer(const void* data, int device);

}  // namespace tulle::inline TULLE_ABI::cuda
