// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The stand-in runtime, call by call: devices, streams, events. (cuda_memory.cpp: memory and copies.)
#include "simt/cuda_runtime.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/compute.hpp"
#include "simt/capture.hpp"
#include "simt/runtime.hpp"
#include "tulle/text.hpp"

using tulle::concat;
using tulle::simt::fail;
using tulle::simt::Runtime;

namespace {

thread_local int current_device = 0;

bool exists(int device) { return device >= 0 && device < Runtime::get().config.devices; }

cudaError_t no_such_device(int device) { return fail(cudaErrorInvalidDevice, concat("there is no device ", device)); }

cudaError_t no_such_stream()
{
    return fail(cudaErrorInvalidResourceHandle, "the stream does not exist, or not any more");
}

}  // namespace

// ---- errors ----

const char* cudaGetErrorName(cudaError_t error)
{
    switch (error) {
    case cudaSuccess: return "cudaSuccess";
    case cudaErrorInvalidValue: return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidConfiguration: return "cudaErrorInvalidConfiguration";
    case cudaErrorInsufficientDriver: return "cudaErrorInsufficientDriver";
    case cudaErrorNoDevice: return "cudaErrorNoDevice";
    case cudaErrorInvalidDevice: return "cudaErrorInvalidDevice";
    case cudaErrorInvalidResourceHandle: return "cudaErrorInvalidResourceHandle";
    case cudaErrorNotReady: return "cudaErrorNotReady";
    case cudaErrorPeerAccessAlreadyEnabled: return "cudaErrorPeerAccessAlreadyEnabled";
    case cudaErrorPeerAccessNotEnabled: return "cudaErrorPeerAccessNotEnabled";
    case cudaErrorLaunchFailure: return "cudaErrorLaunchFailure";
    }
    return error >= cudaErrorStreamCaptureUnsupported && error <= cudaErrorStreamCaptureIsolation
               ? "cudaErrorStreamCapture"
               : "unknown error";
}

// Here the sentence behind an error is in last_fault(); this is the error's name in words.
const char* cudaGetErrorString(cudaError_t error)
{
    return error == cudaSuccess ? "no error" : cudaGetErrorName(error);
}

cudaError_t cudaGetLastError() { return tulle::simt::take_last_error(); }
cudaError_t cudaPeekAtLastError() { return tulle::simt::peek_last_error(); }

// ---- devices ----

cudaError_t cudaGetDeviceCount(int* count)
{
    *count = Runtime::get().config.devices;
    return *count > 0 ? cudaSuccess : fail(cudaErrorNoDevice, "TULLE_SIM_DEVICES=0");
}

