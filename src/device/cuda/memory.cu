// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Device memory: a stream-ordered pool of our own for each device, or plain allocations where it is not supported or
// has nothing left in one piece.
#include "device/cuda_memory.hpp"

#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "device/cuda/runtime.cuh"

namespace tulle::inline TULLE_ABI::cuda {
namespace {

// Blocks that came from cudaMalloc and must go back through cudaFree.
std::mutex plain_mutex;
std::unordered_set<void*> plain_blocks;

// A pool of our own for each device, made at the first allocation and kept until the process ends; the process's
// default pool stays as it is. It keeps freed memory instead of giving it back at every wait. Null where the device has
// no pools.
cudaMemPool_t make_pool(int device)
{
    int supported = 0;
    check(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, device));
    if (!supported) return nullptr;
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = device;
    cudaMemPool_t pool{};
    check(cudaMemPoolCreate(&pool, &properties));
    std::uint64_t keep = ~std::uint64_t{0};
    check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
    return pool;
}

cudaMemPool_t pool_of(int device)
{
    static std::mutex mutex;
    static auto& pools =
        *new std::unordered_map<int, cudaMemPool_t>;  // never destroyed: static objects may still ask for memory
    const std::lock_guard lock(mutex);
    if (const auto found = pools.find(device); found != pools.end()) return found->second;
    return pools[device] = make_pool(device);
}

// Null when the pool has no room.
void* allocate_from(cudaMemPool_t pool, const Place& place, std::size_t bytes)
{
    void* data = nullptr;
    const cudaError_t error = cudaMallocFromPoolAsync(&data, bytes, pool, place.stream);
    if (error == cudaSuccess) return data;
    (void)cudaGetLastError();
    if (error != cudaErrorMemoryAllocation) check(error);
    return nullptr;
}

// What the pool holds but nobody uses goes back to the device, with what this stream has freed; other streams are not
// waited for.
void trim(cudaMemPool_t pool, const Place& place)
{
    check(cudaStreamSynchronize(place.stream));
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
    cudaMemPool_t const pool = pool_of(place.device);
    if (void* data = pool && !place.plain ? allocate_from(pool, place, bytes) : allocate_plain(bytes)) return data;
    if (!pool) return nullptr;
    trim(pool, place);
    return allocate_plain(bytes);
}

void release_device(const Place& place, void* data) noexcept
{
    int before = 0;
    (void)cudaGetDevice(&before);
    (void)cudaSetDevice(place.device);
    if (forget_plain(data)) (void)cudaFree(data);
    else (void)cudaFreeAsync(data, place.stream);
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

}  // namespace tulle::inline TULLE_ABI::cuda
