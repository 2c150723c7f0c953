// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include "bench/harness/measure.hpp"
#include "tulle/memory.hpp"

namespace tulle::bench {

// Times with events on the queue's own stream. Defined where the CUDA backend is built.
std::unique_ptr<Stopwatch> make_cuda_stopwatch(const CudaQueue& q);

}  // namespace tulle::bench
