// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Copies of lines with room between them: the runtime's own, or one a line where steps are longer than it takes.
#include "device/cuda/runtime.cuh"

#include <algorithm>
#include <limits>

#include "device/strided_copy.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI {
namespace {

constexpr std::size_t longest_step =
    std::numeric_limits<int>::max();  // cudaDeviceProp::memPitch of every device so far

void move_lines(const CudaQueue& q, const void* from, void* to, const LineShape& s, cudaMemcpyKind kind)
{
    const cuda::DeviceGuard guard(q.device);
    if (std::max(s.from_step, s.to_step) <= longest_step)
        return cuda::check(cudaMemcpy2DAsync(to, s.to_step, from, s.from_step, s.width, s.lines, kind, q.stream));
    for (std::size_t line = 0; line < s.lines; ++line)
        cuda::check(cudaMemcpyAsync(static_cast<char*>(to) + line * s.to_step,
                                    static_cast<const char*>(from) + line * s.from_step, s.width, kind, q.stream));
}

}  // namespace

void copy_lines(const CudaQueue& q, const void* from, void* to, const LineShape& shape)
{
    if (shape.without_gaps()) return copy_bytes(q, from, to, shape.width * shape.lines);
    move_lines(q, from, to, shape, cudaMemcpyDeviceToDevice);
}

void upload_lines(const CudaQueue& q, const void* host, void* to, const LineShape& shape)
{
    if (shape.without_gaps()) return upload_bytes(q, host, to, shape.width * shape.lines);
    move_lines(q, host, to, shape, cudaMemcpyHostToDevice);
    synchronize(q);
}

void download_lines(const CudaQueue& q, const void* from, void* host, const LineShape& shape)
{
    if (shape.without_gaps()) return download_bytes(q, from, host, shape.width * shape.lines);
    move_lines(q, from, host, shape, cudaMemcpyDeviceToHost);
    synchronize(q);
}

}  // namespace tulle::inline TULLE_ABI
