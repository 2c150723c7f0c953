// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "tulle/context.hpp"

#include "device/cuda_devices.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI {

Context Context::cpu(int threads) { return Context(CpuQueue(threads)); }

Context Context::cuda(int device)
{
    if constexpr (build::has_cuda) return Context(cuda::open_queue(device));
    throw NotBuilt("this build of tulle has no CUDA backend",
                   "configure with -DTULLE_CUDA=ON on a machine with nvcc, or use Context::cpu()");
}

Context Context::cuda(int device, CUstream_st* stream)
{
    if constexpr (build::has_cuda) return Context(cuda::open_queue(device, stream));
    return cuda(device);
}

Context Context::best() { return cuda_devices().empty() ? cpu() : cuda(0); }

Context& Context::budget(std::size_t bytes)
{
    memory().budget(space(), bytes);
    return *this;
}

std::string Context::name() const
{
    if (const auto* q = std::get_if<CudaQueue>(&queue_)) return concat("cuda:", q->device);
    return concat("cpu:", std::get<CpuQueue>(queue_).threads);
}

Memory& Context::memory() const
{
    return *std::visit([](const auto& q) { return q.memory.get(); }, queue_);
}

std::size_t Context::peak_bytes() const { return memory().peak(space()); }

void Context::synchronize() const
{
    run([](const auto& q) { tulle::synchronize(q); });
}

void Context::start_after(CUstream_st* other) const
{
    if constexpr (build::has_cuda) {
        if (const auto* q = std::get_if<CudaQueue>(&queue_)) cuda::order_streams(q->device, other, q->stream);
    }
}

void Context::finish_before(CUstream_st* other) const
{
    if constexpr (build::has_cuda) {
        if (const auto* q = std::get_if<CudaQueue>(&queue_)) cuda::order_streams(q->device, q->stream, other);
    }
}

Context Context::for_work(offset_t work) const
{
    Context smaller = *this;
    if (auto* q = std::get_if<CpuQueue>(&smaller.queue_)) q->threads = threads_for(*q, work);
    return smaller;
}

Context Context::on_stream(CUstream_st* stream) const
{
    Context other = *this;
    if (auto* q = std::get_if<CudaQueue>(&other.queue_)) q->stream = stream;
    return other;
}

CpuQueue Context::host() const
{
    if (const auto* q = std::get_if<CudaQueue>(&queue_)) return {0, q->memory};
    return std::get<CpuQueue>(queue_);
}

}  // namespace tulle::inline TULLE_ABI
