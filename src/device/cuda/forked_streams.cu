// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Streams and events are made once and lent out: making them takes longer than many a kernel.
#include "device/cuda/forked_streams.hpp"

#include <mutex>
#include <unordered_map>

#include "device/cuda/runtime.cuh"
#include "device/graph.hpp"

namespace tulle::inline TULLE_ABI::cuda {
namespace {

struct Lent {
    cudaStream_t stream = nullptr;
    cudaEvent_t event = nullptr;
};

std::mutex lending;

// Those of each device that nobody has; never destroyed, so that no other object's end can come too late.
std::unordered_map<int, std::vector<Lent>>& idle()
{
    static auto& all = *new std::unordered_map<int, std::vector<Lent>>;
    return all;
}

// The device must be current.
Lent borrow(int device)
{
    {
        const std::lock_guard lock(lending);
        auto& here = idle()[device];
        if (!here.empty()) {
            const Lent lent = here.back();
            here.pop_back();
            return lent;
        }
    }
    Lent lent;
    check(cudaStreamCreateWithFlags(&lent.stream, cudaStreamNonBlocking));
    check(cudaEventCreateWithFlags(&lent.event, cudaEventDisableTiming));
    return lent;
}

}  // namespace

ForkedStreams::ForkedStreams(const CudaQueue& q, int count) : queues_{q}
{
    if (count == 0) return;
    const DeviceGuard guard(q.device);
    for (int k = 0; k < count; ++k) {
        const Lent lent = borrow(q.device);
        queues_.emplace_back(q.device, lent.stream, q.memory);
        events_.push_back(lent.event);
    }
    check(cudaEventRecord(static_cast<cudaEvent_t>(events_[0]), q.stream));
    for (std::size_t k = 1; k < queues_.size(); ++k)
        check(cudaStreamWaitEvent(queues_[k].stream, static_cast<cudaEvent_t>(events_[0]), 0));
}

// An error of a kernel is told by whoever waits next.
ForkedStreams::~ForkedStreams()
{
    int before = 0;
    (void)cudaGetDevice(&before);
    (void)cudaSetDevice(queues_[0].device);
    for (std::size_t k = 1; k < queues_.size(); ++k) {
        const auto event = static_cast<cudaEvent_t>(events_[k - 1]);
        (void)cudaEventRecord(event, queues_[k].stream);
        (void)cudaStreamWaitEvent(queues_[0].stream, event, 0);
        const std::lock_guard lock(lending);
        idle()[queues_[0].device].push_back({queues_[k].stream, event});
    }
    (void)cudaSetDevice(before);
}

std::shared_ptr<CUstream_st> borrow_stream(int device)
{
    const DeviceGuard guard(device);
    const Lent lent = borrow(device);
    return {lent.stream, [device, lent](CUstream_st*) {
                const std::lock_guard lock(lending);
                idle()[device].push_back(lent);
            }};
}

const CudaQueue& ForkedStreams::next() { return queues_[turn_++ % queues_.size()]; }

}  // namespace tulle::inline TULLE_ABI::cuda
