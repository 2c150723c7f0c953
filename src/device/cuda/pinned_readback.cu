// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "device/cuda/pinned_readback.hpp"

#include <mutex>
#include <vector>

#include "device/cuda/runtime.cuh"

namespace tulle::inline TULLE_ABI::cuda {
namespace {

std::mutex lending;

// Those that nobody has; every device sees them. Given back when the program ends, before the runtime does, which was
// there first.
struct Idle {
    std::vector<void*> pages;
    ~Idle()
    {
        for (void* page : pages) (void)cudaFreeHost(page);
    }
};
std::vector<void*>& idle()
{
    static Idle all;
    return all.pages;
}

void* borrow(int device)
{
    {
        const std::lock_guard lock(lending);
        if (!idle().empty()) {
            void* const page = idle().back();
            idle().pop_back();
            return page;
        }
        idle().reserve(idle().capacity() + 1);  // room for it when it comes back
    }
    const DeviceGuard guard(device);
    void* page = nullptr;
    check(cudaMallocHost(&page, Page::bytes));
    return page;
}

}  // namespace

Page::Page(const CudaQueue& q) : queue_(q), data_(borrow(q.device)) {}

Page::~Page()
{
    if (!waited_) (void)cudaStreamSynchronize(queue_.stream);
    const std::lock_guard lock(lending);
    idle().push_back(data_);
}

void Page::wait()
{
    synchronize(queue_);
    waited_ = true;
}

}  // namespace tulle::inline TULLE_ABI::cuda
