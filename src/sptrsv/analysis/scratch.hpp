// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Room on the host for one pass of one thread, or for a copy: the system hands out pages when they are first written
// to, which takes longer than writing them.
#pragma once

#include <cstddef>

#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {

// Where there are many pages all threads ask for them, so that whoever works with them finds them. A byte of each page
// may become zero.
void touch(const CpuQueue& host, void* data, std::size_t bytes);

template <class T>
Buffer<T> touched(const CpuQueue& host, offset_t size)
{
    Buffer<T> room(host, size);
    touch(host, room.data(), room.bytes());
    return room;
}

}  // namespace tulle::inline TULLE_ABI::sptrsv
