// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Virtual devices: streams and events in the order they promise and no other, memories with their limits, pointers with
// their owners.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "simt/arguments.hpp"
#include "simt/run.hpp"
#include "simt/runtime.hpp"
#include "simt/sanitizers.hpp"
#include "tulle/context.hpp"
#include "tulle/text.hpp"

namespace tulle::test {
namespace {

__global__ void append(int* next, int* list, int value) { list[atomicAdd(next, 1)] = value; }

// What two streams with two kernels each append, in the order they ran; with an event between the streams or without.
std::vector<int> order_of_two_streams(std::uint64_t seed, bool event_between)
{
    const WithConfig with(with_seed(seed));
    DeviceArray<int> next(std::vector<int>{0}), list(4);
    const CudaQueue a = cuda::open_queue(0), b = cuda::open_queue(0);
    cudaEvent_t between = nullptr;
    cuda::check(cudaEventCreate(&between));
    launch(a, {1, 1}, append, next.data(), list.data(), 1);
    launch(a, {1, 1}, append, next.data(), list.data(), 2);
    cuda::check(cudaEventRecord(between, a.stream));
    if (event_between) cuda::check(cudaStreamWaitEvent(b.stream, between));
    launch(b, {1, 1}, append, next.data(), list.data(), 3);
    launch(b, {1, 1}, append, next.data(), list.data(), 4);
    synchronize(a);
    synchronize(b);
    cuda::check(cudaEventDestroy(between));
    return list.to_host();
}

TEST(Streams, EveryOrderThatIsNotForbiddenHappens)
{
    std::set<std::vector<int>> seen;
    for (std::uint64_t seed = 1; seed <= 200; ++seed) seen.insert(order_of_two_streams(seed, false));
    EXPECT_EQ(seen.size(), 6u);  // 4 kernels, two streams of 2: 6 orders
    for (const auto& order : seen) {
        EXPECT_LT(std::find(order.begin(), order.end(), 1), std::find(order.begin(), order.end(), 2));
        EXPECT_LT(std::find(order.begin(), order.end(), 3), std::find(order.begin(), order.end(), 4));
    }
}

TEST(Streams, AnEventIsAnOrder)
{
    for (std::uint64_t seed = 1; seed <= 50; ++seed)
        EXPECT_EQ(order_of_two_streams(seed, true), (std::vector<int>{1, 2, 3, 4}));
}

TEST(Streams, AWaitIsForTheRecordingThatWasThere)
{
    const CudaQueue a = cuda::open_queue(0), b = cuda::open_queue(0);
    cudaEvent_t event = nullptr;
    cuda::check(cudaEventCreate(&event));
    cuda::check(cudaStreamWaitEvent(a.stream, event));  // never recorded: no wait
    cuda::check(cudaEventRecord(event, a.stream));
    cuda::check(cudaStreamWaitEvent(b.stream, event));
    cuda::check(cudaEventRecord(event, b.stream));  // again, behind its own wait
    cuda::check(cudaEventSynchronize(event));
    EXPECT_EQ(cudaEventQuery(event), cudaSuccess);
    float time = -1;
    EXPECT_EQ(cudaEventElapsedTime(&time, event, event), cudaSuccess);
    EXPECT_EQ(time, 0.0f);
    cuda::check(cudaEventDestroy(event));
}

// Looks without waiting, at the device's memory; two mistakes, were they not the point.
__attribute__((no_sanitize("address"))) int peek(const int* value)
{
    const simt::Quiet quiet;
    return *value;
}

TEST(Streams, NothingRunsBeforeSomebodyWaits)
{
    DeviceArray<int> next(std::vector<int>{0}), list(4);
    const CudaQueue q = cuda::open_queue(0);
    launch(q, {1, 1}, append, next.data(), list.data(), 7);
    EXPECT_EQ(peek(next.data()), 0);
    cudaError_t state = cudaErrorNotReady;
    for (int asked = 0; asked < 1000 && state == cudaErrorNotReady; ++asked)
        state = cudaStreamQuery(q.stream);  // asking makes time pass, for any stream
    EXPECT_EQ(state, cudaSuccess);
    EXPECT_EQ(peek(next.data()), 1);
}

TEST(Streams, WorkOfADestroyedStreamIsStillDone)
{
    DeviceArray<int> next(std::vector<int>{0}), list(4);
    cudaStream_t stream = nullptr;
    cuda::check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    cuda::check(simt::enqueue(stream, {1, 1}, append, next.data(), list.data(), 7));
    cuda::check(cudaStreamDestroy(stream));
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorInvalidResourceHandle);
    cuda::check(cudaDeviceSynchronize());
    EXPECT_EQ(next.to_host()[0], 1);
}

TEST(Streams, TasksOfTheHostKeepTheOrder)
{
    DeviceArray<int> next(std::vector<int>{0}), list(4);
    const CudaQueue q = cuda::open_queue(0);
    launch(q, {1, 1}, append, next.data(), list.data(), 7);
    int seen = -1;
    cuda::check(simt::enqueue_task(q.stream, "look", {next.data()}, [&seen, p = next.data()] { seen = *p; }));
    launch(q, {1, 1}, append, next.data(), list.data(), 7);
    synchronize(q);
    EXPECT_EQ(seen, 1);
    cuda::check(simt::enqueue_task(q.stream, "look", {&seen}, [] {}));
    EXPECT_THROW(synchronize(q), DeviceError);
}

TEST(Devices, HostThreadsHaveTheirOwnCurrentDevice)
{
    cuda::check(cudaSetDevice(1));
    int there = -1;
    std::thread([&] { cuda::check(cudaGetDevice(&there)); }).join();
    EXPECT_EQ(there, 0);
    cuda::check(cudaSetDevice(0));
    EXPECT_EQ(cudaSetDevice(99), cudaErrorInvalidDevice);
}

TEST(Devices, SeveralHostThreadsWorkAtOnce)
{
    std::vector<std::thread> threads;
    std::array<int, 4> counted{};
    for (int device = 0; device < 4; ++device)
        threads.emplace_back([&, device] {
            for (int round = 0; round < 10; ++round) {
                const CudaQueue q = cuda::open_queue(device);
                const Buffer<int> next = to_queue(q, std::vector<int>{0}.data(), 1);
                Buffer<int> list(q, 128);
                launch(q, {2, 64}, append, const_cast<int*>(next.data()), list.data(), device);
                counted[static_cast<std::size_t>(device)] += read_value(q, next.data());
            }
        });
    for (auto& thread : threads) thread.join();
    for (const int count : counted) EXPECT_EQ(count, 10 * 128);
}

TEST(Devices, AFaultIsToldToWhoWaitsForThatDevice)
{
    DeviceArray<int> next(std::vector<int>{0}), list(4);
    const CudaQueue wrong = cuda::open_queue(1), fine = cuda::open_queue(0);
    launch(wrong, {1, 1}, append, next.data(), list.data(), 1);  // memory of device 0
    launch(fine, {1, 1}, append, next.data(), list.data(), 2);
    cuda::check(cudaDeviceSynchronize());
    EXPECT_NO_THROW(synchronize(fine));
    EXPECT_THROW(synchronize(wrong), DeviceError);
    EXPECT_NO_THROW(synchronize(wrong));
    EXPECT_EQ(list.to_host()[0], 2);
}

TEST(Devices, PeersShareMemory)
{
    DeviceArray<int> next(std::vector<int>{0}), list(4);
    const CudaQueue q = cuda::open_queue(1);
    const cuda::DeviceGuard guard(1);
    int can = 0;
    cuda::check(cudaDeviceCanAccessPeer(&can, 1, 0));
    EXPECT_EQ(can, 1);
    cuda::check(cudaDeviceEnablePeerAccess(0, 0));
    EXPECT_EQ(cudaDeviceEnablePeerAccess(0, 0), cudaErrorPeerAccessAlreadyEnabled);
    launch(q, {1, 1}, append, next.data(), list.data(), 1);
    EXPECT_NO_THROW(synchronize(q));
    cuda::check(cudaDeviceDisablePeerAccess(0));
    launch(q, {1, 1}, append, next.data(), list.data(), 1);
    EXPECT_THROW(synchronize(q), DeviceError);
}

TEST(Devices, CopiesBetweenDevices)
{
    DeviceArray<int> from(std::vector<int>{1, 2, 3}, 0), to(3, 2);
    const CudaQueue& q = to.queue();
    const cuda::DeviceGuard guard(2);
    cuda::check(cudaMemcpyPeerAsync(to.data(), 2, from.data(), 0, 3 * sizeof(int), q.stream));
    EXPECT_EQ(to.to_host(), (std::vector<int>{1, 2, 3}));
    cuda::check(cudaMemcpyPeerAsync(to.data(), 1, from.data(), 0, 3 * sizeof(int), q.stream));
    EXPECT_THROW(synchronize(q), DeviceError);
    cuda::check(cudaMemcpyAsync(to.data(), from.data(), 3 * sizeof(int), cudaMemcpyDeviceToDevice, q.stream));
    EXPECT_THROW(synchronize(q), DeviceError);
}

TEST(DeviceMemory, HasALimit)
{
    simt::Config config = simt::config();
    config.bytes = 1000;
    const WithConfig with(config);
    const CudaQueue q = cuda::open_queue(3);
    {
        const Buffer<char> most(q, 900);
        EXPECT_THROW(Buffer<char>(q, 101), OutOfMemory);
        EXPECT_EQ(free_bytes(q.place()), 100u);
        EXPECT_NO_THROW(Buffer<char>(cuda::open_queue(2), 900));  // another device has its own
    }
    EXPECT_NO_THROW(Buffer<char>(q, 1000));  // the free was queued; it counts when memory is needed
}

TEST(DeviceMemory, PointersKnowTheirDevice)
{
    DeviceArray<int> data(10, 1);
    EXPECT_TRUE(cuda::is_device_pointer(data.data() + 5, 1));
    EXPECT_FALSE(cuda::is_device_pointer(data.data(), 0));
    int local = 0;
    EXPECT_FALSE(cuda::is_device_pointer(&local, 0));
    void* pinned = nullptr;
    cuda::check(cudaMallocHost(&pinned, 100));
    cudaPointerAttributes attributes{};
    cuda::check(cudaPointerGetAttributes(&attributes, pinned));
    EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
    EXPECT_EQ(cudaFree(&local), cudaErrorInvalidValue);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);  // told again to who waits
    cuda::check(cudaFreeHost(pinned));
}

