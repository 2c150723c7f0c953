// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Device memory: the driver's stream-ordered pool, or plain allocations where it is not supported or has nothing left in one piece.
#include "tulle/device/cuda_memory.hpp"

#include <mutex>
#include <unordered_set>

#include "tulle/device/cuda/runtime.cuh"

namespace tulle::cuda {
namespace {

// Blocks that came from cudaMalloc and must go back through cudaFree.
std::mutex plain_mutex;
std::unordered_set<void*> plain_blocks;

// Keeps freed memory in the pool instead of giving it back at every wait; the driver still takes it when others need it.
bool prepare_pool(int device)
{
    int supported = 0;
    check(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, device));
    if (!supported) return false;
    cudaMemPool_t pool{};
    check(cudaDeviceGetDefaultMemPool(&pool, device));
    std::uint64_t keep = ~std::uint64_t{0};
    check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
    return true;
}

bool has_pool(int device)
{
    static std::mutex mutex;
    static std::unordered_set<int> with, without;
    const std::lock_guard lock(mutex);
    if (with.contains(device)) return true;
    if (without.contains(device)) return false;
    const bool found = prepare_pool(device);
    (found ? with : without).insert(device);
    return found;
}

// Gives what the pool holds but nobody uses back to the device.
void trim_pool(int device)
{
    cudaMemPool_t pool{};
    check(cudaDeviceGetDefaultMemPool(&pool, device));
    check(cudaDeviceSynchronize());
    check(cudaMemPoolTrimTo(pool, 0));
}

void* allocate_plain(std::size_t bytes)
{
    void* data = nullptr;
    if (cudaMalloc(&data, bytes) != cudaSuccess) {
        (void)cudaGetLastError();
        return nullptr;
    }
    const std::lock_guard lock(plain_mutex);
    plain_blocks.insert(data);
    return data;
}

bool forget_plain(void* data)
{
    const std::lock_guard lock(plain_mutex);
    return plain_blocks.erase(data) == 1;
}

}  // namespace

void* allocate_device(const Place& place, std::size_t bytes)
{
    const DeviceGuard guard(place.device);
    if (!has_pool(place.device)) return allocate_plain(bytes);
    void* data = nullptr;
    const cudaError_t error = cudaMallocAsync(&data, bytes, place.stream);
    if (error == cudaSuccess) return data;
    (void)cudaGetLastError();
    if (error != cudaErrorMemoryAllocation) check(error);
    trim_pool(place.device);
    return allocate_plain(bytes);
}

void release_device(const Place& place, void* data) noexcept
{
    int before = 0;
    (void)cudaGetDevice(&before);
    (void)cudaSetDevice(place.device);
    if (forget_plain(data))
        (void)cudaFree(data);
    else
        (void)cudaFreeAsync(data, place.stream);
    (void)cudaSetDevice(before);
}

void* allocate_pinned(std::size_t bytes)
{
    void* data = nullptr;
    if (cudaMallocHost(&data, bytes) == cudaSuccess) return data;
    (void)cudaGetLastError();
    return nullptr;
}

void release_pinned(void* data) noexcept { (void)cudaFreeHost(data); }

std::size_t free_device_bytes(int device)
{
    const DeviceGuard guard(device);
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total));
    return free;
}

}  // namespace tulle::cuda
