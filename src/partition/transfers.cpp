// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "partition/transfers.hpp"

#include <concepts>

namespace tulle::inline TULLE_ABI::partition {
namespace {

// From one kind of queue to another; a GPU sends to host memory in its own order, everything else is in the receiver's.
// Those of a GPU are templates: a build without CUDA makes none of them, optimised or not.
void move(const CpuQueue&, const void* source, const CpuQueue& to, void* target, std::size_t bytes)
{
    copy_bytes(to, source, target, bytes);
}

template <std::same_as<CudaQueue> Gpu>
void move(const CpuQueue&, const void* source, const Gpu& to, void* target, std::size_t bytes)
{
    upload_bytes(to, source, target, bytes);
}

template <std::same_as<CudaQueue> Gpu>
void move(const Gpu& from, const void* source, const CpuQueue&, void* target, std::size_t bytes)
{
    download_bytes(from, source, target, bytes);
}

template <std::same_as<CudaQueue> Gpu>
void move(const Gpu& from, const void* source, const Gpu& to, void* target, std::size_t bytes)
{
    cuda::copy_between(from, source, to, target, bytes);
}

// The same for lines; between two GPUs one by one where there are gaps.
void move(const CpuQueue&, const void* source, const CpuQueue& to, void* target, const LineShape& shape)
{
    copy_lines(to, source, target, shape);
}

template <std::same_as<CudaQueue> Gpu>
void move(const CpuQueue&, const void* source, const Gpu& to, void* target, const LineShape& shape)
{
    upload_lines(to, source, target, shape);
}

template <std::same_as<CudaQueue> Gpu>
void move(const Gpu& from, const void* source, const CpuQueue&, void* target, const LineShape& shape)
{
    download_lines(from, source, target, shape);
}

template <std::same_as<CudaQueue> Gpu>
void move(const Gpu& from, const void* source, const Gpu& to, void* target, const LineShape& shape)
{
    if (from.device == to.device) return copy_lines(to, source, target, shape);
    if (shape.without_gaps()) return move(from, source, to, target, shape.width * shape.lines);
    for (std::size_t line = 0; line < shape.lines; ++line)
        move(from, static_cast<const char*>(source) + line * shape.from_step, to,
             static_cast<char*>(target) + line * shape.to_step, shape.width);
}

}  // namespace

void Transfers::copy_lines_between(const Context& from, const void* source, const Context& to, void* target,
                                   const LineShape& shape)
{
    from.run([&](const auto& sender) {
        to.run([&](const auto& receiver) { move(sender, source, receiver, target, shape); });
    });
}

void Transfers::copy_between(const Context& from, const void* source, const Context& to, void* target,
                             std::size_t bytes)
{
    from.run([&](const auto& sender) {
        to.run([&](const auto& receiver) { move(sender, source, receiver, target, bytes); });
    });
}

void Transfers::reset()
{
    up_ = down_ = across_ = 0;
    copies_ = 0;
}

}  // namespace tulle::inline TULLE_ABI::partition