cudaError_t cudaGetDevice(int* device)
{
    *device = current_device;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    Runtime& runtime = Runtime::get();
    const std::lock_guard lock(runtime.mutex);
    if (!exists(device)) return no_such_device(device);
    current_device = device;
    runtime.touch(device);  // as since CUDA 12
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device)
{
    if (!exists(device)) return no_such_device(device);
    *properties = {};
    std::strncpy(properties->name, "simulated GPU", sizeof properties->name - 1);
    properties->uuid.bytes[0] = static_cast<char>(device);
    properties->totalGlobalMem = Runtime::get().config.bytes;
    properties->sharedMemPerBlock = 48 * 1024;
    const int compute = Runtime::get().config.compute;
    properties->sharedMemPerBlockOptin = tulle::block_bytes_of(compute);
    properties->sharedMemPerMultiprocessor = properties->sharedMemPerBlockOptin + 1024;
    properties->regsPerBlock = 65536;
    properties->warpSize = 32;
    properties->maxThreadsPerBlock = 1024;
    properties->maxThreadsPerMultiProcessor = 2048;
    properties->major = compute / 10;
    properties->minor = compute % 10;
    properties->multiProcessorCount = static_cast<int>(Runtime::get().config.multiprocessors);
    properties->l2CacheSize = 1 << 20;
    properties->memoryPoolsSupported = 1;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device)
{
    cudaDeviceProp p;
    if (const cudaError_t error = cudaGetDeviceProperties(&p, device); error != cudaSuccess) return error;
    switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock: *value = p.maxThreadsPerBlock; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = static_cast<int>(p.sharedMemPerBlock); break;
    case cudaDevAttrWarpSize: *value = p.warpSize; break;
    case cudaDevAttrMultiProcessorCount: *value = p.multiProcessorCount; break;
    case cudaDevAttrL2CacheSize: *value = p.l2CacheSize; break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *value = p.maxThreadsPerMultiProcessor; break;
    case cudaDevAttrComputeCapabilityMajor: *value = p.major; break;
    case cudaDevAttrComputeCapabilityMinor: *value = p.minor; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = static_cast<int>(p.sharedMemPerBlockOptin); break;
    case cudaDevAttrMemoryPoolsSupported: *value = p.memoryPoolsSupported; break;
    }
    return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize()
{
    Runtime& runtime = Runtime::get();
    const std::lock_guard lock(runtime.mutex);
    if (runtime.breaks_capture("cudaDeviceSynchronize", current_device)) return cudaErrorStreamCaptureUnsupported;
    runtime.drain_device(current_device);
    return tulle::simt::report(current_device);
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer)
{
    if (!exists(device)) return no_such_device(device);
    if (!exists(peer)) return no_such_device(peer);
    *can = device != peer;
    return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned)
{
    Runtime& runtime = Runtime::get();
    const std::lock_guard lock(runtime.mutex);
    if (!exists(peer) || peer == current_device) return no_such_device(peer);
    const bool added = runtime.devices[static_cast<std::size_t>(current_device)].peers.insert(peer).second;
    return added ? cudaSuccess
                 : fail(cudaErrorPeerAccessAlreadyEnabled,
                        concat("device ", current_device, " has access to device ", peer, " already"));
}

cudaError_t cudaDeviceDisablePeerAccess(int peer)
{
    Runtime& runtime = Runtime::get();
    const std::lock_guard lock(runtime.mutex);
    const bool had = runtime.devices[static_cast<std::size_t>(current_device)].peers.erase(peer) > 0;
    return had ? cudaSuccess
               : fail(cudaErrorPeerAccessNotEnabled,
                      concat("device ", current_device, " has no access to device ", peer));
}

// ---- streams ----

cudaError_t cudaStreamCreate(cudaStream_t* stream) { return cudaStreamCreateWithFlags(stream, cudaStreamDefault); }

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned)
{
    Runtime& runtime = Runtime::get();
    const std::lock_guard lock(runtime.mutex);
    if (!exists(current_device)) return no_such_device(current_device);
    runtime.touch(current_device);
    *stream = runtime.open_stream(current_device);
    return cudaSuccess;
}

// Chance decides all the same which stream goes on.
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int)
{
    return cudaStreamCreateWithFlags(stream, flags);
}

// What is on it still runs, when somebody waits for something.
cudaError_t cudaStreamDestroy(cudaStream_t handle)
{
    Runtime& runtime = Runtime::get();
    const std::lock_guard lock(runtime.mutex);
    CUstream_st* const stream = handle ? runtime.stream_of(handle, current_device) : nullptr;
    if (!stream) return no_such_stream();
    stream->destroyed = true;
    runtime.enqueue(*stream, {});  // the step that takes it off sees that the stream is done
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle)
{
    Runtime& runtime = Runtime::get();
    const std::lock_guard lock(runtime.mutex);
    CUstream_st* const stream = runtime.stream_of(handle, current_device);
    if (!stream) return no_such_stream();
    if (runtime.breaks_capture("cudaStreamSynchronize", stream->device, stream))
        return cudaErrorStreamCaptureUnsupported;
    runtime.drain(*stream);
    return tulle::simt::report(stream->device);
}

