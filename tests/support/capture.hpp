// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Work captured into a CUDA graph, on a GPU or on the simulated one: whoever waits, allocates or frees meanwhile fails,
// and replays must give the bits of the call itself. For builds with CUDA.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "device/cuda/runtime.cuh"
#ifdef TULLE_SIM
#include "simt/graphs.hpp"
#endif
#include "support/backends.hpp"
#include "tulle/context.hpp"
#include "tulle/transfer.hpp"

namespace tulle::test {

// A stream of the caller's; it must outlive all that is made with contexts on it.
class CallersStream {
public:
    CallersStream()
    {
        if (why_no_cuda().empty()) cuda::check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    }
    ~CallersStream()
    {
        if (stream_) (void)cudaStreamDestroy(stream_);
    }
    CallersStream(const CallersStream&) = delete;
    CallersStream& operator=(const CallersStream&) = delete;

    cudaStream_t get() const { return stream_; }

private:
    cudaStream_t stream_ = nullptr;
};

// What `work` puts on a stream. Allocations of the context fail while it is captured.
class Graph {
public:
    Graph(const Context& ctx, cudaStream_t stream, const std::function<void()>& work)
    {
        cuda::check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        ctx.memory().fail_at(0, Memory::Fail::for_ever);
        try {
            work();
        } catch (...) {
            ctx.memory().fail_at(-1);
            (void)cudaStreamEndCapture(stream, &graph_);
            (void)cudaGetLastError();
            throw;
        }
        ctx.memory().fail_at(-1);
        cuda::check(cudaStreamEndCapture(stream, &graph_));
        cuda::check(cudaGraphInstantiate(&executable_, graph_, 0));
    }
    ~Graph()
    {
        if (executable_) (void)cudaGraphExecDestroy(executable_);
        if (graph_) (void)cudaGraphDestroy(graph_);
    }
    Graph(const Graph&) = delete;
    Graph& operator=(const Graph&) = delete;

    void launch(cudaStream_t stream) const { cuda::check(cudaGraphLaunch(executable_, stream)); }

    // Kernels, copies and fills.
    std::size_t nodes() const
    {
        std::size_t count = 0;
        cuda::check(cudaGraphGetNodes(graph_, nullptr, &count));
        return count;
    }

private:
    cudaGraph_t graph_ = nullptr;
    cudaGraphExec_t executable_ = nullptr;
};

// Tests of one GPU with a stream of the caller's.
class CapturedOn : public OnBackend {
protected:
    CallersStream stream;

    // Captures `run`, which writes all of `out`, replays it twice and runs it once without a graph: the same bits.
    // Returns the number of nodes.
    template <class V>
    std::size_t replay(const Context& ctx, Buffer<V>& out, const std::function<void()>& run)
    {
        const auto poison = [&] { ctx.run([&](const auto& q) { fill_bytes(q, out.data(), 0xff, out.bytes()); }); };
        const auto bits = [&] {
            const Buffer<V> here = to_host<V>(ctx, std::span<const V>(out.span()));
            return std::string(reinterpret_cast<const char*>(here.data()), here.bytes());
        };
        ctx.synchronize();
        const Graph graph(ctx, stream.get(), run);
        poison();
        run();
        const std::string want = bits();
        for (int time = 0; time < 2; ++time) {
            poison();
            graph.launch(stream.get());
            EXPECT_TRUE(bits() == want) << "replay " << time;
        }
        return graph.nodes();
    }
};

}  // namespace tulle::test

// CUDA alone; TULLE_ON_BACKENDS has the others.
#define TULLE_ON_CUDA(Suite)                                                               \
    INSTANTIATE_TEST_SUITE_P(Backends, Suite, ::testing::Values(tulle::test::cuda_name()), \
                             [](const auto& backend) { return backend.param; })
