// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The benchmark beside a simulated GPU, whose speed means nothing: the CPU can be timed, the GPU is refused.
#include "bench/cuda/roofline.hpp"
#include "bench/cuda/stopwatch.hpp"
#include "tulle/error.hpp"

namespace tulle::bench {
namespace {

[[noreturn]] void refuse()
{
    throw NotBuilt("this GPU is simulated and has no speed", "use --backend cpu, or a build for a real GPU");
}

}  // namespace

std::unique_ptr<Stopwatch> make_cuda_stopwatch(const CudaQueue&) { refuse(); }
std::uint64_t read_all(const CudaQueue&, const std::uint64_t*, offset_t, std::uint64_t*) { refuse(); }
void copy_all(const CudaQueue&, const std::uint64_t*, std::uint64_t*, offset_t) { refuse(); }
void launch_nothing(const CudaQueue&) { refuse(); }

}  // namespace tulle::bench
