// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Reading as fast as the GPU can: 16-byte loads, several in flight per thread, neighbours in neighbouring lanes.
#include "bench/cuda/roofline.hpp"

#include "device/cuda/kernel.cuh"
#include "tulle/memory.hpp"

namespace tulle::bench {
namespace {

constexpr int threads = 256;
constexpr int loads = 8;  // per thread, all independent
constexpr std::uint64_t never = 0x9E3779B97F4A7C15u;

__device__ inline std::uint64_t folded(uint4 v) { return (std::uint64_t{v.x ^ v.z} << 32) | (v.y ^ v.w); }

// A block reads threads * loads * 16 bytes side by side.
//   grid: ceil(pairs / (threads * loads))      shared memory: none
__global__ void __launch_bounds__(threads)
    read_kernel(const uint4* __restrict__ data, offset_t pairs, std::uint64_t* sink)
{
    const offset_t first = static_cast<offset_t>(blockIdx.x) * threads * loads + threadIdx.x;
    std::uint64_t fold = 0;
#pragma unroll
    for (int k = 0; k < loads; ++k) {
        const offset_t at = first + k * threads;
        if (at < pairs) fold ^= folded(data[at]);
    }
    if (fold == never) *sink = fold;
}

__global__ void nothing_kernel() {}

}  // namespace

std::uint64_t read_all(const CudaQueue& q, const std::uint64_t* data, offset_t words, std::uint64_t* sink)
{
    const offset_t pairs = words / 2;
    launch(q, {(pairs + threads * loads - 1) / (threads * loads), threads}, read_kernel,
           reinterpret_cast<const uint4*>(data), pairs, sink);
    return 0;
}

void copy_all(const CudaQueue& q, const std::uint64_t* from, std::uint64_t* to, offset_t words)
{
    copy(q, from, to, words);
}

void launch_nothing(const CudaQueue& q) { launch(q, {1, 32}, nothing_kernel); }

}  // namespace tulle::bench