TEST(DeviceMemory, StartsAsGarbageOfTheSeed)
{
    const auto fresh = [](std::uint64_t seed) {
        const WithConfig with(with_seed(seed));
        return DeviceArray<int>(64).to_host();
    };
    EXPECT_EQ(fresh(3), fresh(3));
    EXPECT_NE(fresh(3), fresh(4));
    EXPECT_NE(fresh(3), std::vector<int>(64, 0));
}

// ---- contexts and pools ----

std::vector<bool> devices_with_a_context()
{
    std::vector<bool> has;
    for (const simt::Device& device : simt::Runtime::get().devices) has.push_back(device.has_context);
    return has;
}

TEST(Contexts, AreMadeWhereADeviceIsOpenedAndNowhereElse)
{
    for (simt::Device& device : simt::Runtime::get().devices) device.has_context = false;
    std::vector<bool> wanted(simt::Runtime::get().devices.size(), false);
    EXPECT_FALSE(cuda_devices().empty());
    EXPECT_EQ(why_no_cuda(), "");
    EXPECT_EQ(cuda::device_limits(2).compute, 90);
    EXPECT_EQ(devices_with_a_context(), wanted) << "looking makes none";
    const Context c = Context::best();
    c.run([](const auto& q) { const Buffer<char> some(q, 1000); });
    wanted[0] = true;
    EXPECT_EQ(devices_with_a_context(), wanted);
}

