// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "tulle/device/queue.hpp"

#include <omp.h>

#include <utility>

#include "tulle/base/error.hpp"
#include "tulle/base/text.hpp"

namespace tulle {

int available_threads() { return omp_get_max_threads(); }

CpuQueue::CpuQueue(int wanted) : CpuQueue(wanted, std::make_shared<Memory>()) {}

CpuQueue::CpuQueue(int wanted, std::shared_ptr<Memory> resource)
    : threads(wanted == 0 ? available_threads() : wanted), memory(std::move(resource))
{
    require<ValueError>(threads > 0, [&] { return concat("a CPU queue needs at least one thread, not ", wanted); });
}

CudaQueue::CudaQueue(int number, CUstream_st* order, std::shared_ptr<Memory> resource) : device(number), stream(order), memory(std::move(resource)) {}

}  // namespace tulle
