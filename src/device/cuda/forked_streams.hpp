// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Kernels of one step that may run at the same time: other streams beside the queue's.
//
//     ForkedStreams side(q, 3);
//     for (…) launch(side.next(), …);         // after everything that q was given before, beside the others
//                                             // when side is gone, q goes on after all of them
//
// Memory is taken and given back on q, never on a branch: there it would be free while others still use it.
#pragma once

#include <vector>

#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::cuda {

class ForkedStreams {
public:
    ForkedStreams(const CudaQueue& q, int count);  // 0: everything goes to q itself
    ~ForkedStreams();
    ForkedStreams(const ForkedStreams&) = delete;
    ForkedStreams& operator=(const ForkedStreams&) = delete;

    // The queue itself and its branches, in turn.
    const CudaQueue& next();

private:
    std::vector<CudaQueue> queues_;  // q first
    std::vector<void*> events_;      // one a branch
    std::size_t turn_ = 0;
};

}  // namespace tulle::inline TULLE_ABI::cuda
