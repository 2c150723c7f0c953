// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The stand-in runtime's memory calls. What is freed or copied happens in stream order, when somebody waits.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>

#include "simt/cuda_runtime.hpp"
#include "simt/fault.hpp"
#include "simt/runtime.hpp"
#include "tulle/text.hpp"

using tulle::concat;
using tulle::simt::Allocation;
using tulle::simt::fail;
using tulle::simt::host_memory;
using tulle::simt::Runtime;

namespace {

int device_in_use()
{
    int device = 0;
    cudaGetDevice(&device);
    return device;
}

std::size_t free_bytes(const Runtime& runtime, int device)
{
    return runtime.config.bytes - std::min(runtime.config.bytes, runtime.memory.used(device));
}

// Queued frees give their memory back before the device is called full, as the driver's pool does.
cudaError_t allocate(void** data, std::size_t bytes, int device, Allocation::State state)
{
    Runtime& runtime = Runtime::get();
    if (device >= runtime.config.devices) return fail(cudaErrorInvalidDevice, concat("there is no device ", device));
    runtime.touch(device);
    const bool waits =
        state ==
        Allocation::State::live;  // cudaMalloc does; a pool may refuse what its streams have not given back yet
    if (waits && bytes > free_bytes(runtime, device)) runtime.drain_device(device);
    const std::size_t free = free_bytes(runtime, device);
    *data = bytes > free ? nullptr : runtime.memory.allocate(device, bytes, state, runtime.random);
    if (*data) return cudaSuccess;
    return fail(cudaErrorMemoryAllocation, concat("device ", device, " has ", free, " of ", runtime.config.bytes,
                                                  " bytes free, ", bytes, " were asked for"));
}

// A mistake in a free is told to who calls and, since frees are seldom checked, to who waits next.
cudaError_t refuse_free(int device, const std::string& why)
{
    std::string& fault = Runtime::get().devices[static_cast<std::size_t>(device)].fault;
    if (fault.empty()) fault = why;
    return fail(cudaErrorInvalidValue, why);
}

cudaError_t enqueue_on(CUstream_st* handle, const char* user, bool always, std::function<void(int device)> body)
{
    Runtime& runtime = Runtime::get();
    CUstream_st* const stream = runtime.stream_of(handle, device_in_use());
    if (!stream)
        return fail(cudaErrorInvalidResourceHandle, concat(user, ": the stream does not exist, or not any more"));
    if (always && runtime.breaks_capture(user, stream->device, stream)) return cudaErrorStreamCaptureUnsupported;
    runtime.enqueue(*stream, {.body = [body = std::move(body), device = stream->device] { body(device); },
                              .after = {},
                              .always = always,
                              .enqueued = {}});
    return cudaSuccess;
}

// A fault when a copy reads or writes what it may not: wrong device, freed, too short.
void check(const char* user, const void* data, std::size_t bytes, int device)
{
    Runtime& runtime = Runtime::get();
    if (const std::string wrong = runtime.problem_with(data, bytes, device); !wrong.empty())
        runtime.fault(concat(user, " device ", device, ": ", wrong));
}

// The host's side of a copy: plain memory is taken on trust, memory of a device is a mistake.
void check_host(const char* user, const void* data, std::size_t bytes)
{
    Runtime& runtime = Runtime::get();
    std::size_t offset = 0;
    const Allocation* const block = runtime.memory.find(data, &offset);
    if (!block) return;
    if (block->device != host_memory)
        runtime.fault(concat(user, ": memory of device ", block->device, " given as host memory"));
    if (block->state == Allocation::State::freed)
        runtime.fault(concat(user, ": page-locked host memory that has been freed"));
    if (bytes > block->bytes - offset)
        runtime.fault(
            concat(user, ": ", bytes, " bytes from byte ", offset, " of a page-locked array of ", block->bytes));
}

// A GPU's copy may go in any order: what it reads and what it writes must not overlap.
void move_bytes(void* to, const void* from, std::size_t bytes)
{
    const std::less<const char*> before;
    const char *const first = static_cast<const char*>(from), *const second = static_cast<const char*>(to);
    if (before(first, second + bytes) && before(second, first + bytes))
        Runtime::get().fault(concat("a copy of ", bytes, " bytes to itself, or to bytes that it also reads"));
    const tulle::simt::Loud loud;
    std::memcpy(to, from, bytes);
}

bool on_device(const void* data)
{
    const Allocation* const block = Runtime::get().memory.find(data);
    return block && block->device != host_memory;
}

bool is_plain(const void* data) { return Runtime::get().memory.find(data) == nullptr; }

cudaMemcpyKind kind_of(void* to, const void* from)
{
    if (on_device(to)) return on_device(from) ? cudaMemcpyDeviceToDevice : cudaMemcpyHostToDevice;
    return on_device(from) ? cudaMemcpyDeviceToHost : cudaMemcpyHostToHost;
}

void copy_now(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, int device)
{
    if (kind == cudaMemcpyDefault) kind = kind_of(to, from);
    if (kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice) check("copy to", to, bytes, device);
    else check_host("copy to the host", to, bytes);
    if (kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice) check("copy from", from, bytes, device);
    else check_host("copy from the host", from, bytes);
    move_bytes(to, from, bytes);
}

}  // namespace

