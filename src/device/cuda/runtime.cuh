// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The CUDA runtime, real or simulated, and its errors as exceptions. Host code of the CUDA backend includes this.
#pragma once

#include "tulle/version.hpp"

#ifdef TULLE_SIM
#include "simt/cuda_runtime.hpp"
#else
#include <cuda_runtime.h>
#endif

#include "tulle/error.hpp"
#include "tulle/memory.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::cuda {

[[noreturn]] void throw_cuda_error(cudaError_t error, const char* file, int line);

// The caller's line is found by the compiler's own words for it: clang 14 has no std::source_location.
inline void check(cudaError_t error, const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    if (error != cudaSuccess) throw_cuda_error(error, file, line);
}

void check_blocks(offset_t blocks);  // ValueError for a grid that no GPU can start

// Makes a device current while it lives.
class DeviceGuard {
public:
    explicit DeviceGuard(int device);
    ~DeviceGuard();
    DeviceGuard(const DeviceGuard&) = delete;
    DeviceGuard& operator=(const DeviceGuard&) = delete;

private:
    int before_ = 0;
    bool changed_ = false;
};

}  // namespace tulle::inline TULLE_ABI::cuda
