// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cuda_runtime.h>

#include <source_location>

#include "tulle/base/error.hpp"
#include "tulle/base/text.hpp"

namespace tulle::bench {

// DeviceError with the runtime's own words and the place.
inline void check(cudaError_t status, const std::source_location& at = std::source_location::current())
{
    if (status != cudaSuccess) throw DeviceError(concat(at.file_name(), ":", at.line(), ": ", cudaGetErrorString(status)));
}

}  // namespace tulle::bench
