// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What GPUs there are, and why there is none.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tulle/api.hpp"

namespace tulle::inline TULLE_ABI {

struct GpuInfo {
    std::string name;
    int device = 0;
    int major = 0, minor = 0;  // compute capability
    int multiprocessors = 0;
    std::size_t bytes = 0;  // free_bytes({Space::device, device}) tells how many are free
    std::size_t l2_bytes = 0;
    std::size_t shared_bytes_per_block = 0;  // the largest a kernel may ask for
    bool simulated = false;
};

TULLE_API std::vector<GpuInfo> cuda_devices();  // usable ones; empty without a CUDA backend, driver or GPU
TULLE_API std::string why_no_cuda();            // one sentence; empty when there is a usable GPU

}  // namespace tulle::inline TULLE_ABI
