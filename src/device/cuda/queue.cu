// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Streams, copies and devices of the CUDA backend.
#include "device/cuda/runtime.cuh"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>

#include "base/compute.hpp"
#include "device/cuda_devices.hpp"
#include "tulle/memory.hpp"
#include "tulle/text.hpp"
#include "tulle/trace.hpp"

#ifndef TULLE_SIM
#include <nvtx3/nvToolsExt.h>
#endif

namespace tulle::inline TULLE_ABI {
namespace cuda {
namespace {

#ifndef TULLE_SIM
nvtxDomainHandle_t profiler_domain()
{
    static const nvtxDomainHandle_t domain = nvtxDomainCreateA("tulle");
    return domain;
}

void push_range(const char* name)
{
    nvtxEventAttributes_t event{};
    event.version = NVTX_VERSION;
    event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    event.messageType = NVTX_MESSAGE_TYPE_ASCII;
    event.message.ascii = name;
    nvtxDomainRangePushEx(profiler_domain(), &event);
}

void pop_range() { nvtxDomainRangePop(profiler_domain()); }

void tell_profiler() { trace::set_ranges({push_range, pop_range}); }
#else
void tell_profiler() {}
#endif

// 0 with the reason where no GPU can be used.
int count_devices(std::string& why_not)
{
    int count = 0;
    const cudaError_t error = cudaGetDeviceCount(&count);
    if (error == cudaSuccess && count > 0) return count;
    (void)cudaGetLastError();
    why_not = error == cudaErrorInsufficientDriver || error == cudaErrorNoDevice || count == 0
                  ? concat("no NVIDIA driver or no GPU was found (", cudaGetErrorName(error), ")")
                  : concat(cudaGetErrorName(error), ": ", cudaGetErrorString(error));
    return 0;
}

void require_device(int device)
{
    std::string why;
    const int devices = count_devices(why);
    require<DeviceError>(
        devices > 0, [&] { return concat("no GPU can be used: ", why); },
        "`tulle doctor` tells more; Context::cpu() always works");
    require<DeviceError>(device >= 0 && device < devices,
                         [&] { return concat("there is no GPU ", device, ": this machine has ", devices); });
}

int attribute_of(int device, cudaDeviceAttr which)
{
    int value = 0;
    check(cudaDeviceGetAttribute(&value, which, device));
    return value;
}

// The compute capability to keep to instead of the GPU's own; 0: its own.
int hidden_compute()
{
    const char* const text = std::getenv("TULLE_GPU_COMPUTE");
    if (!text) return 0;
    for (const int compute : supported_computes)
        if (concat(compute) == text) return compute;
    throw ValueError(concat("TULLE_GPU_COMPUTE=", text, " is not one of 80, 86, 89, 90, 100, 120"));
}

template <std::size_t n>
std::string digits_of(const char (&bytes)[n])
{
    std::string text;
    for (const char byte : bytes)
        for (const int shift : {4, 0}) text += "0123456789abcdef"[(static_cast<unsigned char>(byte) >> shift) & 15];
    return text;
}

}  // namespace

void check_blocks(offset_t blocks)
{
    require<ValueError>(blocks > 0 && blocks <= std::numeric_limits<std::int32_t>::max(),
                        [&] { return concat("a grid of ", blocks, " blocks exceeds what a GPU can start"); });
}

DeviceGuard::DeviceGuard(int device)
{
    check(cudaGetDevice(&before_));
    changed_ = before_ != device;
    if (changed_) check(cudaSetDevice(device));
}

DeviceGuard::~DeviceGuard()
{
    if (changed_) (void)cudaSetDevice(before_);
}

void throw_cuda_error(cudaError_t error, const char* file, int line)
{
    (void)cudaGetLastError();  // told here, and not again by the next launch
    std::string name = file;
    if (const std::size_t folder = name.rfind("/src/"); folder != std::string::npos) name.erase(0, folder + 1);
#ifdef TULLE_SIM
    const std::string detail = simt::last_fault();
#else
    const std::string detail = cudaGetErrorString(error);
#endif
    const std::string what = concat(name, ":", line, ": ", cudaGetErrorName(error), ": ", detail);
    if (error == cudaErrorMemoryAllocation) throw OutOfMemory(what, 0, 0);
    throw DeviceError(what);
}

std::vector<GpuInfo> list_devices(std::string& why_not)
{
    const int count = count_devices(why_not);
    std::vector<GpuInfo> devices;
    for (int device = 0; device < count; ++device) {
        cudaDeviceProp properties{};
        check(cudaGetDeviceProperties(&properties, device));
        devices.push_back({.name = properties.name,
                           .device = device,
                           .major = properties.major,
                           .minor = properties.minor,
                           .multiprocessors = properties.multiProcessorCount,
                           .bytes = properties.totalGlobalMem,
                           .l2_bytes = static_cast<std::size_t>(properties.l2CacheSize),
                           .shared_bytes_per_block = properties.sharedMemPerBlockOptin,
                           .simulated = build::simulated,
                           .uuid = digits_of(properties.uuid.bytes)});
    }
    return devices;
}

DeviceLimits device_limits(int device)
{
    const int compute = 10 * attribute_of(device, cudaDevAttrComputeCapabilityMajor) +
                        attribute_of(device, cudaDevAttrComputeCapabilityMinor);
    DeviceLimits limits{.compute = compute,
                        .multiprocessors = attribute_of(device, cudaDevAttrMultiProcessorCount),
                        .block_bytes =
                            static_cast<std::size_t>(attribute_of(device, cudaDevAttrMaxSharedMemoryPerBlockOptin)),
                        .cluster_blocks = cluster_blocks_of(compute)};
    if (const int hidden = hidden_compute(); hidden > 0)
        limits = {hidden, limits.multiprocessors, std::min(limits.block_bytes, block_bytes_of(hidden)),
                  std::min(limits.cluster_blocks, cluster_blocks_of(hidden))};
    return limits;
}

CudaQueue open_queue(int device, CUstream_st* stream)
{
    require_device(device);
    tell_profiler();
    return {device, stream, std::make_shared<Memory>()};
}

CudaQueue open_queue(int device)
{
    CudaQueue q = open_queue(device, nullptr);
    const DeviceGuard guard(device);
    check(cudaStreamCreateWithFlags(&q.stream, cudaStreamNonBlocking));
    q.memory->keep({q.stream, [](void* stream) {
                        (void)cudaStreamDestroy(static_cast<CUstream_st*>(stream));
                    }});  // as long as any buffer
    return q;
}

bool is_device_pointer(const void* data, int device)
{
    cudaPointerAttributes attributes{};
    if (cudaPointerGetAttributes(&attributes, data) != cudaSuccess) {
        (void)cudaGetLastError();
        return false;
    }
    if (attributes.type == cudaMemoryTypeManaged) return true;
    return attributes.type == cudaMemoryTypeDevice && attributes.device == device;
}

}  // namespace cuda

void synchronize(const CudaQueue& q)
{
    const cuda::DeviceGuard guard(q.device);
    cuda::check(cudaStreamSynchronize(q.stream));
}

void copy_bytes(const CudaQueue& q, const void* from, void* to, std::size_t bytes)
{
    if (bytes == 0) return;
    const cuda::DeviceGuard guard(q.device);
    cuda::check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, q.stream));
}

void upload_bytes(const CudaQueue& q, const void* host, void* to, std::size_t bytes)
{
    if (bytes == 0) return;
    const cuda::DeviceGuard guard(q.device);
    cuda::check(cudaMemcpyAsync(to, host, bytes, cudaMemcpyHostToDevice, q.stream));
    cuda::check(cudaStreamSynchronize(q.stream));
}

void download_bytes(const CudaQueue& q, const void* from, void* host, std::size_t bytes)
{
    if (bytes == 0) return;
    const cuda::DeviceGuard guard(q.device);
    cuda::check(cudaMemcpyAsync(host, from, bytes, cudaMemcpyDeviceToHost, q.stream));
    cuda::check(cudaStreamSynchronize(q.stream));
}

void fill_bytes(const CudaQueue& q, void* to, unsigned char value, std::size_t bytes)
{
    if (bytes == 0) return;
    const cuda::DeviceGuard guard(q.device);
    cuda::check(cudaMemsetAsync(to, value, bytes, q.stream));
}

}  // namespace tulle::inline TULLE_ABI
