// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Graphs of the stand-in runtime. A captured stream gives its work to the capture instead of the device; a graph that
// is launched puts it on one stream, in the order of the calls, which every dependency allows. What waits, allocates or
// frees breaks a capture, and so do copies of plain host memory: CUDA would take some of these, but a replay would not
// do what the call did. Streams that were captured must outlive launches of the graph.
#include "simt/capture.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>

struct CUgraph_st {
    std::vector<std::function<void()>> nodes;
};

struct CUgraphExec_st {
    std::shared_ptr<const std::vector<std::function<void()>>> nodes;
};

namespace {
std::atomic<long> executables = 0;
}  // namespace

using tulle::simt::Capture;
using tulle::simt::fail;
using tulle::simt::Runtime;

namespace tulle::inline TULLE_ABI::simt {

long graphs_alive() { return executables; }

bool is_captured(const Recording& recording) { return recording.capture && recording.capture->origin; }

cudaError_t join_capture(CUstream_st& stream, const Recording& recording)
{
    if (!is_captured(recording))
        return stream.capture ? fail(cudaErrorStreamCaptureIsolation, "a captured stream waits for an event outside")
                              : cudaSuccess;
    if (stream.capture && stream.capture != recording.capture)
        return fail(cudaErrorStreamCaptureIsolation, "a captured stream waits for an event of another capture");
    if (!stream.capture) {
        stream.capture = recording.capture;
        stream.capture->streams.push_back(&stream);
    } else if (recording.stream != &stream) {
        recording.stream->unjoined = false;
    }
    stream.unjoined = true;
    return cudaSuccess;
}

}  // namespace tulle::inline TULLE_ABI::simt

namespace {

CUstream_st* find(cudaStream_t handle)
{
    int device = 0;
    cudaGetDevice(&device);
    return Runtime::get().stream_of(handle, device);
}

// Its streams go on as before; what is wrong with it, if anything.
cudaError_t close(Capture& capture)
{
    bool unjoined = false;
    for (CUstream_st* const stream : capture.streams)
        unjoined = std::exchange(stream->unjoined, false) && stream != capture.origin ? true : unjoined;
    capture.origin = nullptr;
    for (CUstream_st* const stream : std::exchange(capture.streams, {})) stream->capture.reset();
    if (!capture.broken.empty()) return fail(cudaErrorStreamCaptureInvalidated, capture.broken);
    return unjoined ? fail(cudaErrorStreamCaptureUnjoined, "the capture ends with work on a stream that was not joined")
                    : cudaSuccess;
}

}  // namespace

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode)
{
    const std::lock_guard lock(Runtime::get().mutex);
    CUstream_st* const stream = handle ? find(handle) : nullptr;
    if (!stream) return fail(cudaErrorStreamCaptureUnsupported, "no such stream, or the default stream");
    if (stream->capture) return fail(cudaErrorInvalidValue, "the stream is captured already");
    stream->capture = std::make_shared<Capture>();
    stream->capture->origin = stream;
    stream->capture->streams = {stream};
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph)
{
    const std::lock_guard lock(Runtime::get().mutex);
    *graph = nullptr;
    CUstream_st* const stream = find(handle);
    if (!stream || !stream->capture || stream->capture->origin != stream)
        return fail(cudaErrorStreamCaptureUnmatched, "no capture began on this stream");
    const std::shared_ptr<Capture> capture = stream->capture;
    if (const cudaError_t error = close(*capture); error != cudaSuccess) return error;
    *graph = new CUgraph_st{std::move(capture->nodes)};
    return cudaSuccess;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count)
{
    if (nodes) return fail(cudaErrorInvalidValue, "nodes can be counted only");
    *count = graph->nodes.size();
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long)
{
    *executable = new CUgraphExec_st{std::make_shared<const std::vector<std::function<void()>>>(graph->nodes)};
    ++executables;
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t handle)
{
    Runtime& runtime = Runtime::get();
    const std::lock_guard lock(runtime.mutex);
    CUstream_st* const stream = find(handle);
    if (!stream) return fail(cudaErrorInvalidResourceHandle, "the stream does not exist, or not any more");
    for (std::size_t k = 0; k < executable->nodes->size(); ++k)
        runtime.enqueue(*stream,
                        {.body = [nodes = executable->nodes, k] { (*nodes)[k](); }, .after = {}, .enqueued = {}});
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable)
{
    delete executable;
    --executables;
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    delete graph;
    return cudaSuccess;
}
