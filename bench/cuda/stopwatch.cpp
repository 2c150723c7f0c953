// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// GPU time by events on the stream that does the work.
//
//   warm       launches back to back between two events. On an H200 an empty kernel takes 3.3 us this way: the host
//              cannot launch faster.
//   replayed   the same launches captured in a CUDA graph: 0.7 us for an empty kernel, so nearly the device's own time.
//   cold       a buffer of twice the L2 is overwritten before each run; one run between two events (about 3 us of that
//              are the events').
#include "bench/cuda/stopwatch.hpp"

#include "bench/cuda/check.hpp"
#include "tulle/memory.hpp"

namespace tulle::bench {
namespace {

class Event {
public:
    Event() { check(cudaEventCreate(&event_)); }
    ~Event() { (void)cudaEventDestroy(event_); }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    void record(cudaStream_t stream) { check(cudaEventRecord(event_, stream)); }
    // Waits until the event has happened.
    double seconds_since(const Event& begin) const
    {
        check(cudaEventSynchronize(event_));
        float milliseconds = 0;
        check(cudaEventElapsedTime(&milliseconds, begin.event_, event_));
        return milliseconds * 1e-3;
    }

private:
    cudaEvent_t event_ = nullptr;
};

// Launches recorded instead of carried out. Capture ends even when the work throws.
class Graph {
public:
    Graph(cudaStream_t stream, const Work& run, int times)
    {
        check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        try {
            for (int k = 0; k < times; ++k) run();
        } catch (...) {
            (void)cudaStreamEndCapture(stream, &graph_);
            (void)cudaGetLastError();
            destroy();
            throw;
        }
        check(cudaStreamEndCapture(stream, &graph_));
        check(cudaGraphInstantiate(&exec_, graph_, 0));
    }
    ~Graph() { destroy(); }
    Graph(const Graph&) = delete;
    Graph& operator=(const Graph&) = delete;
    void launch(cudaStream_t stream) { check(cudaGraphLaunch(exec_, stream)); }

private:
    void destroy() noexcept
    {
        if (exec_) (void)cudaGraphExecDestroy(exec_);
        if (graph_) (void)cudaGraphDestroy(graph_);
    }

    cudaGraph_t graph_ = nullptr;
    cudaGraphExec_t exec_ = nullptr;
};

class CudaStopwatch final : public Stopwatch {
public:
    explicit CudaStopwatch(const CudaQueue& q) : q_(made_current(q))
    {
        int l2 = 0;
        check(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, q.device));
        junk_ = Buffer<unsigned char>(q, 2 * offset_t{l2});
    }

    double warm(const Work& run, int times) override
    {
        begin_.record(q_.stream);
        for (int k = 0; k < times; ++k) run();
        end_.record(q_.stream);
        return end_.seconds_since(begin_) / times;
    }

    double cold(const Work& run) override
    {
        check(cudaMemsetAsync(junk_.data(), ++mark_, junk_.bytes(), q_.stream));
        return warm(run, 1);
    }

    double replayed(const Work& run, int times) override
    {
        Graph graph(q_.stream, run, times);
        const Work launch = [&] { graph.launch(q_.stream); };
        warm(launch, 1);
        return warm(launch, 3) / times;
    }

private:
    // Events belong to the device that is current when they are made.
    static const CudaQueue& made_current(const CudaQueue& q)
    {
        check(cudaSetDevice(q.device));
        return q;
    }

    CudaQueue q_;
    Buffer<unsigned char> junk_;
    Event begin_, end_;
    unsigned char mark_ = 0;
};

}  // namespace

std::unique_ptr<Stopwatch> make_cuda_stopwatch(const CudaQueue& q) { return std::make_unique<CudaStopwatch>(q); }

}  // namespace tulle::bench
