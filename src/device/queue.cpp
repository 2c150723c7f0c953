// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "tulle/memory.hpp"

#include <omp.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <utility>

#include "device/work_per_thread.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI {
namespace {

offset_t wanted_work_per_thread()
{
    const char* wish = std::getenv("TULLE_WORK_PER_THREAD");
    if (wish == nullptr) return usual_work_per_thread;
    const std::string_view text = wish;
    offset_t work = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), work);
    require<ValueError>(
        fault == std::errc{} && end == text.data() + text.size() && work > 0,
        [&] { return concat("TULLE_WORK_PER_THREAD is '", text, "'"); }, "give a number above zero");
    return work;
}

}  // namespace

int most_threads()
{
    const unsigned processors = std::min(std::thread::hardware_concurrency(), 1u << 16);
    return std::min(std::max(256, 8 * static_cast<int>(processors)), omp_get_thread_limit());
}

int available_threads() { return std::min(omp_get_max_threads(), most_threads()); }

CpuQueue::CpuQueue(int wanted) : CpuQueue(wanted, std::make_shared<Memory>()) {}

CpuQueue::CpuQueue(int wanted, std::shared_ptr<Memory> resource)
    : threads(wanted == 0 ? available_threads() : wanted),
      memory(std::move(resource)),
      work_per_thread(wanted_work_per_thread())
{
    require<ValueError>(threads > 0, [&] { return concat("a CPU queue needs at least one thread, not ", wanted); });
    require<ValueError>(
        threads <= most_threads(),
        [&] { return concat("a CPU queue can have ", most_threads(), " threads on this machine, not ", wanted); },
        "0 takes as many as there are processors");
}

// Nothing between one and all: libgomp ends the threads that a smaller team has no use for, and the next larger one
// starts them again, which takes milliseconds.
int threads_for(const CpuQueue& q, offset_t work)
{
    constexpr int enough = 4;  // threads' shares of work from which on many threads pay off, too
    return work / q.work_per_thread >= std::min(q.threads, enough) ? q.threads : 1;
}

CudaQueue::CudaQueue(int number, CUstream_st* order, std::shared_ptr<Memory> resource)
    : device(number),
      stream(order),
      memory(std::move(resource))
{}

}  // namespace tulle::inline TULLE_ABI
