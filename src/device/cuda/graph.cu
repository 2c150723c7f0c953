// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "device/graph.hpp"

#include <type_traits>

#include "device/cuda/runtime.cuh"
#ifdef TULLE_SIM
#include "simt/graphs.hpp"
#endif

namespace tulle::inline TULLE_ABI::cuda {
namespace {

struct DestroyGraph {
    void operator()(cudaGraph_t graph) const { (void)cudaGraphDestroy(graph); }
};
using CapturedGraph = std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, DestroyGraph>;

// The capture ends also where the work throws.
CapturedGraph capture(cudaStream_t stream, const std::function<void()>& work)
{
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    cudaGraph_t graph = nullptr;
    try {
        work();
    } catch (...) {
        (void)cudaStreamEndCapture(stream, &graph);
        (void)cudaGetLastError();
        const CapturedGraph incomplete(graph);
        throw;
    }
    check(cudaStreamEndCapture(stream, &graph));
    return CapturedGraph(graph);
}

}  // namespace

Graph::Graph(const CudaQueue& q, const std::function<void()>& work)
{
    const DeviceGuard guard(q.device);
    const CapturedGraph graph = capture(q.stream, work);
    check(cudaGraphGetNodes(graph.get(), nullptr, &nodes_));
    cudaGraphExec_t executable = nullptr;
    check(cudaGraphInstantiate(&executable, graph.get(), 0));
    executable_ = {executable, [](cudaGraphExec_t e) { (void)cudaGraphExecDestroy(e); }};
}

void Graph::launch(const CudaQueue& q) const
{
    const DeviceGuard guard(q.device);
    check(cudaGraphLaunch(executable_.get(), q.stream));
}

}  // namespace tulle::inline TULLE_ABI::cuda
