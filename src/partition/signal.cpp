// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "partition/signal.hpp"

namespace tulle::inline TULLE_ABI::partition {
namespace {

std::shared_ptr<void> event_for(const CpuQueue&) { return nullptr; }
void set_on(void*, const CpuQueue&) {}

void wait_on([[maybe_unused]] void* event, const CpuQueue&)
{
    if constexpr (build::has_cuda) cuda::finish_event(event);
}

// A build without CUDA does not need these.
[[maybe_unused]] std::shared_ptr<void> event_for(const CudaQueue& q) { return cuda::open_event(q.device); }
[[maybe_unused]] void set_on(void* event, const CudaQueue& q) { cuda::set_event(event, q); }
[[maybe_unused]] void wait_on(void* event, const CudaQueue& q) { cuda::wait_event(event, q); }

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
