// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What the baselines of cuBLAS need: its errors as ours, and the owner of a handle.
#pragma once

#include <cublas_v2.h>

#include <memory>

#include "bench/cuda/check.hpp"
#include "tulle/memory.hpp"

namespace tulle::bench {

inline void check(cublasStatus_t status, const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    if (status != CUBLAS_STATUS_SUCCESS)
        throw DeviceError(concat(file, ":", line, ": ", cublasGetStatusString(status)));
}

struct CublasEnd {
    void operator()(cublasContext* handle) const { (void)cublasDestroy(handle); }
};
using CublasHandle = std::unique_ptr<cublasContext, CublasEnd>;

// A handle that works on the queue's device and stream.
inline CublasHandle open_cublas(const CudaQueue& q)
{
    check(cudaSetDevice(q.device));
    cublasHandle_t handle = nullptr;
    check(cublasCreate(&handle));
    CublasHandle owner(handle);
    check(cublasSetStream(handle, q.stream));
    return owner;
}

}  // namespace tulle::bench
