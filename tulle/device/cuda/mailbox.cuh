// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A number that stands in a queue's memory, into a mailbox: sooner than a copy, which goes through memory of its own.
#pragma once

#include "tulle/device/cuda/kernel.cuh"
#include "tulle/device/cuda/mailbox.hpp"

namespace tulle::cuda {

//   grid: one thread
template <class T>
__global__ void post_kernel(const T* from, T* to)
{
    *to = *from;
}

template <class T>
void post(const CudaQueue& q, const T* from, T* to)
{
    launch(q, {1, 1}, post_kernel<T>, from, to);
}

}  // namespace tulle::cuda
