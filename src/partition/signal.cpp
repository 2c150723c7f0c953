// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "partition/signal.hpp"

#include <concepts>

namespace tulle::inline TULLE_ABI::partition {
namespace {

std::shared_ptr<void> event_for(const CpuQueue&) { return nullptr; }
void set_on(void*, const CpuQueue&) {}

void wait_on([[maybe_unused]] void* event, const CpuQueue&)
{
    if constexpr (build::has_cuda) cuda::finish_event(event);
}

// Templates: a build without CUDA makes none of them, optimised or not.
template <std::same_as<CudaQueue> Gpu>
std::shared_ptr<void> event_for(const Gpu& q)
{
    return cuda::open_event(q.device);
}
template <std::same_as<CudaQueue> Gpu>
void set_on(void* event, const Gpu& q)
{
    cuda::set_event(event, q);
}
template <std::same_as<CudaQueue> Gpu>
void wait_on(void* event, const Gpu& q)
{
    cuda::wait_event(event, q);
}

}  // namespace

Signal::Signal(const Context& ctx) : event_(ctx.run([](const auto& q) { return event_for(q); })) {}

void Signal::set(const Context& ctx)
{
    if (event_) ctx.run([&](const auto& q) { set_on(event_.get(), q); });
}

void Signal::wait(const Context& ctx) const
{
    if (event_) ctx.run([&](const auto& q) { wait_on(event_.get(), q); });
}

}  // namespace tulle::inline TULLE_ABI::partition
