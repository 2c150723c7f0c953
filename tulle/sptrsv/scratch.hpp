// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Room on the host for one pass of one thread, or for a copy: the system hands out pages when they are first written to, which takes longer than writing them.
#pragma once

#include "tulle/device/buffer.hpp"

namespace tulle::sptrsv {

// All threads ask for the pages, so that whoever works with them finds them. The first entry of each page is zero, the others are anything.
template <class T>
Buffer<T> touched(const CpuQueue& host, offset_t size)
{
    constexpr offset_t page = 4096 / sizeof(T), worth_sharing = 64 * page;
    Buffer<T> room(host, size);
#pragma omp parallel for num_threads(host.threads) schedule(static) if (size > worth_sharing)
    for (offset_t k = 0; k < size; k += page) room.data()[k] = T{};
    return room;
}

}  // namespace tulle::sptrsv