TEST(Pools, ThatOfTheProcessIsLeftAlone)
{
    cudaMemPool_t pool = nullptr;
    cuda::check(cudaDeviceGetDefaultMemPool(&pool, 1));
    std::uint64_t threshold = 12345;
    cuda::check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    const CudaQueue q = cuda::open_queue(1);
    const Buffer<char> some(q, 1000);
    cuda::check(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    EXPECT_EQ(threshold, 12345u);
    EXPECT_EQ(pool->allocations, 0u);
}

TEST(Pools, BelongToOneDevice)
{
    cudaMemPool_t pool = nullptr;
    const cudaMemPoolProps properties{.allocType = cudaMemAllocationTypePinned,
                                      .location = {.type = cudaMemLocationTypeDevice, .id = 2}};
    cuda::check(cudaMemPoolCreate(&pool, &properties));
    const CudaQueue here = cuda::open_queue(2), elsewhere = cuda::open_queue(3);
    void* data = nullptr;
    EXPECT_EQ(cudaMallocFromPoolAsync(&data, 100, pool, elsewhere.stream), cudaErrorInvalidValue);
    cuda::check(cudaMallocFromPoolAsync(&data, 100, pool, here.stream));
    cuda::check(cudaFreeAsync(data, here.stream));
    synchronize(here);
    cuda::check(cudaMemPoolDestroy(pool));
}

// ---- compute capabilities ----

__global__ void nothing() {}

bool starts(const CudaQueue& q, std::size_t shared_bytes, int cluster)
{
    try {
        launch(q, {cluster, 32, shared_bytes, cluster}, nothing);
        synchronize(q);
        return true;
    } catch (const DeviceError&) {
        return false;
    }
}

TEST(ComputeCapability, LimitsSharedMemoryAndClusters)
{
    struct Known {
        int compute;
        std::size_t kibibytes;
        int cluster;
    };
    for (const Known& known : {Known{80, 163, 1}, Known{86, 99, 1}, Known{89, 99, 1}, Known{90, 227, 16},
                               Known{100, 227, 16}, Known{120, 99, 8}}) {
        SCOPED_TRACE(known.compute);
        simt::Config config = simt::config();
        config.compute = known.compute;
        const WithConfig with(config);
        const CudaQueue q = cuda::open_queue(0);
        const cuda::DeviceLimits limits = cuda::device_limits(0);
        EXPECT_EQ(limits.compute, known.compute);
        EXPECT_EQ(limits.block_bytes, known.kibibytes * 1024);
        EXPECT_EQ(limits.cluster_blocks, known.cluster);
        EXPECT_TRUE(starts(q, limits.block_bytes, limits.cluster_blocks));
        EXPECT_FALSE(starts(q, limits.block_bytes + 1, 1));
        EXPECT_FALSE(starts(q, 0, 2 * limits.cluster_blocks));
    }
}

TEST(ComputeCapability, IsHiddenOnRequest)
{
    setenv("TULLE_GPU_COMPUTE", "86", 1);
    const cuda::DeviceLimits limits = cuda::device_limits(0);
    setenv("TULLE_GPU_COMPUTE", "70", 1);
    EXPECT_THROW(cuda::device_limits(0), ValueError);
    unsetenv("TULLE_GPU_COMPUTE");
    EXPECT_EQ(limits.compute, 86);
    EXPECT_EQ(limits.block_bytes, 99u * 1024);
    EXPECT_EQ(limits.cluster_blocks, 1);
}

TEST(Configuration, ComesFromTheEnvironment)
{
    setenv("TULLE_SIM_SEED", "12", 1);
    setenv("TULLE_SIM_ORDER", "descending", 1);
    setenv("TULLE_SIM_BYTES", "3MiB", 1);
    setenv("TULLE_SIM_COMPUTE", "89", 1);
    const simt::Config config = simt::config_from_environment();
    setenv("TULLE_SIM_ORDER", "sideways", 1);
    EXPECT_THROW(simt::config_from_environment(), ValueError);
    setenv("TULLE_SIM_ORDER", "random", 1);
    setenv("TULLE_SIM_COMPUTE", "88", 1);
    EXPECT_THROW(simt::config_from_environment(), ValueError);
    for (const char* name : {"TULLE_SIM_SEED", "TULLE_SIM_ORDER", "TULLE_SIM_BYTES", "TULLE_SIM_COMPUTE"})
        unsetenv(name);
    EXPECT_EQ(config.seed, 12u);
    EXPECT_EQ(config.order, simt::Order::descending);
    EXPECT_EQ(config.bytes, 3u << 20);
    EXPECT_EQ(config.compute, 89);
}

// ---- pointers inside arguments ----

struct Inner {
    const double* value;
    bool flag;
};
struct Outer {
    int rows, cols;
    const long* begin;
    Inner inner;
    float* end;
};
struct WithArray {
    int shape[3];
    int* data;
};

TEST(Arguments, PointersAreFoundInsideViews)
{
    const double value = 1;
    const long begin = 2;
    float end = 3;
    const Outer outer{1, 2, &begin, {&value, true}, &end};
    const auto pointers_among = [](const auto&... values) {
        const simt::Argument arguments[] = {simt::argument_of(values)...};
        return simt::pointers_of({.arguments = arguments, .count = sizeof...(values)});
    };
    const auto found = pointers_among(7, outer, &end);
    ASSERT_EQ(found.size(), 4u);
    EXPECT_EQ(found[0].pointer, &begin);
    EXPECT_EQ(found[1].pointer, &value);
    EXPECT_EQ(found[2].pointer, &end);
    EXPECT_EQ(found[2].argument, 2);
    EXPECT_EQ(found[3].argument, 3);
    EXPECT_TRUE(pointers_among(WithArray{}).empty());  // left alone, not misread
}

// What was freed in stream order is still taken until the stream gets there: the pool is empty, so the device is waited
// for and asked without the pool.
TEST(Memories, WhatThePoolStillHoldsIsWaitedFor)
{
    simt::Config small = with_seed(1);
    small.bytes = std::size_t{1} << 20;
    const WithConfig with(small);
    const CudaQueue q = cuda::open_queue(0);
    constexpr offset_t more_than_half = 600'000;
    Buffer<char> first(q, more_than_half);
    fill_bytes(q, first.data(), 1, first.bytes());
    first = Buffer<char>();
    Buffer<char> second(q, more_than_half);
    fill_bytes(q, second.data(), 2, second.bytes());
    EXPECT_EQ(read_value(q, second.data() + more_than_half - 1), 2);
    EXPECT_THROW(Buffer<char>(q, more_than_half), OutOfMemory);
}

TEST(Memory, IsAlignedAsPromisedAndNotMore)
{
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{255}, std::size_t{4096}, std::size_t{1} << 20}) {
        void* data = nullptr;
        cuda::check(cudaMalloc(&data, bytes));
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % 512, 256u) << bytes;
        cuda::check(cudaFree(data));
    }
}

