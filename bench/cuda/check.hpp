// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cuda_runtime.h>

#include "tulle/error.hpp"
#include "tulle/text.hpp"

namespace tulle::bench {

// DeviceError with the runtime's own words and the caller's place (by the compiler's words for it: clang 14 has no
// std::source_location).
inline void check(cudaError_t status, const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    if (status != cudaSuccess) throw DeviceError(concat(file, ":", line, ": ", cudaGetErrorString(status)));
}

}  // namespace tulle::bench
