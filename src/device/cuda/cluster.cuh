// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Neighbouring blocks that run together (LaunchShape::cluster) and reach into each other's shared memory; GPUs since
// sm_90, up to eight blocks everywhere, up to sixteen on those measured here. Elsewhere only clusters of one block can
// be started.
//
//     arrive_in_cluster(), wait_for_cluster()    a barrier of all threads of the cluster, in two halves: what was
//                                                written before the first is
//                                                seen after the second
//     in_cluster(mine, block)                    where the block of that number has what this one has at `mine`; not
//                                                before a first barrier, which
//                                                says that it runs, and not after it may have ended
//     load_in_cluster(mine, block)               a word there that is its own flag (value_flag.cuh), and telling one
//     store_in_cluster(mine, block, value)
#pragma once

#include "device/cuda/value_flag.cuh"

#ifdef TULLE_SIM
namespace tulle::inline TULLE_ABI {

inline void arrive_in_cluster(const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    simt::arrive_in_cluster({file, line});
}
inline void wait_for_cluster(const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    simt::wait_for_cluster({file, line});
}

template <class T>
T* in_cluster(T* mine, int block, const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    return static_cast<T*>(simt::in_cluster(mine, block, {file, line}));
}

template <class T>
T load_in_cluster(T* mine, int block, const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    return load_relaxed(in_cluster(mine, block, file, line), file, line);
}
template <class T>
void store_in_cluster(T* mine, int block, std::type_identity_t<T> value, const char* file = __builtin_FILE(),
                      int line = __builtin_LINE())
{
    store_relaxed(in_cluster(mine, block, file, line), value, file, line);
}

}  // namespace tulle::inline TULLE_ABI
#else
namespace tulle::inline TULLE_ABI {

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

#if __CUDA_ARCH__ >= 900
__device__ inline unsigned cluster_address(const void* mine, int block)
{
    unsigned there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(shared_address(mine)), "r"(block));
    return there;
}
#endif

template <class T>
__device__ inline T load_in_cluster(T* mine, [[maybe_unused]] int block)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8);
#if __CUDA_ARCH__ >= 900
    if constexpr (sizeof(T) == 4) {
        std::uint32_t bits;
        asm volatile("ld.relaxed.cluster.shared::cluster.b32 %0, [%1];"
                     : "=r"(bits)
                     : "r"(cluster_address(mine, block))
                     : "memory");
        return __builtin_bit_cast(T, bits);
    } else {
        std::uint64_t bits;
        asm volatile("ld.relaxed.cluster.shared::cluster.b64 %0, [%1];"
                     : "=l"(bits)
                     : "r"(cluster_address(mine, block))
                     : "memory");
        return __builtin_bit_cast(T, bits);
    }
#else
    return load_shared(mine);
#endif
}

template <class T>
__device__ inline void store_in_cluster(T* mine, [[maybe_unused]] int block, std::type_identity_t<T> value)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8);
#if __CUDA_ARCH__ >= 900
    if constexpr (sizeof(T) == 4)
        asm volatile("st.relaxed.cluster.shared::cluster.b32 [%0], %1;" ::"r"(cluster_address(mine, block)),
                     "r"(__builtin_bit_cast(std::uint32_t, value))
                     : "memory");
    else
        asm volatile("st.relaxed.cluster.shared::cluster.b64 [%0], %1;" ::"r"(cluster_address(mine, block)),
                     "l"(__builtin_bit_cast(std::uint64_t, value))
                     : "memory");
#else
    store_shared(mine, value);
#endif
}

}  // namespace tulle::inline TULLE_ABI
#endif