cudaError_t cudaStreamQuery(cudaStream_t handle)
{
    Runtime& runtime = Runtime::get();
    const std::lock_guard lock(runtime.mutex);
    CUstream_st* const stream = runtime.stream_of(handle, current_device);
    if (!stream) return no_such_stream();
    if (runtime.breaks_capture("cudaStreamQuery", stream->device, stream)) return cudaErrorStreamCaptureUnsupported;
    if (!stream->work.empty()) runtime.step();  // time passes while somebody asks
    if (!stream->work.empty()) return cudaErrorNotReady;
    stream->progress.acquire();
    return tulle::simt::report(stream->device);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned)
{
    Runtime& runtime = Runtime::get();
    const std::lock_guard lock(runtime.mutex);
    CUstream_st* const stream = runtime.stream_of(handle, current_device);
    if (!stream) return no_such_stream();
    if (!event->last) return cudaSuccess;
    if (stream->capture || event->last->capture) return tulle::simt::join_capture(*stream, *event->last);
    runtime.enqueue(*stream, {.body = {}, .after = event->last, .enqueued = {}});
    return cudaSuccess;
}

// ---- events ----

cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, cudaEventDefault); }

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags)
{
    if (!exists(current_device)) return no_such_device(current_device);
    Runtime& runtime = Runtime::get();
    const std::lock_guard lock(runtime.mutex);
    runtime.touch(current_device);
    *event = new CUevent_st{current_device, (flags & cudaEventDisableTiming) == 0, nullptr};
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    const std::lock_guard lock(Runtime::get().mutex);
    delete event;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t handle)
{
    Runtime& runtime = Runtime::get();
    const std::lock_guard lock(runtime.mutex);
    CUstream_st* const stream = runtime.stream_of(handle, current_device);
    if (!stream) return no_such_stream();
    if (stream->device != event->device)
        return fail(cudaErrorInvalidResourceHandle,
                    concat("an event of device ", event->device, " recorded on a stream of device ", stream->device));
    auto recording = std::make_shared<tulle::simt::Recording>();
    event->last = recording;
    if (stream->capture) {
        recording->capture = stream->capture;
        recording->stream = stream;
        return cudaSuccess;
    }
    runtime.enqueue(*stream, {.body =
                                  [recording] {
                                      recording->done = true;
                                      recording->time = std::chrono::steady_clock::now();
                                      recording->reached.release();
                                  },
                              .after = {},
                              .always = true,
                              .enqueued = {}});
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    Runtime& runtime = Runtime::get();
    const std::lock_guard lock(runtime.mutex);
    if (!event->last) return cudaSuccess;
    if (tulle::simt::is_captured(*event->last))
        return fail(cudaErrorStreamCaptureUnsupported,
                    "cudaEventSynchronize of an event recorded on a captured stream");
    runtime.run_until([&] { return event->last->done; });
    event->last->reached.acquire();
    return tulle::simt::report(event->device);
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    Runtime& runtime = Runtime::get();
    const std::lock_guard lock(runtime.mutex);
    if (event->last && tulle::simt::is_captured(*event->last))
        return fail(cudaErrorStreamCaptureUnsupported, "cudaEventQuery of an event recorded on a captured stream");
    if (event->last && !event->last->done) runtime.step();
    if (event->last && !event->last->done) return cudaErrorNotReady;
    if (event->last) event->last->reached.acquire();
    return tulle::simt::report(event->device);
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to)
{
    const std::lock_guard lock(Runtime::get().mutex);
    if (!from->timed || !to->timed)
        return fail(cudaErrorInvalidResourceHandle, "an event with cudaEventDisableTiming has no time");
    if (from->device != to->device)
        return fail(cudaErrorInvalidResourceHandle, "events of two devices have no time between them");
    if (!from->last || !to->last)
        return fail(cudaErrorInvalidResourceHandle, "an event that was never recorded has no time");
    if (!from->last->done || !to->last->done) return fail(cudaErrorNotReady, "an event has not been reached");
    *milliseconds = std::chrono::duration<float, std::milli>(to->last->time - from->last->time).count();
    return cudaSuccess;
}