TEST(Streams, AnEventWithoutATimeHasNone)
{
    const CudaQueue q = cuda::open_queue(0);
    cudaEvent_t timed = nullptr, untimed = nullptr;
    cuda::check(cudaEventCreate(&timed));
    cuda::check(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
    for (const cudaEvent_t event : {timed, untimed}) cuda::check(cudaEventRecord(event, q.stream));
    synchronize(q);
    float time = 0;
    EXPECT_EQ(cudaEventElapsedTime(&time, timed, timed), cudaSuccess);
    EXPECT_EQ(cudaEventElapsedTime(&time, timed, untimed), cudaErrorInvalidResourceHandle);
    for (const cudaEvent_t event : {timed, untimed}) cuda::check(cudaEventDestroy(event));
}

TEST(Devices, SayTheMultiprocessorsThatAreWanted)
{
    for (const unsigned wanted : {1u, 2u, 132u}) {
        simt::Config config = with_seed(1);
        config.multiprocessors = wanted;
        const WithConfig with(config);
        int count = 0;
        cuda::check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0));
        EXPECT_EQ(count, static_cast<int>(wanted));
        EXPECT_NE(simt::replay(config).find(concat("TULLE_SIM_MULTIPROCESSORS=", wanted)), std::string::npos);
    }
}

