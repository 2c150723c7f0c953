// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "device/placed.hpp"

#include "device/cuda_devices.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"
#include "tulle/version.hpp"

namespace tulle::inline TULLE_ABI {

void ask_placed(const Context& ctx, const void* data, std::size_t size, const void*& known, std::string_view name)
{
    if (size == 0) return;
    require<ValueError>(data != nullptr, [&] {
        return concat(name, " is null, but must have ", size, size == 1 ? " entry" : " entries");
    });
    if constexpr (build::has_cuda) {
        if (ctx.backend() == Backend::cpu) return;
        ctx.run([&](const auto& q) {
            if constexpr (std::is_same_v<std::remove_cvref_t<decltype(q)>, CudaQueue>)
                require<DeviceError>(
                    cuda::is_device_pointer(data, q.device),
                    [&] { return concat(name, " is not in the memory of ", ctx.name()); },
                    "bring it there with tulle::to_device(ctx, …)");
        });
        known = data;
    }
    (void)ctx, (void)data, (void)known, (void)name;
}

}  // namespace tulle::inline TULLE_ABI
