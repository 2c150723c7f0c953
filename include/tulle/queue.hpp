// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Where work goes, in order. Steps are overloaded on the queue's type; Context::run hands the right one to a story.
#pragma once

#include <memory>

#include "tulle/api.hpp"
#include "tulle/memory.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI {

// OpenMP threads of this process. Work is done when the call returns.
struct TULLE_API CpuQueue {
    explicit CpuQueue(int threads = 0);  // 0: available_threads(); ValueError below 0 and above most_threads()
    CpuQueue(int threads, std::shared_ptr<Memory> memory);

    int threads;
    std::shared_ptr<Memory> memory;
    offset_t work_per_thread;  // entries, rows or bytes touched that make another thread worth starting;
                               // TULLE_WORK_PER_THREAD

    Place place() const { return {}; }
};

// A stream of one GPU. Work is done when somebody waits for it.
struct TULLE_API CudaQueue {
    CudaQueue(int device, CUstream_st* stream, std::shared_ptr<Memory> memory);

    int device;
    CUstream_st* stream;
    std::shared_ptr<Memory> memory;

    Place place() const { return {Space::device, device, stream}; }
};

// Threads that so much work is worth, one to all of the queue's: starting a second one takes as long as thousands of
// entries (docs/design/spmv.md).
TULLE_API int threads_for(const CpuQueue& q, offset_t work);

inline void synchronize(const CpuQueue&) {}
TULLE_API void synchronize(const CudaQueue& q);

// Host threads this process may use: OMP_NUM_THREADS, or the processors it is allowed to run on; most_threads() at
// most.
TULLE_API int available_threads();

// Threads that a queue may have: eight for every processor but no fewer than 256, and no more than OMP_THREAD_LIMIT.
TULLE_API int most_threads();

}  // namespace tulle::inline TULLE_ABI
