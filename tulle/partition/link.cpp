// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "tulle/partition/link.hpp"

namespace tulle::partition {
namespace {

// From one kind of queue to another; a GPU sends to host memory in its own order, everything else is in the receiver's. A build without
// CUDA needs only the first.
void move(const CpuQueue&, const void* source, const CpuQueue& to, void* target, std::size_t bytes) { copy_bytes(to, source, target, bytes); }

[[maybe_unused]] void move(const CpuQueue&, const void* source, const CudaQueue& to, void* target, std::size_t bytes)
{
    upload_bytes(to, source, target, bytes);
}

[[maybe_unused]] void move(const CudaQueue& from, const void* source, const CpuQueue&, void* target, std::size_t bytes)
{
    download_bytes(from, source, target, bytes);
}

[[maybe_unused]] void move(const CudaQueue& from, const void* source, const CudaQueue& to, void* target, std::size_t bytes)
{
    cuda::copy_between(from, source, to, target, bytes);
}

}  // namespace

void Link::copy_between(const Context& from, const void* source, const Context& to, void* target, std::size_t bytes)
{
    from.run([&](const auto& sender) { to.run([&](const auto& receiver) { move(sender, source, receiver, target, bytes); }); });
}

void Link::reset()
{
    up_ = down_ = across_ = 0;
    messages_ = 0;
}

}  // namespace tulle::partition