// A captured stream keeps its work for the graph, and so does a stream that waits for one of its events.
TEST(Streams, GraphsReplayWhatWasCaptured)
{
    DeviceArray<int> next(std::vector<int>{0}), list(4);
    const CudaQueue a = cuda::open_queue(0), b = cuda::open_queue(0);
    cudaEvent_t event = nullptr;
    cuda::check(cudaEventCreate(&event));
    cuda::check(cudaStreamBeginCapture(a.stream, cudaStreamCaptureModeThreadLocal));
    launch(a, {1, 1}, append, next.data(), list.data(), 1);
    cuda::check(cudaEventRecord(event, a.stream));
    cuda::check(cudaStreamWaitEvent(b.stream, event));
    launch(b, {1, 1}, append, next.data(), list.data(), 2);
    cuda::check(cudaEventRecord(event, b.stream));
    cuda::check(cudaStreamWaitEvent(a.stream, event));
    cudaGraph_t graph = nullptr;
    cuda::check(cudaStreamEndCapture(a.stream, &graph));
    EXPECT_EQ(next.to_host()[0], 0) << "captured work ran";
    std::size_t nodes = 0;
    cuda::check(cudaGraphGetNodes(graph, nullptr, &nodes));
    EXPECT_EQ(nodes, 2u);
    cudaGraphExec_t executable = nullptr;
    cuda::check(cudaGraphInstantiate(&executable, graph));
    for (int time = 0; time < 2; ++time) cuda::check(cudaGraphLaunch(executable, b.stream));
    synchronize(b);
    EXPECT_EQ(list.to_host(), (std::vector<int>{1, 2, 1, 2}));
    cuda::check(cudaGraphExecDestroy(executable));
    cuda::check(cudaGraphDestroy(graph));
    cuda::check(cudaEventDestroy(event));
}