// ---- allocation ----

cudaError_t cudaMalloc(void** data, std::size_t bytes)
{
    Runtime& runtime = Runtime::get();
    const std::lock_guard lock(runtime.mutex);
    if (runtime.breaks_capture("cudaMalloc", device_in_use())) return cudaErrorStreamCaptureUnsupported;
    return allocate(data, bytes, device_in_use(), Allocation::State::live);
}

cudaError_t cudaFree(void* data)
{
    Runtime& runtime = Runtime::get();
    const std::lock_guard lock(runtime.mutex);
    if (!data) return cudaSuccess;
    const Allocation* const block = runtime.memory.starting_at(data);
    const int device = block && block->device != host_memory ? block->device : device_in_use();
    if (runtime.breaks_capture("cudaFree", device)) return cudaErrorStreamCaptureUnsupported;
    runtime.drain_device(device);
    const std::string wrong = runtime.memory.release(static_cast<char*>(data));
    return wrong.empty() ? cudaSuccess : refuse_free(device, concat("cudaFree: ", wrong));
}

cudaError_t cudaMallocFromPoolAsync(void** data, std::size_t bytes, cudaMemPool_t pool, cudaStream_t handle)
{
    Runtime& runtime = Runtime::get();
    const std::lock_guard lock(runtime.mutex);
    CUstream_st* const stream = runtime.stream_of(handle, device_in_use());
    if (!stream)
        return fail(cudaErrorInvalidResourceHandle,
                    "cudaMallocFromPoolAsync: the stream does not exist, or not any more");
    if (stream->device != pool->device)
        return fail(cudaErrorInvalidValue, concat("cudaMallocFromPoolAsync: a pool of device ", pool->device,
                                                  " for a stream of device ", stream->device));
    if (runtime.breaks_capture("cudaMallocFromPoolAsync", stream->device, stream))
        return cudaErrorStreamCaptureUnsupported;
    if (const cudaError_t error = allocate(data, bytes, pool->device, Allocation::State::promised);
        error != cudaSuccess)
        return error;
    ++pool->allocations;
    char* const block = static_cast<char*>(*data);
    return enqueue_on(stream, "cudaMallocFromPoolAsync", true,
                      [&runtime, block](int) { runtime.memory.come_alive(block); });
}

cudaError_t cudaMallocAsync(void** data, std::size_t bytes, cudaStream_t handle)
{
    Runtime& runtime = Runtime::get();
    const std::lock_guard lock(runtime.mutex);
    CUstream_st* const stream = runtime.stream_of(handle, device_in_use());
    if (!stream)
        return fail(cudaErrorInvalidResourceHandle, "cudaMallocAsync: the stream does not exist, or not any more");
    cudaMemPool_t pool = nullptr;
    if (const cudaError_t error = cudaDeviceGetDefaultMemPool(&pool, stream->device); error != cudaSuccess)
        return error;
    return cudaMallocFromPoolAsync(data, bytes, pool, stream);
}

cudaError_t cudaFreeAsync(void* data, cudaStream_t stream)
{
    Runtime& runtime = Runtime::get();
    const std::lock_guard lock(runtime.mutex);
    if (!data) return cudaSuccess;
    if (!runtime.memory.starting_at(data))
        return refuse_free(device_in_use(), "cudaFreeAsync: freed memory that is not the start of a device array");
    return enqueue_on(stream, "cudaFreeAsync", true, [&runtime, data](int device) {
        const Allocation* const block = runtime.memory.starting_at(data);
        if (block && block->state == Allocation::State::promised)
            runtime.fault(concat("cudaFreeAsync on device ", device,
                                 ": the allocation on another stream has not been waited for"));
        if (const std::string wrong = runtime.memory.release(static_cast<char*>(data)); !wrong.empty())
            runtime.fault(concat("cudaFreeAsync on device ", device, ": ", wrong));
    });
}

cudaError_t cudaMallocHost(void** data, std::size_t bytes)
{
    Runtime& runtime = Runtime::get();
    const std::lock_guard lock(runtime.mutex);
    *data = runtime.memory.allocate(host_memory, bytes, Allocation::State::live, runtime.random);
    return *data ? cudaSuccess : fail(cudaErrorMemoryAllocation, concat(bytes, " bytes of page-locked host memory"));
}

cudaError_t cudaFreeHost(void* data)
{
    Runtime& runtime = Runtime::get();
    const std::lock_guard lock(runtime.mutex);
    if (!data) return cudaSuccess;
    const std::string wrong = runtime.memory.release(static_cast<char*>(data));
    return wrong.empty() ? cudaSuccess : refuse_free(device_in_use(), concat("cudaFreeHost: ", wrong));
}

