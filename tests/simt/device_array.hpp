// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// For tests with kernels of their own: arrays on a device, and kernels run to their end.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "device/cuda/kernel.cuh"
#include "device/cuda_devices.hpp"
#include "tulle/memory.hpp"

namespace tulle::test {

// The one queue of such tests on a device; it ends with the program.
inline const CudaQueue& queue_of(int device)
{
    static auto& queues = *new std::map<int, CudaQueue>;
    const auto found = queues.find(device);
    return found != queues.end() ? found->second : queues.emplace(device, cuda::open_queue(device)).first->second;
}

// An array on a device, on the tests' queue or on another.
template <class T>
class DeviceArray {
public:
    DeviceArray(std::size_t size, const CudaQueue& q) : queue_(q), buffer_(queue_, static_cast<offset_t>(size))
    {
        synchronize(queue_);  // other streams may use it from now on
    }
    explicit DeviceArray(std::size_t size, int device = 0) : DeviceArray(size, queue_of(device)) {}
    explicit DeviceArray(const std::vector<T>& values, int device = 0) : DeviceArray(values, queue_of(device)) {}
    DeviceArray(const std::vector<T>& values, const CudaQueue& q) : DeviceArray(values.size(), q)
    {
        upload(queue_, values.data(), buffer_.data(), buffer_.size());
    }

    T* data() { return buffer_.data(); }
    std::vector<T> to_host() const
    {
        std::vector<T> values(static_cast<std::size_t>(buffer_.size()));
        download(queue_, buffer_.data(), values.data(), buffer_.size());
        return values;
    }
    const CudaQueue& queue() const { return queue_; }

private:
    CudaQueue queue_;
    Buffer<T> buffer_;
};

// Runs a kernel on device 0 to its end; DeviceError when it breaks a rule.
template <class... P, class... A>
void run(offset_t blocks, int threads, std::size_t shared_bytes, void (*kernel)(P...), A&&... args)
{
    const CudaQueue& q = queue_of(0);
    launch(q, {blocks, threads, shared_bytes}, kernel, std::forward<A>(args)...);
    synchronize(q);
}

}  // namespace tulle::test
