// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "partition/transfers.hpp"

#include "device/cuda/runtime.cuh"

namespace tulle::inline TULLE_ABI::partition::cuda {

// Direct where the devices are linked, through the host by the driver where they are not.
void copy_between(const CudaQueue& from, const void* source, const CudaQueue& to, void* target, std::size_t bytes)
{
    const tulle::cuda::DeviceGuard guard(to.device);
    if (from.device == to.device)
        tulle::cuda::check(cudaMemcpyAsync(target, source, bytes, cudaMemcpyDeviceToDevice, to.stream));
    else tulle::cuda::check(cudaMemcpyPeerAsync(target, to.device, source, from.device, bytes, to.stream));
}

}  // namespace tulle::inline TULLE_ABI::partition::cuda
