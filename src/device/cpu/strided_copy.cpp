// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "device/strided_copy.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI {

void copy_lines(const CpuQueue& q, const void* from, void* to, const LineShape& shape)
{
    constexpr std::size_t large = std::size_t{1} << 20;  // bytes: the start of threads does not show
    if (shape.without_gaps()) return copy_bytes(q, from, to, shape.width * shape.lines);
    const auto lines = static_cast<offset_t>(shape.lines);
#pragma omp parallel for num_threads(q.threads) schedule(static) if (shape.width * shape.lines > large)
    for (offset_t line = 0; line < lines; ++line) {
        const auto at = static_cast<std::size_t>(line);
        std::memcpy(static_cast<char*>(to) + at * shape.to_step, static_cast<const char*>(from) + at * shape.from_step,
                    shape.width);
    }
}

void upload_lines(const CpuQueue& q, const void* host, void* to, const LineShape& shape)
{
    copy_lines(q, host, to, shape);
}

void download_lines(const CpuQueue& q, const void* from, void* host, const LineShape& shape)
{
    copy_lines(q, from, host, shape);
}

}  // namespace tulle::inline TULLE_ABI
