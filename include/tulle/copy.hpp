// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Moving bytes between the host and a queue's memory, and inside it. Order is the queue's order.
#pragma once

#include <cstddef>
#include <cstring>

#include "tulle/buffer.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI {

TULLE_API void copy_bytes(const CpuQueue& q, const void* from, void* to, std::size_t bytes);
TULLE_API void copy_bytes(const CudaQueue& q, const void* from, void* to, std::size_t bytes);  // inside the device
TULLE_API void upload_bytes(const CpuQueue& q, const void* host, void* to, std::size_t bytes);
TULLE_API void upload_bytes(const CudaQueue& q, const void* host, void* to,
                            std::size_t bytes);  // `host` may be reused on return
TULLE_API void download_bytes(const CpuQueue& q, const void* from, void* host, std::size_t bytes);
TULLE_API void download_bytes(const CudaQueue& q, const void* from, void* host, std::size_t bytes);  // waits
TULLE_API void fill_bytes(const CpuQueue& q, void* to, unsigned char value, std::size_t bytes);
TULLE_API void fill_bytes(const CudaQueue& q, void* to, unsigned char value, std::size_t bytes);

template <class Queue, class T>
void copy(const Queue& q, const T* from, T* to, offset_t n)
{
    copy_bytes(q, from, to, static_cast<std::size_t>(n) * sizeof(T));
}

template <class Queue, class T>
void upload(const Queue& q, const T* host, T* to, offset_t n)
{
    upload_bytes(q, host, to, static_cast<std::size_t>(n) * sizeof(T));
}

template <class Queue, class T>
void download(const Queue& q, const T* from, T* host, offset_t n)  // waits
{
    download_bytes(q, from, host, static_cast<std::size_t>(n) * sizeof(T));
}

template <class Queue, class T>
void fill_zero(const Queue& q, T* to, offset_t n)
{
    fill_bytes(q, to, 0, static_cast<std::size_t>(n) * sizeof(T));
}

// One value from a queue's memory; waits.
template <class T, class Queue>
T read_value(const Queue& q, const T* from)
{
    T value;
    download(q, from, &value, 1);
    return value;
}

// A new array on the queue with the contents of a host array.
template <class T, class Queue>
Buffer<T> to_queue(const Queue& q, const T* host, offset_t n)
{
    Buffer<T> there(q, n);
    upload(q, host, there.data(), n);
    return there;
}

}  // namespace tulle::inline TULLE_ABI