// ---- pools ----

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device)
{
    Runtime& runtime = Runtime::get();
    const std::lock_guard lock(runtime.mutex);
    if (device < 0 || device >= runtime.config.devices)
        return fail(cudaErrorInvalidDevice, concat("there is no device ", device));
    auto& own = runtime.devices[static_cast<std::size_t>(device)].default_pool;
    if (!own) own = std::make_unique<CUmemPoolHandle_st>(CUmemPoolHandle_st{.device = device});
    *pool = own.get();
    return cudaSuccess;
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties)
{
    Runtime& runtime = Runtime::get();
    const std::lock_guard lock(runtime.mutex);
    const int device = properties->location.id;
    if (properties->allocType != cudaMemAllocationTypePinned || properties->location.type != cudaMemLocationTypeDevice)
        return fail(cudaErrorInvalidValue, "cudaMemPoolCreate: not a pool of device memory");
    if (device < 0 || device >= runtime.config.devices)
        return fail(cudaErrorInvalidDevice, concat("there is no device ", device));
    runtime.touch(device);
    *pool = new CUmemPoolHandle_st{.device = device};
    return cudaSuccess;
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool)
{
    delete pool;
    return cudaSuccess;
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr, void* value)
{
    const std::lock_guard lock(Runtime::get().mutex);
    pool->release_threshold = *static_cast<const std::uint64_t*>(value);
    return cudaSuccess;
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr, void* value)
{
    const std::lock_guard lock(Runtime::get().mutex);
    *static_cast<std::uint64_t*>(value) = pool->release_threshold;
    return cudaSuccess;
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, std::size_t) { return cudaSuccess; }

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total)
{
    Runtime& runtime = Runtime::get();
    const std::lock_guard lock(runtime.mutex);
    runtime.touch(device_in_use());
    *total = runtime.config.bytes;
    *free = free_bytes(runtime, device_in_use());
    return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* data)
{
    Runtime& runtime = Runtime::get();
    const std::lock_guard lock(runtime.mutex);
    const Allocation* const block = runtime.memory.find(data);
    *attributes = {};
    if (!block || block->state == Allocation::State::freed) return cudaSuccess;
    attributes->type = block->device == host_memory ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
    attributes->device = std::max(block->device, 0);
    attributes->devicePointer = const_cast<void*>(data);
    return cudaSuccess;
}

// ---- copies ----

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream)
{
    Runtime& runtime = Runtime::get();
    const std::lock_guard lock(runtime.mutex);
    const CUstream_st* const captured = runtime.stream_of(stream, device_in_use());
    if (captured && captured->capture && (is_plain(to) || is_plain(from))) {  // a replay would use it again
        (void)runtime.breaks_capture("a copy of plain host memory", captured->device, captured);
        return cudaErrorStreamCaptureUnsupported;
    }
    return enqueue_on(stream, "cudaMemcpyAsync", false, [=](int device) { copy_now(to, from, bytes, kind, device); });
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind)
{
    const std::lock_guard lock(Runtime::get().mutex);
    if (const cudaError_t error = cudaMemcpyAsync(to, from, bytes, kind, nullptr); error != cudaSuccess) return error;
    return cudaStreamSynchronize(nullptr);
}

cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_step, const void* from, std::size_t from_step, std::size_t width,
                              std::size_t lines, cudaMemcpyKind kind, cudaStream_t stream)
{
    if (width > to_step || width > from_step) return cudaErrorInvalidValue;
    const std::lock_guard lock(Runtime::get().mutex);
    return enqueue_on(stream, "cudaMemcpy2DAsync", false, [=](int device) {
        for (std::size_t line = 0; line < lines; ++line)
            copy_now(static_cast<char*>(to) + line * to_step, static_cast<const char*>(from) + line * from_step, width,
                     kind, device);
    });
}

cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, std::size_t bytes,
                                cudaStream_t stream)
{
    const std::lock_guard lock(Runtime::get().mutex);
    return enqueue_on(stream, "cudaMemcpyPeerAsync", false, [=](int) {
        check("copy to", to, bytes, to_device);
        check("copy from", from, bytes, from_device);
        move_bytes(to, from, bytes);
    });
}

cudaError_t cudaMemset(void* to, int value, std::size_t bytes)
{
    const std::lock_guard lock(Runtime::get().mutex);
    return cudaMemsetAsync(to, value, bytes, nullptr);
}

cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream)
{
    const std::lock_guard lock(Runtime::get().mutex);
    return enqueue_on(stream, "cudaMemsetAsync", false, [=](int device) {
        check("fill on", to, bytes, device);
        const tulle::simt::Loud loud;
        std::memset(to, value, bytes);
    });
}
