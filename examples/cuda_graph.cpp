// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Work on the caller's stream, and products captured into a CUDA graph. Built with the CUDA backend; without a GPU it
// only says so.
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

#include "tulle/tulle.hpp"

namespace {

// A graph of ten pairs of products, x = A (A x), on a stream of the caller.
void run(cudaStream_t stream)
{
    const tulle::Context ctx = tulle::Context::cuda(0, stream);  // all work goes to this stream
    const tulle::Csr<float> on_host = tulle::io::generate<float>(ctx, "stencil5:100");
    const tulle::Csr<float> a = tulle::to_device(ctx, on_host.view());
    auto plan = tulle::spmv::Plan<float>::make(ctx, a.view());  // waits, and cannot be captured
    const std::vector<float> ones(static_cast<std::size_t>(plan.cols()), 1.0F);
    tulle::Buffer<float> x = tulle::to_device(ctx, std::span<const float>(ones)),
                         y = tulle::to_device(ctx, std::span<const float>(ones));

    cudaGraph_t graph = nullptr;
    cudaGraphExec_t program = nullptr;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    for (int step = 0; step < 10; ++step) {
        plan.run(x.span(), y.span());
        plan.run(y.span(), x.span());
    }
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&program, graph, 0);
    cudaGraphLaunch(program, stream);  // as often as you like
    ctx.synchronize();
    cudaGraphExecDestroy(program);
    cudaGraphDestroy(graph);
    const auto result = tulle::to_host(ctx, std::span<const float>(x.span()));
    std::printf("x[0] = %g\n", static_cast<double>(result.span()[0]));
}

}  // namespace

int main()
{
    if (tulle::cuda_devices().empty()) {
        std::printf("no GPU: %s\n", tulle::why_no_cuda().c_str());
        return 0;
    }
    cudaStream_t stream = nullptr;
    cudaStreamCreate(&stream);
    run(stream);  // what was made with the stream is gone before the stream
    cudaStreamDestroy(stream);
    return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
