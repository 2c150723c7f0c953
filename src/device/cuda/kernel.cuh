// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Everything a kernel needs, with the same names on a real GPU and in the simulator: launch(), shared memory, flags
// between blocks, reductions over a slice of a warp. Files with kernels include this instead of CUDA headers.
#pragma once

#include "device/cuda/runtime.cuh"

#include <cstdint>
#include <limits>
#include <utility>

#include "tulle/error.hpp"
#include "tulle/text.hpp"
#include "tulle/types.hpp"

#ifdef TULLE_SIM
// Declares the same names for the simulated GPU: TULLE_SHARED, TULLE_DYNAMIC_SHARED, load_acquire, store_release,
// load_relaxed, arrive, named_barrier_sync, load_streaming, simt::enqueue.
#include "simt/kernel.hpp"
#else
// Shared memory of a block. `TULLE_SHARED(int, key, 256);` declares int key[256]; the dynamic form takes the launch's
// shared_bytes.
#define TULLE_SHARED(T, name, count) __shared__ T name[count]
#define TULLE_DYNAMIC_SHARED(T, name)                                     \
    extern __shared__ __align__(16) unsigned char tulle_dynamic_shared[]; \
    T* name = reinterpret_cast<T*>(tulle_dynamic_shared)

namespace tulle::inline TULLE_ABI {

// Flags between blocks: what was written before store_release is seen after load_acquire has read the flag. 32 or 64
// bits.
template <class T>
__device__ inline T load_acquire(const T* from)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8);
    if constexpr (sizeof(T) == 4) {
        std::uint32_t bits;
        asm volatile("ld.acquire.gpu.global.b32 %0, [%1];" : "=r"(bits) : "l"(from) : "memory");
        return __builtin_bit_cast(T, bits);
    } else {
        std::uint64_t bits;
        asm volatile("ld.acquire.gpu.global.b64 %0, [%1];" : "=l"(bits) : "l"(from) : "memory");
        return __builtin_bit_cast(T, bits);
    }
}

template <class T>
__device__ inline T load_relaxed(const T* from)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8);
    if constexpr (sizeof(T) == 4) {
        std::uint32_t bits;
        asm volatile("ld.relaxed.gpu.global.b32 %0, [%1];" : "=r"(bits) : "l"(from) : "memory");
        return __builtin_bit_cast(T, bits);
    } else {
        std::uint64_t bits;
        asm volatile("ld.relaxed.gpu.global.b64 %0, [%1];" : "=l"(bits) : "l"(from) : "memory");
        return __builtin_bit_cast(T, bits);
    }
}

template <class T>
__device__ inline void store_release(T* to, T value)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8);
    if constexpr (sizeof(T) == 4)
        asm volatile("st.release.gpu.global.b32 [%0], %1;" ::"l"(to), "r"(__builtin_bit_cast(std::uint32_t, value))
                     : "memory");
    else
        asm volatile("st.release.gpu.global.b64 [%0], %1;" ::"l"(to), "l"(__builtin_bit_cast(std::uint64_t, value))
                     : "memory");
}

// Counts this thread in and tells how many came before it. The last to come sees what all others wrote before they
// came.
__device__ inline int arrive(int* counter)
{
    int before;
    asm volatile("atom.add.acq_rel.gpu.global.s32 %0, [%1], 1;" : "=r"(before) : "l"(counter) : "memory");
    return before;
}

// A barrier of some warps of a block, `threads` in all, which name the same number: 1 to 15 (0 is that of
// __syncthreads).
__device__ inline void named_barrier_sync(int number, int threads)
{
    asm volatile("barrier.sync %0, %1;" ::"r"(number), "r"(threads) : "memory");
}

// Programmatic dependent launch (LaunchShape::early): a kernel that may have begun before the one ahead of it on the
// stream ended waits here before it touches anything but what its own plan has made. Then the next one may begin: not
// before, so that what begins early comes after everything ahead of this kernel.
__device__ inline void wait_for_earlier_kernels()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;\n\tgriddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// A number that nobody will want again soon: it takes no place in the L1. For whole sectors read by neighbouring lanes;
// where a sector is read in parts, the L1 is what puts them together.
template <class T>
__device__ inline T load_streaming(const T* from)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8);
    if constexpr (sizeof(T) == 4) {
        std::uint32_t bits;
        asm("ld.global.nc.L1::no_allocate.b32 %0, [%1];" : "=r"(bits) : "l"(from));
        return __builtin_bit_cast(T, bits);
    } else {
        std::uint64_t bits;
        asm("ld.global.nc.L1::no_allocate.b64 %0, [%1];" : "=l"(bits) : "l"(from));
        return __builtin_bit_cast(T, bits);
    }
}

}  // namespace tulle::inline TULLE_ABI
#endif

