// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Moving parts of dense matrices: lines with room between them. What lies between lines is neither read nor written.
#pragma once

#include <cstddef>

#include "tulle/api.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI {

// In bytes; steps are from line to line.
struct LineShape {
    std::size_t width = 0, lines = 0;
    std::size_t from_step = 0, to_step = 0;

    constexpr bool without_gaps() const { return lines <= 1 || (from_step == width && to_step == width); }
};

// As copy_bytes, upload_bytes and download_bytes.
TULLE_API void copy_lines(const CpuQueue& q, const void* from, void* to, const LineShape& shape);
TULLE_API void copy_lines(const CudaQueue& q, const void* from, void* to, const LineShape& shape);  // inside the device
TULLE_API void upload_lines(const CpuQueue& q, const void* host, void* to, const LineShape& shape);
TULLE_API void upload_lines(const CudaQueue& q, const void* host, void* to,
                            const LineShape& shape);  // `host` may be reused on return
TULLE_API void download_lines(const CpuQueue& q, const void* from, void* host, const LineShape& shape);
TULLE_API void download_lines(const CudaQueue& q, const void* from, void* host, const LineShape& shape);  // waits

}  // namespace tulle::inline TULLE_ABI
