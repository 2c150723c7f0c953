// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The part of the stand-in runtime that captures streams into graphs (capture.cpp). Apart from cuda_runtime.hpp,
// because no kernel needs it.
#pragma once

#include "simt/cuda_runtime.hpp"

// What cuda_runtime.hpp would have as enumerators.
inline constexpr auto cudaErrorStreamCaptureUnsupported = static_cast<cudaError_t>(900),
                      cudaErrorStreamCaptureInvalidated = static_cast<cudaError_t>(901),
                      cudaErrorStreamCaptureUnmatched = static_cast<cudaError_t>(903),
                      cudaErrorStreamCaptureUnjoined = static_cast<cudaError_t>(904),
                      cudaErrorStreamCaptureIsolation = static_cast<cudaError_t>(905);

struct CUgraph_st;
struct CUgraphExec_st;
struct CUgraphNode_st;
using cudaGraph_t = CUgraph_st*;
using cudaGraphExec_t = CUgraphExec_st*;
using cudaGraphNode_t = CUgraphNode_st*;
enum cudaStreamCaptureMode {
    cudaStreamCaptureModeGlobal = 0,
    cudaStreamCaptureModeThreadLocal = 1,
    cudaStreamCaptureModeRelaxed = 2
};

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count);  // counts only
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long flags = 0);
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