// Each breaks the capture it is in; the stream works again afterwards.
TEST(Streams, CapturesRefuseWhatWaitsAllocatesOrFrees)
{
    const CudaQueue q = cuda::open_queue(0), other = cuda::open_queue(0);
    void* data = nullptr;
    cuda::check(cudaMalloc(&data, 64));
    char plain[64] = {};
    cudaEvent_t event = nullptr;
    cuda::check(cudaEventCreate(&event));
    const auto breaks = [&](const std::function<cudaError_t()>& call, cudaError_t at_end) {
        cuda::check(cudaStreamBeginCapture(q.stream, cudaStreamCaptureModeThreadLocal));
        const cudaError_t answer = call();
        cudaGraph_t graph = nullptr;
        EXPECT_EQ(cudaStreamEndCapture(q.stream, &graph), at_end);
        EXPECT_EQ(graph, nullptr);
        EXPECT_EQ(cudaStreamSynchronize(q.stream), cudaSuccess);
        (void)cudaGetLastError();
        return answer == cudaErrorStreamCaptureUnsupported;
    };
    void* more = nullptr;
    const auto ended = cudaErrorStreamCaptureInvalidated;
    EXPECT_TRUE(breaks([&] { return cudaStreamSynchronize(q.stream); }, ended));
    EXPECT_TRUE(breaks([&] { return cudaStreamQuery(q.stream); }, ended));
    EXPECT_TRUE(breaks([&] { return cudaDeviceSynchronize(); }, ended));
    EXPECT_TRUE(breaks([&] { return cudaMalloc(&more, 64); }, ended));
    EXPECT_TRUE(breaks([&] { return cudaMallocAsync(&more, 64, q.stream); }, ended));
    EXPECT_TRUE(breaks([&] { return cudaFree(data); }, ended));
    EXPECT_TRUE(breaks([&] { return cudaFreeAsync(data, q.stream); }, ended));
    EXPECT_TRUE(breaks([&] { return cudaMemcpyAsync(data, plain, 64, cudaMemcpyHostToDevice, q.stream); }, ended));
    EXPECT_FALSE(breaks(
        [&] {
            cuda::check(cudaEventRecord(event, q.stream));
            return cudaStreamWaitEvent(other.stream, event);
        },
        cudaErrorStreamCaptureUnjoined));
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(cudaStreamEndCapture(q.stream, &graph), cudaErrorStreamCaptureUnmatched);
    (void)cudaGetLastError();
    cuda::check(cudaFree(data));
    cuda::check(cudaEventDestroy(event));
}

}  // namespace
}  // namespace tulle::test
