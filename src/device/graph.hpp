// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// CUDA graphs: work of a stream that is put there again by one call. And streams that are lent out, since everything
// that a stream is given while it is captured goes into the graph.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "tulle/memory.hpp"

struct CUgraphExec_st;

namespace tulle::inline TULLE_ABI::cuda {

// Empty, or what was captured. Copies share it.
class Graph {
public:
    Graph() = default;
    // Captures what `work` puts on the queue, which nobody else may use meanwhile: nothing of it is done. Throws what
    // `work` throws, and DeviceError if it waited or allocated.
    Graph(const CudaQueue& q, const std::function<void()>& work);

    bool empty() const { return !executable_; }
    std::size_t nodes() const { return nodes_; }  // kernels, copies and fills
    // Puts the work on the queue, asynchronous.
    void launch(const CudaQueue& q) const;

private:
    std::shared_ptr<CUgraphExec_st> executable_;
    std::size_t nodes_ = 0;
};

// A stream that nobody else has until the last copy is gone.
std::shared_ptr<CUstream_st> borrow_stream(int device);

}  // namespace tulle::inline TULLE_ABI::cuda
