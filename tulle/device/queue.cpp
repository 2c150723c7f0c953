// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "tulle/device/queue.hpp"

#include <omp.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "tulle/base/error.hpp"
#include "tulle/base/text.hpp"

namespace tulle {

int most_threads()
{
    const unsigned processors = std::min(std::thread::hardware_concurrency(), 1u << 16);
    return std::min(std::max(256, 8 * static_cast<int>(processors)), omp_get_thread_limit());
}

int available_threads() { return std::min(omp_get_max_threads(), most_threads()); }

CpuQueue::CpuQueue(int wanted) : CpuQueue(wanted, std::make_shared<Memory>()) {}

CpuQueue::CpuQueue(int wanted, std::shared_ptr<Memory> resource)
    : threads(wanted == 0 ? available_threads() : wanted), memory(std::move(resource))
{
    require<ValueError>(threads > 0, [&] { return concat("a CPU queue needs at least one thread, not ", wanted); });
    require<ValueError>(threads <= most_threads(), [&] { return concat("a CPU queue can have ", most_threads(), " threads on this machine, not ", wanted); },
                        "0 takes as many as there are processors");
}

CudaQueue::CudaQueue(int number, CUstream_st* order, std::shared_ptr<Memory> resource) : device(number), stream(order), memory(std::move(resource)) {}

}  // namespace tulle
