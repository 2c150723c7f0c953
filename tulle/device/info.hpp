// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What GPUs there are, and why there is none.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tulle/base/api.hpp"
#include "tulle/device/queue.hpp"

namespace tulle {

struct GpuInfo {
    std::string name;
    int device = 0;
    int major = 0, minor = 0;                 // compute capability
    int multiprocessors = 0;
    std::size_t bytes = 0;                    // free_bytes({Space::device, device}) tells how many are free
    std::size_t l2_bytes = 0;
    std::size_t shared_bytes_per_block = 0;   // the largest a kernel may ask for
    bool simulated = false;
};

TULLE_API std::vector<GpuInfo> cuda_devices();       // usable ones; empty without a CUDA backend, driver or GPU
TULLE_API std::string why_no_cuda();                 // one sentence; empty when there is a usable GPU

namespace cuda {   // defined by the CUDA backend

// What kernels are chosen by. Asking makes no context on the GPU.
struct DeviceLimits {
    int compute = 0;                                 // compute capability, 90 for 9.0
    int multiprocessors = 0;
    std::size_t block_bytes = 0;                     // shared memory that a block may have
    int cluster_blocks = 1;                          // that can run together; 1: the GPU has no clusters
};

// TULLE_GPU_COMPUTE=80 in the environment hides what GPUs of that compute capability do not have, so that the kernels for them can be tried on a newer one.
DeviceLimits device_limits(int device);

CudaQueue open_queue(int device);                    // with a stream of its own
CudaQueue open_queue(int device, CUstream_st* stream);
std::vector<GpuInfo> list_devices(std::string& why_not);
bool is_device_pointer(const void* data, int device);

}  // namespace cuda
}  // namespace tulle
