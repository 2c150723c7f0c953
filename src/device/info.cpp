// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "device/cuda_devices.hpp"

#include "tulle/version.hpp"

namespace tulle::inline TULLE_ABI {

std::vector<GpuInfo> cuda_devices()
{
    std::string why;
    if constexpr (build::has_cuda) return cuda::list_devices(why);
    return {};
}

std::string why_no_cuda()
{
    std::string why = "built without the CUDA backend (no nvcc or no GPU when it was configured, or TULLE_CUDA=OFF)";
    if constexpr (build::has_cuda) {
        why.clear();
        if (!cuda::list_devices(why).empty()) why.clear();
    }
    return why;
}

}  // namespace tulle::inline TULLE_ABI
