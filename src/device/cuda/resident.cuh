// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Threads that a multiprocessor has room for on the architecture that is compiled for (CUDA C++ Programming Guide,
// "Compute Capabilities"): for launch bounds that ask for as many blocks as fit.
#pragma once

#include "tulle/api.hpp"

namespace tulle::inline TULLE_ABI {

#if defined(__CUDA_ARCH__) && \
    (__CUDA_ARCH__ == 860 || __CUDA_ARCH__ == 870 || __CUDA_ARCH__ == 890 || __CUDA_ARCH__ >= 1200)
inline constexpr int multiprocessor_threads = 1536;
#else
inline constexpr int multiprocessor_threads = 2048;
#endif

}  // namespace tulle::inline TULLE_ABI
