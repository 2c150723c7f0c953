// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Neighbouring blocks that run together (LaunchShape::cluster) and reach into each other's shared memory; GPUs since sm_90, up to eight blocks.
// Elsewhere only clusters of one block can be started.
//
//     arrive_in_cluster(), wait_for_cluster()    a barrier of all threads of the cluster, in two halves: what was written before the first is
//                                                seen after the second
//     in_cluster(mine, block)                    where the block of that number has what this one has at `mine`; not before a first barrier, which
//                                                says that it runs, and not after it may have ended
#pragma once

#include "tulle/device/cuda/kernel.cuh"

#ifdef TULLE_SIM
namespace tulle {

inline void arrive_in_cluster(const char* file = __builtin_FILE(), int line = __builtin_LINE()) { simt::arrive_in_cluster({file, line}); }
inline void wait_for_cluster(const char* file = __builtin_FILE(), int line = __builtin_LINE()) { simt::wait_for_cluster({file, line}); }

template <class T>
T* in_cluster(T* mine, int block, const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    return static_cast<T*>(simt::in_cluster(mine, block, {file, line}));
}

}  // namespace tulle
#else
namespace tulle {

__device__ inline void arrive_in_cluster()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.release;" ::: "memory");
#endif
}

__device__ inline void wait_for_cluster()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
#else
    __syncthreads();
#endif
}

template <class T>
__device__ inline T* in_cluster(T* mine, [[maybe_unused]] int block)
{
#if __CUDA_ARCH__ >= 900
    std::uint64_t there;
    asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(mine), "r"(block));
    return reinterpret_cast<T*>(there);
#else
    return mine;
#endif
}

}  // namespace tulle
#endif
