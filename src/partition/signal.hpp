// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Order between the queues of a team.
#pragma once

#include <memory>

#include "tulle/api.hpp"
#include "tulle/context.hpp"

namespace tulle::inline TULLE_ABI::partition {

// A mark in the order of one queue that other queues can wait for without stopping the host. On a CPU, where work is
// done when the call returns, there is nothing to mark; a CPU queue that waits for a GPU's mark stops its thread.
class TULLE_API Signal {
public:
    Signal() = default;
    explicit Signal(const Context& ctx);  // to be set on this context's device

    void set(const Context& ctx);  // after everything put on the queue so far
    void wait(const Context& ctx)
        const;  // what is put on this queue from now on comes after the mark; nothing if it was never set

private:
    std::shared_ptr<void> event_;
};

namespace cuda {  // defined by the CUDA backend

std::shared_ptr<void> open_event(int device);
void set_event(void* event, const CudaQueue& q);
void wait_event(void* event, const CudaQueue& q);
void finish_event(void* event);  // stops the host

}  // namespace cuda
}  // namespace tulle::inline TULLE_ABI::partition
