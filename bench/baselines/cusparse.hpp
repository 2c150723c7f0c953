// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What all baselines of cuSPARSE need: its errors as ours, and owners of what it creates.
#pragma once

#include <cusparse.h>

#include <memory>

#include "bench/baselines/cuda_type.hpp"
#include "bench/cuda/check.hpp"
#include "tulle/memory.hpp"

namespace tulle::bench {

// Beside check(cudaError_t), in the same namespace, so that neither hides the other.
inline void check(cusparseStatus_t status, const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    if (status != CUSPARSE_STATUS_SUCCESS)
        throw DeviceError(concat(file, ":", line, ": ", cusparseGetErrorString(status)));
}

// Frees what a cusparseCreate… call made.
template <auto Destroy>
struct Destroyer {
    template <class T>
    void operator()(T* object) const
    {
        (void)Destroy(object);
    }
};

using CusparseHandle = std::unique_ptr<cusparseContext, Destroyer<cusparseDestroy>>;

// A handle that works on the queue's device and stream.
inline CusparseHandle open_cusparse(const CudaQueue& q)
{
    check(cudaSetDevice(q.device));
    cusparseHandle_t handle = nullptr;
    check(cusparseCreate(&handle));
    CusparseHandle owner(handle);
    check(cusparseSetStream(handle, q.stream));
    return owner;
}

}  // namespace tulle::bench