namespace tulle::inline TULLE_ABI {

struct LaunchShape {
    offset_t blocks;
    int threads;
    std::size_t shared_bytes = 0;
    int cluster = 1;     // so many neighbouring blocks run together (cluster.cuh), up to 16; divides their number
    bool early = false;  // may begin before the kernel ahead of it ends (since sm_90): calls wait_for_earlier_kernels()
};

// Puts a kernel on a queue. No blocks is no launch: an empty matrix is ordinary.
template <class... P, class... A>
void launch(const CudaQueue& q, LaunchShape shape, void (*kernel)(P...), A&&... args)
{
    if (shape.blocks == 0) return;
    cuda::check_blocks(shape.blocks);
    const cuda::DeviceGuard guard(q.device);
#ifdef TULLE_SIM
    cuda::check(simt::enqueue(q.stream,
                              {static_cast<unsigned>(shape.blocks), static_cast<unsigned>(shape.threads),
                               shape.shared_bytes, static_cast<unsigned>(shape.cluster), shape.early},
                              kernel, static_cast<P>(std::forward<A>(args))...));
#else
    if (shape.shared_bytes > 48 * 1024)
        cuda::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                         static_cast<int>(shape.shared_bytes)));
    if (shape.cluster > 8) cuda::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    if (shape.cluster == 1 && !shape.early) {
        kernel<<<static_cast<unsigned>(shape.blocks), static_cast<unsigned>(shape.threads), shape.shared_bytes,
                 q.stream>>>(static_cast<P>(std::forward<A>(args))...);
        return cuda::check(cudaGetLastError());
    }
    cudaLaunchAttribute attributes[2]{};
    attributes[0].id = cudaLaunchAttributeClusterDimension;
    attributes[0].val.clusterDim = {static_cast<unsigned>(shape.cluster), 1, 1};
    attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[1].val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(static_cast<unsigned>(shape.blocks));
    config.blockDim = dim3(static_cast<unsigned>(shape.threads));
    config.dynamicSmemBytes = shape.shared_bytes;
    config.stream = q.stream;
    config.attrs = attributes;
    config.numAttrs = shape.early ? 2 : 1;
    cuda::check(cudaLaunchKernelEx(&config, kernel, static_cast<P>(std::forward<A>(args))...));
#endif
}

// An early launch saves about 0.4 µs, but every block pays 0.1 to 0.3 µs of its multiprocessor's time for the wait.
// Short kernels of more threads than this are faster without (measured on an H200: SpMM by rows took 1.6 to 1.9 times
// as long with 1.3 million threads, SpMV 0.93 to 1.04 times with 150,000 to 250,000).
inline constexpr offset_t most_early_threads = 1 << 17;

// Enough blocks for `work` threads.
constexpr LaunchShape one_thread_each(offset_t work, int threads = 256, bool early = false)
{
    return {(work + threads - 1) / threads, threads, 0, 1, early && work <= most_early_threads};
}

// This thread's number in the grid.
__device__ inline offset_t global_thread() { return static_cast<offset_t>(blockIdx.x) * blockDim.x + threadIdx.x; }

// Sum, largest and smallest over the `Lanes` lanes of this slice of the warp, in a fixed order; every lane gets it. All
// 32 lanes must call.
template <int Lanes, class T>
__device__ inline T slice_sum(T value)
{
    for (int distance = Lanes / 2; distance > 0; distance /= 2) value += __shfl_xor_sync(0xffffffffu, value, distance);
    return value;
}
template <int Lanes, class T>
__device__ inline T slice_max(T value)
{
    for (int distance = Lanes / 2; distance > 0; distance /= 2)
        value = max(value, __shfl_xor_sync(0xffffffffu, value, distance));
    return value;
}
template <int Lanes, class T>
__device__ inline T slice_min(T value)
{
    for (int distance = Lanes / 2; distance > 0; distance /= 2)
        value = min(value, __shfl_xor_sync(0xffffffffu, value, distance));
    return value;
}

// The sum of this lane's value and those of the lanes before it. All 32 lanes must call.
template <class T>
__device__ inline T warp_running_sum(T value)
{
    for (int distance = 1; distance < 32; distance *= 2) {
        const T before = __shfl_up_sync(0xffffffffu, value, static_cast<unsigned>(distance));
        if (static_cast<int>(threadIdx.x) % 32 >= distance) value += before;
    }
    return value;
}

}  // namespace tulle::inline TULLE_ABI
