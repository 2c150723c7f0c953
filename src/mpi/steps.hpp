// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What a rank does on its own arrays, once per queue.
#pragma once

#include <functional>
#include <memory>

#include "tulle/memory.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::mpi {

// to[k] = from[index[k]] for n groups of `width` consecutive numbers.
template <class V>
void pack(const CpuQueue& q, const V* from, const index_t* index, offset_t n, index_t width, V* to);
template <class V>
void pack(const CudaQueue& q, const V* from, const index_t* index, offset_t n, index_t width, V* to);

// Copies from page-locked memory to the GPU, in the order of the stream, without waiting.
void upload_pinned(const CudaQueue& q, const void* pinned, void* to, std::size_t bytes);

// A place in a stream, and whether the GPU has passed it. The device is made current where needed.
class Mark {
public:
    explicit Mark(int device);
    Mark(const Mark&) = delete;
    Mark& operator=(const Mark&) = delete;
    ~Mark();
    void set(CUstream_st* stream);
    // DeviceError if what was queued failed.
    bool is_passed() const;

private:
    int device_;
    void* event_ = nullptr;
};

// A stream whose kernels begin before those that wait on other streams; destroyed with the last copy.
std::shared_ptr<CUstream_st> open_urgent_stream(int device);

// Calls f with the device current, as NCCL wants it.
void on_device(int device, const std::function<void()>& f);

}  // namespace tulle::inline TULLE_ABI::mpi
